import type { LayerSpecification as Layer } from 'maplibre-gl';
import type { Archives } from '../data/archives.ts';
import type { DayBefore, View } from '../data/day.ts';
import { BASEMAP, REFLECTIVITY, SIZES } from '../page/palette.ts';
import { MM_PER_INCH } from '../page/words.ts';
import type { Picture } from './pictures.ts';
import { BOLD_FONT, byNumber, bySteps, byZoom, dot, expression, fill, layer, line, type Part, text } from './style.ts';

/** Image of the head of an arrow that points east. */
export const ARROW = 'arrow';
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

/** Source of the swaths of the date before that of the source `day`, where two dates are shown together. */
const BEFORE = 'before';

/** View, archive and earlier date of the hail on the map. */
export interface Hail {
  readonly view: View;
  readonly url: string;
  /** The date before that is shown together with the day. */
  readonly before: (Pick<DayBefore, 'from'> & { readonly daily_url: string }) | null;
}

/** How hail is drawn. */
export interface Look {
  /** Unseen hail stays on the map: a click still finds the size at a place, and storms their motion. */
  readonly is_seen: boolean;
  /** Outlines are smoothed in place of the pixels of the grid. */
  readonly is_smooth: boolean;
}

/** The hail of a day or a scan: swaths under the borders, storms and their paths over them. */
export function hailPicture({ view, url, before }: Hail, look: Look, archives: Archives): Picture {
  const vector = (url: string) => ({ type: 'vector', url }) as const;
  const sourcesOf = (name: string, url: string) => ({
    [name]: vector(archives.address(url)),
    ...(view === 'day' || look.is_smooth ? { [smooth(name)]: vector(archives.smoothAddress(url)) } : {}),
  });
  const layers = (all: readonly Layer[]) => (look.is_seen ? all : all.map(unseen));
  const fillsOf = (is_smooth: boolean) =>
    before
      ? SIZES.flatMap(({ mm_min }) => [BEFORE, view].map((source) => sizeFill(source, 'swaths', is_smooth, mm_min)))
      : [sizeFill(view, view === 'day' ? 'swaths' : 'hail', is_smooth)];
  // A click is answered from the pixels, however they are drawn.
  const exact = look.is_smooth ? fillsOf(false).map(unseen) : [];
  const marks = view === 'scan' ? scanMarks : [...(before ? dayMarks(BEFORE, before.from) : []), ...dayMarks(view)];
  return {
    sources: { ...sourcesOf(view, url), ...(before && sourcesOf(BEFORE, before.daily_url)) },
    layers: { hail: [...exact, ...layers(fillsOf(look.is_smooth))], marks: layers(marks) },
  };
}

/** Reflectivity of a scan: bands that do not overlap, in muted colours, without edges; only the land is below it. */
export function reflectivityPicture(url: string): Picture {
  const [lowest, ...higher] = REFLECTIVITY;
  const color = bySteps('dbz', lowest.color, ...higher.flatMap(({ dbz_min, color }) => [dbz_min, color]));
  const bands = fill(color, 1, { paint: { 'fill-antialias': false } });
  return {
    sources: { reflectivity: { type: 'vector', url } },
    layers: { areas: [layer('reflectivity', 'reflectivity', bands, 'reflectivity')] },
  };
}

const SMOOTH = '-smooth';
const smooth = (source: string) => `${source}${SMOOTH}`;

/** True for a layer whose outlines are not those of the pixels. */
export const isSmooth = ({ source }: { readonly source?: string }): boolean => source?.endsWith(SMOOTH) === true;

/**
 * Each step covers everything at or above its size. The tile has the smallest step first, so that the largest paints last.
 * Opaque, so that a colour on the map is the colour of the legend. With `mm_min` one step alone: of two dates together, each size
 * of the date before and of the date is painted before the next size.
 */
function sizeFill(source: string, of: string, is_smooth: boolean, mm_min?: number): Layer {
  const part = fill(stepColor('mm_min'), 1, { layout: { 'fill-sort-key': ['get', 'mm_min'] } });
  const drawn = is_smooth ? smooth(source) : source;
  const id = `${drawn}-${of}`;
  if (mm_min === undefined) return layer(id, drawn, part, of);
  return layer(`${id}-${mm_min}`, drawn, { ...part, filter: ['==', ['get', 'mm_min'], mm_min] }, of);
}

