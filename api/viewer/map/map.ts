import { computed, effect } from '@preact/signals';
import type { Feature, GeoJSON } from 'geojson';
import {
  addProtocol,
  GeoJSONSource,
  type LngLatBounds,
  Map as MapLibre,
  NavigationControl,
  type PaddingOptions,
  Point,
  ScaleControl,
  type VectorTileSource,
} from 'maplibre-gl';
import { colored } from '../../../schemas/palette.ts';
import type { Archives } from '../data/archives.ts';
import type { LngLat, MapPlace } from '../data/day.ts';
import { meta, wait } from '../page/page.ts';
import { BASEMAP, SCHEME } from '../page/palette.ts';
import { chosenFrame, state } from '../state.ts';
import { type UncoveredBlocks, uncoveredArea } from './coverage.ts';
import type { Drawn, Shape } from './draw.ts';
import { type Finding, pickAmong } from './pick.ts';
import style from './style.json' with { type: 'json' };

/** West, south, east, north of the contiguous states. */
const CONUS: [number, number, number, number] = [-125, 24, -66.5, 50];
const ZOOM = { min: 2.5, max: 16, fit_max: 7.5 };
/** A click within this distance of a point picks it, pixels. */
const TOUCH = new Point(10, 10);
/** A picture that takes longer counts as drawn, so that playing goes on. */
const DRAWN_AT_LATEST_MS = 4000;
/** Tiles without archives are there within some of these. */
const EMPTIED_MS = 20;
/** The ground is drawn after this time, wherever the map is. */
const GROUND_AT_LATEST_MS = 3000;
/** Tiles of the ground are small. */
const GROUND_PIECE_BYTES = 16384;

export type HailMap = Awaited<ReturnType<typeof openMap>>;

/** The map of style.json: code gives its sources archives and features, and its global state what of the hail is seen. */
export async function openMap(
  container: HTMLElement,
  { archives, place }: { archives: Archives; place: MapPlace | null },
) {
  addProtocol('hail', archives.protocol);
  const map = await loadMap(container, place);
  let has_coverage = false;
  /** What sources that are no archives have, as text. */
  const contents = new Map<string, string>();
  const setData = (id: string, data: GeoJSON): void => {
    const source = map.getSource(id);
    const text = JSON.stringify(data);
    if (!(source instanceof GeoJSONSource) || text === contents.get(id)) return;
    contents.set(id, text);
    void source.setData(data);
  };
  /** Gives a source other archives. */
  const setArchives = (source: string, urls: readonly string[]): void => {
    map.getSource<VectorTileSource>(source)?.setTiles([archives.show(source, urls)]);
  };
  const setHail = (urls: readonly string[]): void => {
    setArchives('hail', urls);
    setArchives('smooth', urls);
  };
  /** What is drawn of a source at a place: dots near it, and areas, those on top first. */
  const drawnAt = (at: LngLat, source: string) => {
    const { x, y } = map.project(at);
    const near = new Point(x, y);
    const box: [Point, Point] = [near.sub(TOUCH), near.add(TOUCH)];
    const layers = map.getLayersOrder().filter((id) => map.getLayer(id)?.source === source);
    return {
      points: map.queryRenderedFeatures(box, { layers }).filter(({ layer }) => layer.type === 'circle'),
      areas: map.queryRenderedFeatures(near, { layers }).filter(({ layer }) => layer.type === 'fill'),
    };
  };

  /** The ground is drawn once the map stands where it is to be seen: tiles of another place are not read. */
  const { promise: placed, resolve: putGround } = Promise.withResolvers<void>();
  if (place) putGround();
  else setTimeout(putGround, GROUND_AT_LATEST_MS);
  void placed.then(() => {
    const { href } = new URL(meta('hail-ground'), location.href);
    archives.open(href, GROUND_PIECE_BYTES);
    setArchives('ground', [href]);
    map.setGlobalStateProperty('ground', 'visible');
    map.setGlobalStateProperty('names', 'visible');
  });
  // The map does not wait for the streets, which another site may have.
  if (meta('hail-streets') !== '')
    import('./streets.js').then(({ addStreets }) => addStreets(map, archives, placed)).catch(reportError);
  effect(() => {
    const is_seen = state.layers.includes('hail');
    const is_smooth = state.layers.includes('smooth');
    const visible = (is: boolean) => (is ? 'visible' : 'none');
    // Unseen hail stays on the map: a click still finds the size at a place, from the pixels of the grid, and storms their motion.
    map.setGlobalStateProperty('exact', Number(is_seen && !is_smooth));
    map.setGlobalStateProperty('dots', Number(is_seen));
    map.setGlobalStateProperty('smooth', visible(is_seen && is_smooth));
    map.setGlobalStateProperty('marks', visible(is_seen));
    map.setGlobalStateProperty('tracks', visible(is_seen && state.view === 'day'));
  });
  const reflectivity = computed(() => {
    const isSeen = state.view === 'scan' && state.layers.includes('reflectivity');
    return (isSeen && chosenFrame()?.reflectivity_url) || '';
  });
  effect(() => setArchives('reflectivity', reflectivity.value === '' ? [] : [reflectivity.value]));
  return {
    map,
    drawnAt,
    /** Draws features in place of those of the same source. */
    draw: (source: string, features: readonly Feature[]) =>
      setData(source, { type: 'FeatureCollection', features: [...features] }),
    /** Lets the reader draw one shape, which stays on the map until the function that it resolves to is called. */
    async startDrawing(shape: Shape, color: string, onFinish: (drawn: Drawn) => void) {
      const { startDrawing } = await import('./draw.js');
      return startDrawing(map, shape, color, onFinish);
    },
    /** Removes all hail and hatching from the map. Resolves once they are gone: until it has other tiles MapLibre draws those it had. */
    async clear(): Promise<void> {
      setHail([]);
      this.hatch(null);
      while (!map.isSourceLoaded('hail') || !map.isSourceLoaded('smooth')) await wait(EMPTIED_MS);
    },
    /** Shows hail of archives, that of the last on top, without marks of storms before `from`. Resolves once drawn. */
    async show(urls: readonly string[], from: string): Promise<void> {
      putGround();
      setHail(urls);
      map.setGlobalStateProperty('from', from);
      await drawn(map);
    },
    /** Drawn size and storm at a place; null where nothing is drawn because nothing, or not all, is shown. */
    sizeAt(at: LngLat): Finding | null {
      const { points, areas } = drawnAt(at, 'hail');
      const here = map.project(at);
      const isKnown = points.length + areas.length > 0 || (archives.isWhole('hail') && map.isSourceLoaded('hail'));
      return isKnown ? pickAmong(areas, points, (lng, lat) => map.project([lng, lat]).dist(here)) : null;
    },
    /** Marks the picked or the pinned place; null removes the mark. */
    mark(at: LngLat | null, source: 'pick' | 'pin' = 'pick'): void {
      setData(source, { type: 'MultiPoint', coordinates: at ? [[at.lng, at.lat]] : [] });
    },
    /** Hatches areas without radar coverage; null (coverage not known) hatches nothing. */
    hatch(blocks: UncoveredBlocks | null): void {
      has_coverage = blocks !== null;
      setData('uncovered', blocks ? uncoveredArea(blocks) : { type: 'MultiPolygon', coordinates: [] });
    },
    /** Whether radar covers a place; null where that is not known. */
    isCovered: (at: LngLat) => (has_coverage ? drawnAt(at, 'uncovered').areas.length === 0 : null),
    /** True when at least one of the places is in view. */
    shows(places: readonly Pick<MapPlace, 'lat' | 'lon'>[]): boolean {
      const view = map.getBounds();
      return places.some(({ lat, lon }) => view.contains([lon, lat]));
    },
    /** Moves so that some bounds are in view, or the contiguous states; `padding` keeps them clear of the cards over the map. */
    fit(bounds: LngLatBounds, padding: PaddingOptions, animate: boolean): void {
      map.fitBounds(bounds.isEmpty() ? CONUS : bounds, { padding, maxZoom: ZOOM.fit_max, animate });
      putGround();
    },
    place(): MapPlace {
      const { lng, lat } = map.getCenter();
      return { zoom: map.getZoom(), lat, lon: lng };
    },
  };
}

