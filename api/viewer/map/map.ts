import { effect } from '@preact/signals';
import { addProtocol, Map as MapLibre, NavigationControl, type PaddingOptions, Point, ScaleControl } from 'maplibre-gl';
import type { Archives } from '../data/archives.ts';
import type { LngLat, MapPlace } from '../data/day.ts';
import { BASEMAP } from '../page/palette.ts';
import { chosenFrame, state } from '../state.ts';
import { isCovered, type UncoveredBlocks, uncoveredArea } from './coverage.ts';
import { groundPicture, openStreets } from './ground.ts';
import { ARROW, type Hail, hailPicture, isSmooth, reflectivityPicture } from './hail.ts';
import { type Finding, pickAmong } from './pick.ts';
import { emptyStyle, openPictures, type Picture } from './pictures.ts';
import { dot, layer } from './style.ts';

/** West, south, east, north of the contiguous states. */
const CONUS: [number, number, number, number] = [-125, 24, -66.5, 50];
const ZOOM = { min: 2.5, max: 16, fit_max: 7.5 };
/** A click within this distance of a point picks it, pixels. */
const TOUCH = new Point(10, 10);
/** A picture that takes longer counts as drawn, so that playing goes on. */
const DRAWN_AT_LATEST_MS = 4000;
/** Images are drawn at twice their size on the map. */
const IMAGE_PIXEL_RATIO = 2;
/** The ground is drawn after this time, wherever the map is. */
const GROUND_AT_LATEST_MS = 1000;
const UNCOVERED = 'uncovered';
const HATCH = 'hatch';
const PICK = 'pick';

type LatLon = Pick<MapPlace, 'lat' | 'lon'>;

export type HailMap = Awaited<ReturnType<typeof openMap>>;

