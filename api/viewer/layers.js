/**
 * @typedef {import('maplibre-gl').LayerSpecification} Layer
 * @typedef {import('./words.js').Palette} Palette
 */

export const FONT = ['Helvetica Neue', 'Arial', 'sans-serif'];
const FONT_BOLD = ['Helvetica Neue Bold', 'Arial', 'sans-serif'];
/** Fills go under this layer, everything else under `TOP`. */
export const UNDER_BORDERS = 'borders';
export const TOP = 'pick-halo';
/** Sizes that are labelled, mm, from a zoom on: fewer where there is less room. */
const LABEL_MIN_MM = { far: 38, from_zoom_6: 25, from_zoom_7: 19 };
const ARROW = 'arrow';
const HATCH = 'hatch';
/** Slower storms stand, as far as a map can show; the arrow head stands off the dot by so much at full size. */
const ARROW_MIN_KMH = 5;
const ARROW_OFFSET_PX = 15;

/** @typedef {'left' | 'right' | 'top' | 'bottom'} Anchor side of the label that is at the dot */
/** Storms mostly move east: the label goes above or below the arrow. */
const BESIDE_ARROWS = /** @type {Anchor[]} */ (['bottom', 'top', 'right', 'left']);
const BESIDE_PATHS = /** @type {Anchor[]} */ (['left', 'right', 'bottom', 'top']);

/**
 * Layers of the archive of a scan over a source of that name: MESH, motion, storms.
 * @param {string} source
 * @param {Palette} palette
 * @returns {{ fills: Layer[], marks: Layer[] }}
 */
export function scanLayers(source, palette) {
  const { track } = palette.basemap;
  return {
    fills: [sizeFill(source, 'hail', palette)],
    marks: [
      {
        id: `${source}-motion`,
        type: 'line',
        source,
        'source-layer': 'motion',
        layout: { 'line-cap': 'round' },
        paint: {
          'line-color': track,
          'line-width': ['interpolate', ['linear'], ['zoom'], 4, 1, 9, 2.2],
          'line-opacity': 0.85,
        },
      },
      {
        id: `${source}-arrows`,
        type: 'symbol',
        source,
        'source-layer': 'storms',
        minzoom: 4.5,
        filter: ['>=', ['coalesce', ['get', 'speed_kmh'], 0], ARROW_MIN_KMH],
        layout: {
          'icon-image': ARROW,
          'icon-size': ['interpolate', ['linear'], ['zoom'], 4.5, 0.6, 10, 1.1],
          'icon-offset': [ARROW_OFFSET_PX, 0],
          // The image points east, which is direction 90.
          'icon-rotate': ['-', ['get', 'direction_deg'], 90],
          'icon-rotation-alignment': 'map',
          'icon-allow-overlap': true,
          'icon-ignore-placement': true,
        },
      },
      dots(`${source}-storms`, source, 'storms', 'mm', 1, palette),
      labels(`${source}-labels`, source, 'storms', 'mm', BESIDE_ARROWS, palette),
    ],
  };
}

/**
 * Layers of the archive of a day: swath tiers, tracks, peaks.
 * @param {string} source
 * @param {Palette} palette
 * @returns {{ fills: Layer[], marks: Layer[] }}
 */
export function dayLayers(source, palette) {
  const { track } = palette.basemap;
  return {
    fills: [sizeFill(source, 'swaths', palette)],
    marks: [
      {
        id: `${source}-tracks`,
        type: 'line',
        source,
        'source-layer': 'tracks',
        layout: { 'line-cap': 'round', 'line-join': 'round' },
        paint: {
          'line-color': track,
          'line-width': ['interpolate', ['linear'], ['zoom'], 4, 0.6, 9, 1.6],
          'line-opacity': ['interpolate', ['linear'], ['zoom'], 4, 0.45, 8, 0.8],
        },
      },
      dots(`${source}-peaks`, source, 'peaks', 'peak_mm', 0.8, palette),
      labels(`${source}-labels`, source, 'peaks', 'peak_mm', BESIDE_PATHS, palette),
    ],
  };
}

/** Reflectivity goes under this layer, and so under everything but the land. */
export const UNDER_HAIL = 'uncovered';

/**
 * Layer of the archive of a scan's reflectivity: bands that do not overlap, muted by their colours, without edges.
 * @param {string} source
 * @param {Palette} palette
 * @returns {Layer}
 */
export function reflectivityLayer(source, { reflectivity }) {
  const [lowest, ...higher] = reflectivity;
  const stops = higher.flatMap(({ dbz_min, color }) => [dbz_min, color]);
  const color = /** @type {import('maplibre-gl').ExpressionSpecification} */ ([
    'step',
    ['get', 'dbz'],
    lowest.color,
    ...stops,
  ]);
  return {
    id: source,
    type: 'fill',
    source,
    'source-layer': 'reflectivity',
    paint: { 'fill-color': color, 'fill-antialias': false },
  };
}

/**
 * Layers of a source that say the size at a place, and those that name a storm.
 * @param {'scan' | 'day'} source
 */
export function sizeLayers(source) {
  return source === 'scan'
    ? { bands: 'scan-hail', storms: 'scan-storms' }
    : { bands: 'day-swaths', storms: 'day-peaks' };
}