/** The base map with its controls and images; its tiles are on their way. */
async function loadMap(container: HTMLElement, place: MapPlace | null): Promise<MapLibre> {
  const map = new MapLibre({
    container,
    style: JSON.parse(colored(style, SCHEME)),
    globalState: { ground: 'none', names: 'none' },
    ...(place
      ? { center: [place.lon, place.lat], zoom: place.zoom }
      : { bounds: CONUS, fitBoundsOptions: { padding: 24 } }),
    minZoom: ZOOM.min,
    maxZoom: ZOOM.max,
    attributionControl: false,
    dragRotate: false,
    pitchWithRotate: false,
    touchPitch: false,
    keyboard: false,
    renderWorldCopies: false,
    fadeDuration: 120,
    locale: { 'Map.Title': 'Map of radar-estimated hail. Enter tells the size at its middle.' },
  });
  map.touchZoomRotate.disableRotation();
  map.addControl(new NavigationControl({ showCompass: false }), 'top-right');
  map.addControl(new ScaleControl({ unit: 'imperial', maxWidth: 90 }), 'top-right');
  map.addControl(new ScaleControl({ unit: 'metric', maxWidth: 90 }), 'top-right');
  await map.once('style.load');
  // All are drawn at twice their size on the map.
  map.addImage('arrow', image(32, BASEMAP.track, 'fill', 'M26 16 8 7l4 9-4 9z'), { pixelRatio: 2 });
  const diagonals = 'M-16 16 0 0M0 16 16 0M16 16 32 0';
  map.addImage('hatch', image(16, BASEMAP.border, 'stroke', diagonals), { pixelRatio: 2 });
  const drop = 'M41 82Q14 50 14 29a27 27 0 0 1 54 0Q68 50 41 82zM41 17a12 12 0 1 0 0 24 12 12 0 0 0 0-24z';
  map.addImage('pin', image(82, BASEMAP.ink, 'fill', drop), { pixelRatio: 2 });
  return map;
}

/** A square image of a path, `side` in pixels. */
function image(side: number, color: string, draw: 'fill' | 'stroke', path: string): ImageData {
  const pen = new OffscreenCanvas(side, side).getContext('2d') as OffscreenCanvasRenderingContext2D;
  Object.assign(pen, { fillStyle: color, strokeStyle: color, lineWidth: 1.5 });
  pen[draw](new Path2D(path));
  return pen.getImageData(0, 0, side, side);
}

/** Resolves when the map is idle, at the latest after `DRAWN_AT_LATEST_MS`. */
async function drawn(map: MapLibre): Promise<void> {
  await Promise.race([map.once('idle'), wait(DRAWN_AT_LATEST_MS)]);
}