const motion = line(BASEMAP.track, byZoom(4, 1, 9, 2.2), {
  layout: { 'line-cap': 'round' },
  paint: { 'line-opacity': 0.85 },
});

const arrows: Part = {
  type: 'symbol',
  minzoom: 4.5,
  filter: ['>=', ['coalesce', ['get', 'speed_kmh'], 0], ARROW_MIN_KMH],
  layout: {
    'icon-image': ARROW,
    'icon-size': byZoom(4.5, 0.6, 10, 1.1),
    'icon-offset': [ARROW_OFFSET_PX, 0],
    // The image points east, which is direction 90.
    'icon-rotate': ['-', ['get', 'direction_deg'], 90],
    'icon-rotation-alignment': 'map',
    'icon-allow-overlap': true,
    'icon-ignore-placement': true,
  },
};

const scanMarks = [
  layer('scan-motion', 'scan', motion, 'motion'),
  layer('scan-arrows', 'scan', arrows, 'storms'),
  layer('scan-storms', 'scan', storms('mm', 1), 'storms'),
  layer('scan-labels', 'scan', labels('mm', ARROW_LABEL_ANCHORS), 'storms'),
];

/** Tracks and peaks of a day; tracks are always smoothed: the centroids of their pixels jump. No mark of a peak before `from`. */
function dayMarks(source: string, from = ''): Layer[] {
  const tracks = line(BASEMAP.track, byZoom(4, 0.6, 9, 1.6), {
    layout: { 'line-cap': 'round' },
    paint: { 'line-opacity': byZoom(4, 0.45, 8, 0.8) },
  });
  const isRecent = expression('>=', ['get', 'time'], from);
  return [
    layer(`${source}-tracks`, smooth(source), tracks, 'tracks'),
    layer(`${source}-peaks`, source, { ...storms('peak_mm', 0.8), filter: isRecent }, 'peaks'),
    layer(`${source}-labels`, source, labels('peak_mm', PATH_LABEL_ANCHORS, isRecent), 'peaks'),
  ];
}

/** Circles at storms; `size` names the attribute, mm. */
function storms(size: string, factor: number) {
  const radius = (scale: number) => byNumber(size, 15, 3 * scale, 60, 5.5 * scale, 110, 7 * scale);
  const radii = byZoom(3, radius(0.55 * factor), 6, radius(factor), 10, radius(1.7 * factor));
  return dot(stepColor(size), radii, BASEMAP.ink, {
    layout: { 'circle-sort-key': ['get', size] },
    paint: { 'circle-stroke-width': byZoom(3, 0.6, 6, 1.2) },
  });
}

/** Size labels at storms; `size` names the attribute, mm. */
function labels(size: string, anchors: Anchor[], filter = expression('literal', true)) {
  const { far, from_zoom_6, from_zoom_7 } = LABEL_MIN_MM;
  const atLeast = (mm: number) => ['all', filter, ['>=', ['get', size], mm]];
  const digits = { 'min-fraction-digits': 1, 'max-fraction-digits': 1 };
  const inches = ['number-format', ['/', ['get', size], MM_PER_INCH], digits];
  const words = expression('concat', inches, ' in · ', ['to-string', ['round', ['get', size]]], ' mm');
  return text(words, BASEMAP.ink, BASEMAP.land, {
    minzoom: 4.5,
    filter: expression('step', ['zoom'], atLeast(far), 6, atLeast(from_zoom_6), 7, atLeast(from_zoom_7)),
    layout: {
      'symbol-sort-key': ['-', 0, ['get', size]],
      'text-font': BOLD_FONT,
      'text-size': 12,
      'text-variable-anchor': anchors,
      'text-radial-offset': 0.8,
      'text-justify': 'auto',
      'text-padding': 4,
    },
  });
}

/** Colour of the step that the attribute `size` reaches. */
function stepColor(size: string) {
  const [lowest, ...higher] = SIZES;
  return bySteps(size, lowest.color, ...higher.flatMap(({ mm_min, color }) => [mm_min, color]));
}

const TRANSPARENT: Readonly<Record<string, object>> = {
  fill: { 'fill-opacity': 0 },
  line: { 'line-opacity': 0 },
  circle: { 'circle-opacity': 0, 'circle-stroke-opacity': 0 },
  symbol: { 'icon-opacity': 0, 'text-opacity': 0 },
};

const unseen = (layer: Layer) => ({ ...layer, paint: { ...layer.paint, ...TRANSPARENT[layer.type] } }) as Layer;
