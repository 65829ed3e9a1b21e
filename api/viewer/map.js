import { addProtocol, Map as MapLibre, NavigationControl, ScaleControl } from 'maplibre-gl';
import { isCovered, uncoveredArea } from './coverage.js';
import {
  arrowImage,
  dayLayers,
  FONT,
  hatchImage,
  reflectivityLayer,
  scanLayers,
  sizeLayers,
  TOP,
  UNDER_BORDERS,
  UNDER_HAIL,
} from './layers.js';
import { pickAmong } from './pick.js';

/**
 * @typedef {import('./words.js').Palette} Palette
 * @typedef {import('./pick.js').Finding} Finding
 * @typedef {'day' | 'scan'} View
 * @typedef {{ zoom: number, lat: number, lon: number }} Place
 */

/** West, south, east, north of the contiguous states. */
const CONUS = /** @type {[number, number, number, number]} */ ([-125, 24, -66.5, 50]);
const ZOOM = { min: 2.5, max: 14, fit_max: 7.5 };
/** How near a click must be to a storm to mean it, pixels. */
const TOUCH_PX = 9;
const GRATICULE_DEG = 5;
const REFLECTIVITY = 'reflectivity';
/** A picture that takes longer than this counts as drawn: playing goes on. */
const DRAWN_AT_LATEST_MS = 4000;

/**
 * The map: base, hail of a day or a scan, and what is drawn at a place.
 * @param {HTMLElement} container
 * @param {{ palette: Palette, states: any, archives: ReturnType<typeof import('./archives.js').openArchives>, place: Place | null }} given
 */
