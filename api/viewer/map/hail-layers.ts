import type { ExpressionSpecification, FilterSpecification, LayerSpecification as Layer } from 'maplibre-gl';
import type { View } from '../data/day.ts';
import { BASEMAP, REFLECTIVITY, SIZES } from '../page/palette.ts';
import { MM_PER_INCH } from '../page/words.ts';
import { ARROW } from './images.ts';

export const FONT = ['Helvetica Neue', 'Arial', 'sans-serif'];
const FONT_BOLD = ['Helvetica Neue Bold', 'Arial', 'sans-serif'];
/** Fills go under this layer, everything else under `TOP`. */
export const UNDER_BORDERS = 'borders';
export const TOP = 'pick-halo';
/** Least size with a label, mm: far out there is less room for labels. */
const LABEL_MIN_MM = { far: 38, from_zoom_6: 25, from_zoom_7: 19 };
/** Slower storms have no arrow. */
const ARROW_MIN_KMH = 5;
/** Distance from the dot to the arrow head at full size. */
const ARROW_OFFSET_PX = 15;

/** Side of the label that is at the dot. */
type Anchor = 'left' | 'right' | 'top' | 'bottom';
/** Storms mostly move east: the label goes above or below the arrow. */
const ARROW_LABEL_ANCHORS: Anchor[] = ['bottom', 'top', 'right', 'left'];
const PATH_LABEL_ANCHORS: Anchor[] = ['left', 'right', 'bottom', 'top'];

/** Layers of one archive: fills lie under the borders, marks over them. */
interface ArchiveLayers {
  readonly fills: Layer[];
  readonly marks: Layer[];
}

/** Layers of the archive of a view; the source has the name of the view. */
export function layersOf(view: View): ArchiveLayers {
  return view === 'day' ? dayLayers(view) : scanLayers(view);
}

/** Source of the swaths of the date before that of the source `day`, where two dates are shown together. */
export const BEFORE = 'before';

/**
 * Layers of two dates together: of each size the date before and then the date, so that the largest size paints last. Of the
 * date before, storms whose largest hail fell before the time `from` have no mark.
 */
export function recentLayers(from: string): ArchiveLayers {
  const [day, before] = [dayLayers('day'), dayLayers(BEFORE)];
  const fills = SIZES.flatMap(({ mm_min }) =>
    [...before.fills, ...day.fills].map((layer) => ({
      ...layer,
      id: `${layer.id}-${mm_min}`,
      filter: ['==', ['get', 'mm_min'], mm_min],
    })),
  ) as Layer[];
  const isRecent = ['>=', ['get', 'time'], from] as FilterSpecification;
  const marks = before.marks.map((layer) =>
    'source-layer' in layer && layer['source-layer'] === 'peaks'
      ? ({ ...layer, filter: 'filter' in layer && layer.filter ? ['all', layer.filter, isRecent] : isRecent } as Layer)
      : layer,
  );
  return { fills, marks: [...marks, ...day.marks] };
}

/** Layers of storms with their exact size. */
export const STORM_LAYERS: Readonly<Record<View, readonly string[]>> = {
  scan: ['scan-storms'],
  day: ['day-peaks', `${BEFORE}-peaks`],
};

/** Layers of the archive of a scan: MESH, motion, storms. */
function scanLayers(source: string): ArchiveLayers {
  const { track } = BASEMAP;
  return {
    fills: [sizeFill(source, 'hail')],
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
      dots(`${source}-storms`, source, 'storms', 'mm', 1),
      labels(`${source}-labels`, source, 'storms', 'mm', ARROW_LABEL_ANCHORS),
    ],
  };
}

/** Layers of the archive of a day: swath tiers, tracks, peaks. */
function dayLayers(source: string): ArchiveLayers {
  const { track } = BASEMAP;
  return {
    fills: [sizeFill(source, 'swaths')],
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
      dots(`${source}-peaks`, source, 'peaks', 'peak_mm', 0.8),
      labels(`${source}-labels`, source, 'peaks', 'peak_mm', PATH_LABEL_ANCHORS),
    ],
  };
}

/** Reflectivity goes under this layer: only the land is below it. */
export const UNDER_HAIL = 'uncovered';

/** Layer of the archive of a scan's reflectivity: bands that do not overlap, in muted colours, without edges. */
export function reflectivityLayer(source: string): Layer {
  const [lowest, ...higher] = REFLECTIVITY;
  const stops = higher.flatMap(({ dbz_min, color }) => [dbz_min, color]);
  const color = ['step', ['get', 'dbz'], lowest.color, ...stops] as ExpressionSpecification;
  return {
    id: source,
    type: 'fill',
    source,
    'source-layer': 'reflectivity',
    paint: { 'fill-color': color, 'fill-antialias': false },
  };
}

/**
 * Each step covers everything at or above its size. The tile has the smallest step first, so that the largest paints last.
 * Opaque, so that a colour on the map is the colour of the legend.
 */
function sizeFill(source: string, layer: string): Layer {
  return {
    id: `${source}-${layer}`,
    type: 'fill',
    source,
    'source-layer': layer,
    layout: { 'fill-sort-key': ['get', 'mm_min'] },
    paint: { 'fill-color': stepColor('mm_min'), 'fill-antialias': true },
  };
}

/** Circles at storms; `size` names the attribute, mm. */
function dots(id: string, source: string, layer: string, size: string, factor: number): Layer {
  return {
    id,
    type: 'circle',
    source,
    'source-layer': layer,
    layout: { 'circle-sort-key': ['get', size] },
    paint: {
      'circle-color': stepColor(size),
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
      'circle-stroke-color': BASEMAP.ink,
      'circle-stroke-width': ['interpolate', ['linear'], ['zoom'], 3, 0.6, 6, 1.2],
    },
  };
}

/** 3 to 7 pixels times `factor`, by size. */
function scaledRadius(size: string, factor: number): ExpressionSpecification {
  return ['interpolate', ['linear'], ['get', size], 15, 3 * factor, 60, 5.5 * factor, 110, 7 * factor];
}

/** Size labels at storms; `size` names the attribute, mm. */
function labels(id: string, source: string, layer: string, size: string, anchors: Anchor[]): Layer {
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
        ['number-format', ['/', ['get', size], MM_PER_INCH], { 'min-fraction-digits': 1, 'max-fraction-digits': 1 }],
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
    paint: { 'text-color': BASEMAP.ink, 'text-halo-color': BASEMAP.land, 'text-halo-width': 1.6 },
  };
}

function labelled(size: string): FilterSpecification {
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

/** Colour of the step that the attribute `size` reaches. */
function stepColor(size: string): ExpressionSpecification {
  const [lowest, ...higher] = SIZES;
  const stops = higher.flatMap(({ mm_min, color }) => [mm_min, color]);
  return ['step', ['get', size], lowest.color, ...stops] as ExpressionSpecification;
}
