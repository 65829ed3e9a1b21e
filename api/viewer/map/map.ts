import {
  addProtocol,
  type GeoJSONSource,
  Map as MapLibre,
  NavigationControl,
  type PaddingOptions,
  ScaleControl,
  type VectorTileSource,
} from 'maplibre-gl';
import type { Archives } from '../data/archives.ts';
import type { DayBefore, LngLat, MapPlace, View } from '../data/day.ts';
import { BASEMAP } from '../page/palette.ts';
import { baseStyle, EMPTY, type Ground, PICK, UNCOVERED } from './base-style.ts';
import { isCovered, type UncoveredBlocks, uncoveredArea } from './coverage.ts';
import {
  BEFORE,
  layersOf,
  recentLayers,
  reflectivityLayer,
  STORM_LAYERS,
  TOP,
  UNDER_BORDERS,
  UNDER_HAIL,
} from './hail-layers.ts';
import { ARROW, arrowImage, HATCH, hatchImage, IMAGE_PIXEL_RATIO } from './images.ts';
import { type Finding, pickAmong } from './pick.ts';

/** West, south, east, north of the contiguous states. */
const CONUS: [number, number, number, number] = [-125, 24, -66.5, 50];
const ZOOM = { min: 2.5, max: 14, fit_max: 7.5 };
/** A click within this distance of a storm picks the storm. */
const TOUCH_PX = 9;
const REFLECTIVITY = 'reflectivity';
/** A picture that takes longer counts as drawn, so that playing goes on. */
const DRAWN_AT_LATEST_MS = 4000;

/** The date before that is shown together with the day. */
type Shown = (Pick<DayBefore, 'from'> & { readonly daily_url: string }) | null;

interface LatLon {
  readonly lat: number;
  readonly lon: number;
}

export type HailMap = Awaited<ReturnType<typeof openMap>>;