/**
 * Steps hold everything at or above them, smallest first in the tile, so that the largest paints last; opaque, so that a
 * colour on the map is the colour of the legend.
 * @param {string} source @param {string} layer @param {Palette} palette
 * @returns {Layer}
 */
function sizeFill(source, layer, palette) {
  return {
    id: `${source}-${layer}`,
    type: 'fill',
    source,
    'source-layer': layer,
    layout: { 'fill-sort-key': ['get', 'mm_min'] },
    paint: { 'fill-color': colorOf('mm_min', palette), 'fill-antialias': true },
  };
}

/**
 * @param {string} id @param {string} source @param {string} layer @param {string} size @param {number} factor
 * @param {Palette} palette
 * @returns {Layer}
 */
function dots(id, source, layer, size, factor, palette) {
  return {
    id,
    type: 'circle',
    source,
    'source-layer': layer,
    layout: { 'circle-sort-key': ['get', size] },
    paint: {
      'circle-color': colorOf(size, palette),
      'circle-radius': [
        'interpolate',
        ['linear'],
        ['zoom'],
        3,
        scaledRadius(size, 0.55 * factor),
        6,
        scaledRadius(size, factor),
        10,
        scaledRadius(size, 1.7 * factor),
      ],
      'circle-stroke-color': palette.basemap.ink,
      'circle-stroke-width': ['interpolate', ['linear'], ['zoom'], 3, 0.6, 6, 1.2],
    },
  };
}

/**
 * Three to seven pixels, with the size.
 * @param {string} size @param {number} factor
 * @returns {import('maplibre-gl').ExpressionSpecification}
 */
function scaledRadius(size, factor) {
  return ['interpolate', ['linear'], ['get', size], 15, 3 * factor, 60, 5.5 * factor, 110, 7 * factor];
}

/**
 * @param {string} id @param {string} source @param {string} layer @param {string} size
 * @param {Anchor[]} anchors @param {Palette} palette
 * @returns {Layer}
 */
function labels(id, source, layer, size, anchors, { mm_per_inch, basemap }) {
  return {
    id,
    type: 'symbol',
    source,
    'source-layer': layer,
    minzoom: 4.5,
    filter: labelled(size),
    layout: {
      'symbol-sort-key': ['-', 0, ['get', size]],
      'text-field': [
        'concat',
        ['number-format', ['/', ['get', size], mm_per_inch], { 'min-fraction-digits': 1, 'max-fraction-digits': 1 }],
        ' in · ',
        ['to-string', ['round', ['get', size]]],
        ' mm',
      ],
      'text-font': FONT_BOLD,
      'text-size': 12,
      'text-variable-anchor': anchors,
      'text-radial-offset': 0.8,
      'text-justify': 'auto',
      'text-padding': 4,
    },
    paint: { 'text-color': basemap.ink, 'text-halo-color': basemap.land, 'text-halo-width': 1.6 },
  };
}

/**
 * @param {string} size name of the attribute, mm
 * @returns {import('maplibre-gl').FilterSpecification}
 */
function labelled(size) {
  const { far, from_zoom_6, from_zoom_7 } = LABEL_MIN_MM;
  return [
    'step',
    ['zoom'],
    ['>=', ['get', size], far],
    6,
    ['>=', ['get', size], from_zoom_6],
    7,
    ['>=', ['get', size], from_zoom_7],
  ];
}

/**
 * @param {string} size name of the attribute, mm
 * @param {Palette} palette
 * @returns {import('maplibre-gl').ExpressionSpecification}
 */
function colorOf(size, { sizes }) {
  const [lowest, ...higher] = sizes;
  const stops = higher.flatMap(({ mm_min, color }) => [mm_min, color]);
  return /** @type {import('maplibre-gl').ExpressionSpecification} */ (['step', ['get', size], lowest.color, ...stops]);
}

/**
 * Arrow head that says where a storm moves, pointing east.
 * @param {string} color
 * @returns {{ name: string, image: ImageData, pixelRatio: number }}
 */
export function arrowImage(color) {
  const side = 32;
  const canvas = document.createElement('canvas');
  canvas.width = side;
  canvas.height = side;
  const pen = /** @type {CanvasRenderingContext2D} */ (canvas.getContext('2d'));
  pen.fillStyle = color;
  pen.beginPath();
  pen.moveTo(26, 16);
  pen.lineTo(8, 7);
  pen.lineTo(12, 16);
  pen.lineTo(8, 25);
  pen.closePath();
  pen.fill();
  return { name: ARROW, image: pen.getImageData(0, 0, side, side), pixelRatio: 2 };
}

/**
 * Thin diagonal lines on nothing, to be repeated over an area.
 * @param {string} color
 */
export function hatchImage(color) {
  const side = 16;
  const canvas = document.createElement('canvas');
  canvas.width = side;
  canvas.height = side;
  const pen = /** @type {CanvasRenderingContext2D} */ (canvas.getContext('2d'));
  pen.strokeStyle = color;
  pen.lineWidth = 1.5;
  pen.beginPath();
  for (const from of [-side, 0, side]) {
    pen.moveTo(from, side);
    pen.lineTo(from + side, 0);
  }
  pen.stroke();
  return { name: HATCH, image: pen.getImageData(0, 0, side, side), pixelRatio: 2 };
}