export async function openMap(container, { palette, states, archives, place }) {
  addProtocol('pmtiles', archives.tile);
  const map = new MapLibre({
    container,
    style: baseStyle(palette, states),
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
  const arrow = arrowImage(palette.basemap.track);
  map.addImage(arrow.name, arrow.image, { pixelRatio: arrow.pixelRatio });
  const hatch = hatchImage(palette.basemap.border);
  map.addImage(hatch.name, hatch.image, { pixelRatio: hatch.pixelRatio });
  map.addLayer(
    { id: UNDER_HAIL, type: 'fill', source: 'uncovered', paint: { 'fill-pattern': hatch.name, 'fill-opacity': 0.8 } },
    'graticule',
  );
  /** @type {import('./coverage.js').Uncovered | null} */
  let uncovered = null;

  /** @type {Record<View, string | null>} archive of each source */
  const shown = { day: null, scan: null };

  /** @type {string | null} archive of reflectivity under it */
  let under = null;

  /** @param {View} view */
  const remove = (view) => {
    for (const { id } of layersOf(view, palette).all) if (map.getLayer(id)) map.removeLayer(id);
    if (map.getSource(view)) map.removeSource(view);
    shown[view] = null;
  };
  /** @param {View} view @param {string} url */
  const add = (view, url) => {
    map.addSource(view, { type: 'vector', url: archives.address(url) });
    const { fills, marks } = layersOf(view, palette);
    for (const layer of fills) map.addLayer(layer, UNDER_BORDERS);
    for (const layer of marks) map.addLayer(layer, TOP);
    shown[view] = url;
  };

  return {
    map,
    /** Takes all hail off the map. */
    clear() {
      remove('day');
      remove('scan');
      this.hatch(null);
      this.underlay(null);
    },
    /**
     * Lays the archive of a scan's reflectivity under the hail; null takes it away.
     * @param {string | null} url
     */
    underlay(url) {
      const source = /** @type {import('maplibre-gl').VectorTileSource | undefined} */ (map.getSource(REFLECTIVITY));
      if (url === under) return;
      under = url;
      if (url === null) {
        map.removeLayer(REFLECTIVITY);
        map.removeSource(REFLECTIVITY);
      } else if (source) source.setUrl(archives.address(url));
      else {
        map.addSource(REFLECTIVITY, { type: 'vector', url: archives.address(url) });
        map.addLayer(reflectivityLayer(REFLECTIVITY, palette), UNDER_HAIL);
      }
    },
    /**
     * Shows an archive instead of what was there; two scans change without a blank between them.
     * Resolves once it is drawn.
     * @param {View} view
     * @param {string} url
     */
    async show(view, url) {
      remove(view === 'day' ? 'scan' : 'day');
      if (shown[view] === url) return;
      const source = /** @type {import('maplibre-gl').VectorTileSource | undefined} */ (map.getSource(view));
      if (source && view === 'scan') {
        source.setUrl(archives.address(url));
        shown[view] = url;
      } else {
        remove(view);
        add(view, url);
      }
      await drawn(map);
    },
    /**
     * What is drawn at a place of the map; null while nothing is shown.
     * @param {{ lng: number, lat: number }} at
     * @returns {Finding | null}
     */
    sizeAt(at) {
      const view = shown.scan ? 'scan' : shown.day ? 'day' : null;
      if (!view) return null;
      const { bands, storms } = sizeLayers(view);
      const { x, y } = map.project(at);
      const near = map.queryRenderedFeatures(
        [
          [x - TOUCH_PX, y - TOUCH_PX],
          [x + TOUCH_PX, y + TOUCH_PX],
        ],
        { layers: [storms] },
      );
      return pickAmong(map.queryRenderedFeatures([x, y], { layers: [bands] }), near, (lng, lat) => {
        const point = map.project([lng, lat]);
        return Math.hypot(point.x - x, point.y - y);
      });
    },
    /**
     * Marks the place that was asked about; null takes the mark away.
     * @param {{ lng: number, lat: number } | null} at
     */
    mark(at) {
      const source = /** @type {import('maplibre-gl').GeoJSONSource} */ (map.getSource('pick'));
      source.setData(at ? { type: 'Point', coordinates: [at.lng, at.lat] } : EMPTY);
    },
    /**
     * Hatches what no radar looked at; null: not known, and nothing is hatched.
     * @param {import('./coverage.js').Uncovered | null} blocks
     */
    hatch(blocks) {
      uncovered = blocks;
      const source = /** @type {import('maplibre-gl').GeoJSONSource} */ (map.getSource('uncovered'));
      source.setData(uncoveredArea(blocks));
    },
    /**
     * Whether radar looked at a place; null where that is not known.
     * @param {{ lng: number, lat: number }} at
     */
    isCovered: (at) => isCovered(uncovered, at),
    /**
     * True when some of these places can be seen.
     * @param {{ lat: number, lon: number }[]} places
     */
    shows(places) {
      const view = map.getBounds();
      return places.some(({ lat, lon }) => view.contains([lon, lat]));
    },
    /**
     * Moves so that all places are in view, beside the cards that lie over the map.
     * @param {{ lat: number, lon: number }[]} places
     * @param {import('maplibre-gl').PaddingOptions} padding
     * @param {boolean} animate
     */
    fit(places, padding, animate) {
      const lons = places.map(({ lon }) => lon);
      const lats = places.map(({ lat }) => lat);
      const box = places.length
        ? /** @type {[number, number, number, number]} */ ([
            Math.min(...lons),
            Math.min(...lats),
            Math.max(...lons),
            Math.max(...lats),
          ])
        : CONUS;
      map.fitBounds(box, { padding, maxZoom: ZOOM.fit_max, animate: animate && !prefersStillness() });
    },
    /** @returns {Place} */
    place() {
      const { lng, lat } = map.getCenter();
      return { zoom: map.getZoom(), lat, lon: lng };
    },
  };
}

/** @type {GeoJSON.FeatureCollection} */
const EMPTY = { type: 'FeatureCollection', features: [] };

/** @param {View} view @param {Palette} palette */
function layersOf(view, palette) {
  const { fills, marks } = view === 'day' ? dayLayers(view, palette) : scanLayers(view, palette);
  return { fills, marks, all: [...fills, ...marks] };
}

/** @param {MapLibre} map */
function drawn(map) {
  return new Promise((resolve) => {
    const late = setTimeout(done, DRAWN_AT_LATEST_MS);
    function done() {
      clearTimeout(late);
      map.off('idle', done);
      resolve(undefined);
    }
    map.once('idle', done);
  });
}

export function prefersStillness() {
  return matchMedia('(prefers-reduced-motion: reduce)').matches;
}

/**
 * Land, lines and names, drawn from files of this page only.
 * @param {Palette} palette
 * @param {any} states
 * @returns {import('maplibre-gl').StyleSpecification}
 */
function baseStyle({ basemap }, { land, borders, coasts, names }) {
  /** @param {GeoJSON.GeoJSON} data @returns {import('maplibre-gl').GeoJSONSourceSpecification} */
  const geojson = (data) => ({ type: 'geojson', data, tolerance: 0.2 });
  return {
    version: 8,
    sources: {
      land: geojson(land),
      graticule: geojson(graticule()),
      borders: geojson(borders),
      coasts: geojson(coasts),
      names: geojson(names),
      pick: geojson(EMPTY),
      uncovered: geojson(EMPTY),
    },
    layers: [
      { id: 'outside', type: 'background', paint: { 'background-color': basemap.outside } },
      { id: 'land', type: 'fill', source: 'land', paint: { 'fill-color': basemap.land } },
      {
        id: 'graticule',
        type: 'line',
        source: 'graticule',
        paint: { 'line-color': basemap.graticule, 'line-width': 0.8 },
      },
      {
        id: UNDER_BORDERS,
        type: 'line',
        source: 'borders',
        layout: { 'line-join': 'round' },
        paint: { 'line-color': basemap.border, 'line-width': ['interpolate', ['linear'], ['zoom'], 3, 0.8, 8, 1.6] },
      },
      {
        id: 'coasts',
        type: 'line',
        source: 'coasts',
        layout: { 'line-join': 'round' },
        paint: { 'line-color': basemap.outline, 'line-width': ['interpolate', ['linear'], ['zoom'], 3, 0.8, 8, 1.8] },
      },
      {
        id: 'names',
        type: 'symbol',
        source: 'names',
        minzoom: 3.2,
        layout: {
          'text-field': ['upcase', ['get', 'name']],
          'text-font': FONT,
          'text-size': ['interpolate', ['linear'], ['zoom'], 3.2, 8, 7, 13],
          'text-letter-spacing': 0.14,
          'text-max-width': 7,
          'text-padding': 2,
          'symbol-sort-key': ['-', 0, ['get', 'extent']],
        },
        paint: {
          'text-color': basemap.faint,
          'text-opacity': 0.8,
          'text-halo-color': basemap.land,
          'text-halo-width': 1.2,
        },
      },
      {
        id: TOP,
        type: 'circle',
        source: 'pick',
        paint: {
          'circle-radius': 7,
          'circle-color': 'rgba(0,0,0,0)',
          'circle-stroke-color': basemap.land,
          'circle-stroke-width': 4,
        },
      },
      {
        id: 'pick',
        type: 'circle',
        source: 'pick',
        paint: {
          'circle-radius': 7,
          'circle-color': 'rgba(0,0,0,0)',
          'circle-stroke-color': basemap.ink,
          'circle-stroke-width': 2,
        },
      },
    ],
  };
}

/** @returns {GeoJSON.MultiLineString} */
function graticule() {
  const lines = [];
  for (let lon = -140; lon <= -50; lon += GRATICULE_DEG)
    lines.push([
      [lon, 10],
      [lon, 60],
    ]);
  for (let lat = 10; lat <= 60; lat += GRATICULE_DEG)
    lines.push([
      [-140, lat],
      [-50, lat],
    ]);
  return { type: 'MultiLineString', coordinates: lines };
}