/** The map: base map, hail of a day or a scan, and the content drawn at a place. */
export async function openMap(
  container: HTMLElement,
  { archives, place }: { archives: Archives; place: MapPlace | null },
) {
  for (const [name, tile] of Object.entries(archives.protocols)) addProtocol(name, tile);
  const map = await loadMap(container, place);
  const { put, layersOf } = openPictures(map);
  let uncovered: UncoveredBlocks | null = null;
  let shown: Hail | null = null;
  const putHail = () => {
    const look = { is_seen: state.layers.includes('hail'), is_smooth: state.layers.includes('smooth') };
    return put('hail', shown && hailPicture(shown, look, archives));
  };
  /** What is drawn of a picture at a place: dots near it, and areas, those on top first. */
  const drawnAt = (at: LngLat, name: string) => {
    const { x, y } = map.project(at);
    const layers = layersOf(name);
    const near = new Point(x, y);
    const box: [Point, Point] = [near.sub(TOUCH), near.add(TOUCH)];
    const points = map.queryRenderedFeatures(box, { layers }).filter(({ layer }) => layer.type === 'circle');
    const areas = map
      .queryRenderedFeatures(near, { layers })
      .filter(({ layer }) => layer.type === 'fill' && !isSmooth(layer));
    return { points, areas };
  };

  /** Draws the ground once the map stands where it is to be seen: tiles of another place are not read. */
  let ground = groundPicture(archives, null);
  const putGround = () => put('ground', ground);
  // The map does not wait for the streets, which another site may have.
  openStreets(archives).then((streets) => {
    const { sprite = [] } = streets ?? {};
    for (const { id, url } of typeof sprite === 'string' ? [{ id: 'default', url: sprite }] : sprite)
      map.addSprite(id, url);
    ground = groundPicture(archives, streets);
    if (layersOf('ground').length > 0) putGround();
  }, reportError);

  if (place) putGround();
  else setTimeout(putGround, GROUND_AT_LATEST_MS);
  effect(() => void putHail());
  effect(() => {
    const isSeen = state.view === 'scan' && state.layers.includes('reflectivity');
    const url = isSeen ? chosenFrame()?.reflectivity_url : null;
    put('reflectivity', url ? reflectivityPicture(archives.address(url)) : null);
  });
  return {
    map,
    put,
    drawnAt,
    /** Removes all hail and hatching from the map. */
    clear(): void {
      shown = null;
      putHail();
      this.hatch(null);
    },
    /** Shows hail in place of the current one. Resolves once drawn. */
    async show(hail: Hail): Promise<void> {
      putGround();
      shown = hail;
      if (putHail()) await drawn(map);
    },
    /** Drawn size and storm at a place; null while nothing is shown. */
    sizeAt(at: LngLat): Finding | null {
      if (shown === null) return null;
      const { points, areas } = drawnAt(at, 'hail');
      const here = map.project(at);
      return pickAmong(areas, points, (lng, lat) => map.project([lng, lat]).dist(here));
    },
    /** Marks the picked place; null removes the mark. */
    mark(at: LngLat | null): void {
      put(PICK, at && ring(at));
    },
    /** Hatches areas without radar coverage; null (coverage not known) hatches nothing. */
    hatch(blocks: UncoveredBlocks | null): void {
      uncovered = blocks;
      put(UNCOVERED, blocks && hatching(blocks));
    },
    /** Whether radar covers a place; null where that is not known. */
    isCovered: (at: LngLat) => isCovered(uncovered, at),
    /** True when at least one of the places is in view. */
    shows(places: readonly LatLon[]): boolean {
      const view = map.getBounds();
      return places.some(({ lat, lon }) => view.contains([lon, lat]));
    },
    /** Moves so that all places are in view; `padding` keeps them clear of the cards over the map. */
    fit(places: readonly LatLon[], padding: PaddingOptions, animate: boolean): void {
      const lons = places.map(({ lon }) => lon);
      const lats = places.map(({ lat }) => lat);
      const box: [number, number, number, number] = places.length
        ? [Math.min(...lons), Math.min(...lats), Math.max(...lons), Math.max(...lats)]
        : CONUS;
      const isCalm = matchMedia('(prefers-reduced-motion: reduce)').matches;
      map.fitBounds(box, { padding, maxZoom: ZOOM.fit_max, animate: animate && !isCalm });
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
    style: emptyStyle(),
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
  map.addImage(ARROW, image(32, BASEMAP.track, 'fill', 'M26 16 8 7l4 9-4 9z'), { pixelRatio: IMAGE_PIXEL_RATIO });
  const diagonals = 'M-16 16 0 0M0 16 16 0M16 16 32 0';
  map.addImage(HATCH, image(16, BASEMAP.border, 'stroke', diagonals), { pixelRatio: IMAGE_PIXEL_RATIO });
  return map;
}

/** A square image of a path, `side` in pixels. */
function image(side: number, color: string, draw: 'fill' | 'stroke', path: string): ImageData {
  const pen = new OffscreenCanvas(side, side).getContext('2d') as OffscreenCanvasRenderingContext2D;
  Object.assign(pen, { fillStyle: color, strokeStyle: color, lineWidth: 1.5 });
  pen[draw](new Path2D(path));
  return pen.getImageData(0, 0, side, side);
}

/** Areas without radar coverage, hatched, over the land. */
function hatching(blocks: UncoveredBlocks): Picture {
  const hatch = { type: 'fill', paint: { 'fill-pattern': HATCH, 'fill-opacity': 0.8 } } as const;
  return {
    sources: { [UNCOVERED]: { type: 'geojson', data: uncoveredArea(blocks) } },
    layers: { areas: [layer(UNCOVERED, UNCOVERED, hatch)] },
  };
}

/** Ring around the picked place. */
function ring({ lng, lat }: LngLat): Picture {
  const edge = (color: string, width: number) =>
    dot('transparent', 7, color, { paint: { 'circle-stroke-width': width } });
  return {
    sources: { [PICK]: { type: 'geojson', data: { type: 'Point', coordinates: [lng, lat] } } },
    layers: { top: [layer('pick-halo', PICK, edge(BASEMAP.land, 4)), layer(PICK, PICK, edge(BASEMAP.ink, 2))] },
  };
}

/** Resolves when the map is idle, at the latest after `DRAWN_AT_LATEST_MS`. */
async function drawn(map: MapLibre): Promise<void> {
  await Promise.race([map.once('idle'), new Promise((resolve) => setTimeout(resolve, DRAWN_AT_LATEST_MS))]);
}