/** The map: base map, hail of a day or a scan, and the content drawn at a place. */
export async function openMap(
  container: HTMLElement,
  given: { ground: Ground; archives: Archives; place: MapPlace | null },
) {
  const { archives } = given;
  addProtocol('pmtiles', archives.tile);
  const map = await loadMap(container, given);
  let uncovered: UncoveredBlocks | null = null;
  /** Archive of each view that is on the map. */
  const shown: Record<View, string | null> = { day: null, scan: null };
  /** Layers of each view that are on the map. */
  const added: Record<View, { bands: string[]; all: string[] }> = {
    day: { bands: [], all: [] },
    scan: { bands: [], all: [] },
  };
  /** Archive of the date before, shown together with the day. */
  let shownBefore: string | null = null;
  /** The archive of the day was redrawn under its address. */
  let redrawn = false;
  /** Archive of reflectivity under the hail. */
  let underlay: string | null = null;

  const geojson = (name: string) => map.getSource(name) as GeoJSONSource;
  const tiles = (name: string) => map.getSource(name) as VectorTileSource | undefined;

  const remove = (view: View) => {
    for (const id of added[view].all) map.removeLayer(id);
    added[view] = { bands: [], all: [] };
    if (map.getSource(view)) map.removeSource(view);
    shown[view] = null;
    if (view === 'day' && map.getSource(BEFORE)) map.removeSource(BEFORE);
    if (view === 'day') shownBefore = null;
  };
  const add = (view: View, url: string, before: Shown = null) => {
    map.addSource(view, { type: 'vector', url: archives.address(url) });
    if (before) map.addSource(BEFORE, { type: 'vector', url: archives.address(before.daily_url) });
    const { fills, marks } = before ? recentLayers(before.from) : layersOf(view);
    for (const layer of fills) map.addLayer(layer, UNDER_BORDERS);
    for (const layer of marks) map.addLayer(layer, TOP);
    added[view] = { bands: fills.map(({ id }) => id), all: [...fills, ...marks].map(({ id }) => id) };
    shown[view] = url;
    shownBefore = before?.daily_url ?? null;
  };

  return {
    map,
    /** Removes all hail, hatching and reflectivity from the map. */
    clear(): void {
      remove('day');
      remove('scan');
      this.hatch(null);
      this.setReflectivity(null);
    },
    /** Puts the archive of a scan's reflectivity under the hail; null removes it. */
    setReflectivity(url: string | null): void {
      if (url === underlay) return;
      underlay = url;
      const source = tiles(REFLECTIVITY);
      if (url === null) {
        map.removeLayer(REFLECTIVITY);
        map.removeSource(REFLECTIVITY);
      } else if (source) source.setUrl(archives.address(url));
      else {
        map.addSource(REFLECTIVITY, { type: 'vector', url: archives.address(url) });
        map.addLayer(reflectivityLayer(REFLECTIVITY), UNDER_HAIL);
      }
    },
    /** Shows an archive in place of the current one; two scans change without a blank between them. Resolves once drawn. */
    async show(view: View, url: string, before: Shown = null): Promise<void> {
      remove(view === 'day' ? 'scan' : 'day');
      const isSame = shown[view] === url && (view === 'scan' || shownBefore === (before?.daily_url ?? null));
      if (isSame && !(redrawn && view === 'day')) return;
      const source = tiles(view);
      if (source && (view === 'scan' || isSame)) {
        source.setUrl(archives.address(url));
        shown[view] = url;
      } else {
        remove(view);
        add(view, url, before);
      }
      if (view === 'day') redrawn = false;
      await drawn(map);
    },
    /** Makes the next `show` of the day read its archive again. */
    redraw(): void {
      redrawn = true;
    },
    /** Drawn size and storm at a place; null while nothing is shown. */
    sizeAt(at: LngLat): Finding | null {
      const view = shown.scan ? 'scan' : shown.day ? 'day' : null;
      if (!view) return null;
      const storms = STORM_LAYERS[view].filter((id) => map.getLayer(id));
      const { x, y } = map.project(at);
      const near = map.queryRenderedFeatures(
        [
          [x - TOUCH_PX, y - TOUCH_PX],
          [x + TOUCH_PX, y + TOUCH_PX],
        ],
        { layers: storms },
      );
      return pickAmong(map.queryRenderedFeatures([x, y], { layers: added[view].bands }), near, (lng, lat) => {
        const point = map.project([lng, lat]);
        return Math.hypot(point.x - x, point.y - y);
      });
    },
    /** Marks the picked place; null removes the mark. */
    mark(at: LngLat | null): void {
      void geojson(PICK).setData(at ? { type: 'Point', coordinates: [at.lng, at.lat] } : EMPTY);
    },
    /** Hatches areas without radar coverage; null (coverage not known) hatches nothing. */
    hatch(blocks: UncoveredBlocks | null): void {
      uncovered = blocks;
      void geojson(UNCOVERED).setData(uncoveredArea(blocks));
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
      map.fitBounds(box, { padding, maxZoom: ZOOM.fit_max, animate: animate && !prefersReducedMotion() });
    },
    place(): MapPlace {
      const { lng, lat } = map.getCenter();
      return { zoom: map.getZoom(), lat, lon: lng };
    },
  };
}

/** The base map with its controls and images, loaded. */
async function loadMap(
  container: HTMLElement,
  { ground, place }: { ground: Ground; place: MapPlace | null },
): Promise<MapLibre> {
  const map = new MapLibre({
    container,
    style: baseStyle(ground),
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
  await new Promise((resolve) => map.once('load', resolve));
  map.addImage(ARROW, arrowImage(BASEMAP.track), { pixelRatio: IMAGE_PIXEL_RATIO });
  map.addImage(HATCH, hatchImage(BASEMAP.border), { pixelRatio: IMAGE_PIXEL_RATIO });
  map.addLayer(
    { id: UNDER_HAIL, type: 'fill', source: UNCOVERED, paint: { 'fill-pattern': HATCH, 'fill-opacity': 0.8 } },
    'graticule',
  );
  return map;
}

/** Resolves when the map is idle, at the latest after `DRAWN_AT_LATEST_MS`. */
function drawn(map: MapLibre): Promise<void> {
  return new Promise((resolve) => {
    const late = setTimeout(done, DRAWN_AT_LATEST_MS);
    function done(): void {
      clearTimeout(late);
      map.off('idle', done);
      resolve();
    }
    map.once('idle', done);
  });
}

function prefersReducedMotion(): boolean {
  return matchMedia('(prefers-reduced-motion: reduce)').matches;
}
