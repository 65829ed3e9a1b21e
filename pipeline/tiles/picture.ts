import { travel } from '../../schemas/geo/distance.ts';
import type { Bbox, Position } from '../../schemas/geo/position.ts';
import { type MultiPolygon, traceMultiPolygon } from '../../schemas/geo/rings.ts';
import { multiPolygonFromWkt } from '../../schemas/geo/wkt.ts';
import { BASEMAP, SIZE_COLORS, sizeColor } from '../../schemas/palette.ts';
import { DETECTION_MIN_MM, SIZE_BANDS } from '../../schemas/size.ts';
import type { Cell } from '../../schemas/tables/cells.ts';
import type { Detection } from '../../schemas/tables/detections.ts';
import type { Swath } from '../../schemas/tables/swaths.ts';
import type { TrackPoint } from '../../schemas/tables/tracks.ts';
import { timestamp } from '../../schemas/time.ts';
import { MM_PER_INCH } from '../../schemas/units.ts';
import { drawBasemap, drawStateNames } from './basemap.ts';
import { fits, type LabelWish, type PlacedLabel, placeLabels } from './labels.ts';
import { fitView, type MapView, type Rectangle } from './map-view.ts';
import { isPublished, stormPaths } from './paths.ts';
import { loadStates } from './states.ts';
import { element, linePath, polygonPath, text } from './svg.ts';

interface PictureBasics {
  /** Newest scan that went in; null on a date without scans. */
  readonly data_time: number | null;
  readonly simulated: boolean;
  /** Where the data come from, for example `NOAA MRMS`. */
  readonly source_note: string;
  /** Track rows of the storm date; of a scan: those up to the scan. */
  readonly tracks: readonly TrackPoint[];
  /** What the grid covers: shown when there is no hail. */
  readonly bounds: Bbox;
}

/** Rows of one storm date. */
export interface DayPicture extends PictureBasics {
  readonly kind: 'day';
  readonly storm_date: string;
  readonly swaths: readonly Swath[];
}

/** Rows of one scan. */
export interface ScanPicture extends PictureBasics {
  readonly kind: 'scan';
  readonly scan_time: number;
  readonly detections: readonly Pick<Detection, 'row' | 'col' | 'estimated_size_mm'>[];
  readonly cells: readonly Cell[];
}

export type PictureData = DayPicture | ScanPicture;

/** Area at or above a size. */
interface Band {
  readonly mm_min: number;
  readonly polygons: MultiPolygon;
}

/** A storm as a dot: at its peak on the day, where it is in a scan. */
interface Storm extends Position {
  readonly mm: number;
  /** Where it will be after the lead time; null on a day and while its motion is unknown. */
  readonly ahead: Position | null;
}

/** What is drawn, whichever kind it is. */
interface Scene {
  readonly title: string;
  readonly summary: string;
  readonly bands: readonly Band[];
  readonly paths: readonly (readonly Position[])[];
  readonly storms: readonly Storm[];
  readonly legend: readonly { readonly mm_min: number }[];
}

const WIDTH = 1200;
const HEADER = 96;
const MAP: Rectangle = { x: 24, y: HEADER, width: WIDTH - 48, height: 720 };
const FOOTER = 104;
const HEIGHT = MAP.y + MAP.height + FOOTER;
const FONT = "'Inter', 'Helvetica Neue', Helvetica, Arial, 'DejaVu Sans', sans-serif";

const SEVERE_MM = SIZE_BANDS[0].threshold_mm;
const MOTION_LEAD_MIN = 15;
/** Free space around the hail, as a share of its extent, and the least extent of a map, degrees. */
const MARGIN = 0.14;
const MIN_SPAN_DEG = 1.4;
const MAX_LABELS = 14;
const LABEL_PX = 11.5;
const ARROW_PX = 7;
/** Between a storm's dot and its label, pixels. */
const CLEAR_PX = 4;
/** On a map as wide as this a pixel of the grid is smaller than a pixel of the picture. */
const WIDE_KM_PER_PX = 1.2;
const SCALE_STEPS_KM = [5, 10, 20, 25, 50, 100, 200, 250, 500, 1000];
const SCALE_MAX_PX = 170;
const KM_PER_MILE = 1.609344;

/**
 * An SVG map of a storm date (tiers, tracks, peaks) or of a scan (detections by size, storms, where they will be in 15 minutes)
 * over state outlines, fitted to the hail or to `bbox`, with legend in inches and millimetres, time and source.
 * Simulated data say so in the title line and across the map. Same rows, same text.
 */
export function drawPicture(data: PictureData, bbox?: Bbox): string {
  const scene = data.kind === 'day' ? dayScene(data) : scanScene(data);
  const view = fitView(bbox ?? around(scene, data.bounds), MAP);
  const outlines = loadStates();
  const labels = labelStorms(view, scene.storms);
  const map = [
    drawBasemap(view, outlines),
    drawStateNames(view, outlines.states, [scaleBox(), ...labels]),
    ...scene.paths.map((path) => drawPath(view, path)),
    ...scene.bands.map((band) => drawBand(view, band)),
    ...scene.storms.map((storm) => drawStorm(view, storm)),
    drawScaleBar(view),
    ...labels.map(drawLabel),
    scene.bands.length === 0 && scene.storms.length === 0
      ? note(`No hail of ${scene.legend[0]?.mm_min} mm or more`)
      : '',
    data.simulated ? watermark() : '',
  ];
  return `${element(
    'svg',
    {
      xmlns: 'http://www.w3.org/2000/svg',
      viewBox: `0 0 ${WIDTH} ${HEIGHT}`,
      width: WIDTH,
      height: HEIGHT,
      'font-family': FONT,
    },
    [
      element('title', {}, `${scene.title}${data.simulated ? ' (simulated)' : ''}`),
      element('clipPath', { id: 'map' }, element('rect', { ...MAP, rx: 6 })),
      element('rect', { width: WIDTH, height: HEIGHT, fill: '#ffffff' }),
      drawHeader(bbox ? { ...scene, summary: `Whole grid  ·  ${scene.summary}` } : scene, data),
      element('g', { 'clip-path': 'url(#map)' }, `\n${map.filter((part) => part !== '').join('\n')}\n`),
      element('rect', { ...MAP, rx: 6, fill: 'none', stroke: BASEMAP.border }),
      drawLegend(scene, data.kind),
    ].join('\n'),
  )}\n`;
}

function dayScene(data: DayPicture): Scene {
  const paths = stormPaths(data.tracks).toSorted((a, b) => a.peak_mm - b.peak_mm);
  const bands = data.swaths.map((tier) => ({
    mm_min: tier.threshold_mm,
    polygons: multiPolygonFromWkt(tier.geometry),
  }));
  const lowest = data.swaths[0];
  const largest_mm = Math.max(...data.swaths.map((tier) => tier.max_size_mm), ...paths.map((path) => path.peak_mm));
  const area = lowest ? `${thousands(lowest.area_km2)} km² with ${inches(SEVERE_MM, 2)} (${SEVERE_MM} mm) or more` : '';
  return {
    title: `Hail of ${dateInWords(data.storm_date)}`,
    summary: [largestInWords(largest_mm), area, counted(paths.length, 'tracked storm')]
      .filter((part) => part !== '')
      .join('  ·  '),
    bands,
    paths: paths.map((path) => path.line),
    storms: paths
      .filter((path) => path.peak_mm >= SEVERE_MM)
      .map((path) => ({ ...path.peak, mm: path.peak_mm, ahead: null })),
    legend: SIZE_BANDS.map((band) => ({ mm_min: band.threshold_mm })),
  };
}

function scanScene(data: ScanPicture): Scene {
  const tracks = new Map(
    data.tracks
      .filter((point) => point.scan_time === data.scan_time && isPublished(point))
      .map((point) => [point.track_id, point]),
  );
  const steps = SIZE_COLORS.filter(({ mm_min }) => data.detections.some((pixel) => pixel.estimated_size_mm >= mm_min));
  const shown = steps.filter(({ mm_min }) => mm_min >= DETECTION_MIN_MM);
  const largest_mm = Math.max(...data.detections.map((pixel) => pixel.estimated_size_mm));
  return {
    title: `Hail at ${timestamp(data.scan_time).slice(11, 16)} UTC, ${dateInWords(timestamp(data.scan_time).slice(0, 10))}`,
    summary: [largestInWords(largest_mm), counted(data.cells.length, 'storm cell')]
      .filter((part) => part !== '')
      .join('  ·  '),
    bands: shown.map(({ mm_min }) => {
      const pixels = data.detections.filter((pixel) => pixel.estimated_size_mm >= mm_min);
      const polygons = traceMultiPolygon({ rows: pixels.map(({ row }) => row), cols: pixels.map(({ col }) => col) });
      return { mm_min, polygons };
    }),
    paths: stormPaths(data.tracks)
      .filter((path) => tracks.has(path.track_id))
      .map((path) => path.line),
    storms: data.cells
      .toSorted((a, b) => a.estimated_size_mm - b.estimated_size_mm)
      .map((cell) => ({
        lat: cell.lat,
        lon: cell.lon,
        mm: cell.estimated_size_mm,
        ahead: ahead(cell, tracks.get(cell.track_id ?? '')),
      })),
    legend: SIZE_COLORS.filter(({ mm_min }) => mm_min >= DETECTION_MIN_MM),
  };
}

function ahead(cell: Cell, track: TrackPoint | undefined): Position | null {
  if (!track || track.speed_kmh === null || track.direction_deg === null) return null;
  return travel(cell, track.direction_deg, (track.speed_kmh * MOTION_LEAD_MIN) / 60);
}

/** Box around the hail with a margin; around the storms when no band is there; the grid when nothing is. */
function around({ bands, paths, storms }: Scene, bounds: Bbox): Bbox {
  const hail = bands.flatMap((band) => band.polygons.flat(2));
  const severe = storms.filter((storm) => storm.mm >= SEVERE_MM || hail.length === 0);
  const points = [...hail, ...severe.map(({ lat, lon }) => [lon, lat])];
  if (hail.length === 0) points.push(...paths.flat().map(({ lat, lon }) => [lon, lat]));
  if (points.length === 0) return bounds;
  const span = (axis: 0 | 1): [number, number] => {
    let [low, high] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
    for (const point of points) {
      low = Math.min(low, point[axis] as number);
      high = Math.max(high, point[axis] as number);
    }
    const half = Math.max(((high - low) / 2) * (1 + 2 * MARGIN), MIN_SPAN_DEG / 2);
    return [(low + high) / 2 - half, (low + high) / 2 + half];
  };
  const [west, east] = span(0);
  const [south, north] = span(1);
  return [west, south, east, north];
}

/** A band in its colour; a stroke of the same colour keeps single pixels visible on a map of the whole country. */
function drawBand(view: MapView, { mm_min, polygons }: Band): string {
  const { color } = sizeColor(mm_min);
  return element('path', {
    d: polygonPath(view, polygons),
    fill: color,
    stroke: color,
    'stroke-width': view.km_per_px > WIDE_KM_PER_PX ? 1.7 : 0.8,
    'stroke-linejoin': 'round',
  });
}

function drawPath(view: MapView, path: readonly Position[]): string {
  const d = linePath(
    view,
    path.map(({ lat, lon }) => [lon, lat]),
  );
  const line = { d, fill: 'none', 'stroke-linejoin': 'round', 'stroke-linecap': 'round' };
  return [
    element('path', { ...line, stroke: '#ffffff', 'stroke-width': 3.4, opacity: 0.75 }),
    element('path', { ...line, stroke: BASEMAP.track, 'stroke-width': 1.3, opacity: 0.85 }),
  ].join('');
}

function drawStorm(view: MapView, storm: Storm): string {
  const [x, y] = view.project(storm.lon, storm.lat);
  const dot = element('circle', {
    cx: x,
    cy: y,
    r: radius(storm.mm),
    fill: sizeColor(storm.mm).color,
    stroke: BASEMAP.ink,
    'stroke-width': 1.1,
  });
  if (!storm.ahead) return dot;
  const [tipX, tipY] = view.project(storm.ahead.lon, storm.ahead.lat);
  return arrow(x, y, tipX, tipY) + dot;
}

/** Radius of a storm's dot, pixels: grows with the size of the hail. */
function radius(mm: number): number {
  return 2.2 + Math.min(mm, 100) / 32;
}

function arrow(x: number, y: number, tipX: number, tipY: number): string {
  const angle = (Math.atan2(tipY - y, tipX - x) * 180) / Math.PI;
  return [
    element('path', {
      d: `M${x.toFixed(1)} ${y.toFixed(1)}L${tipX.toFixed(1)} ${tipY.toFixed(1)}`,
      stroke: BASEMAP.ink,
      'stroke-width': 1.4,
    }),
    element('path', {
      d: `M0 0L${-ARROW_PX} ${-ARROW_PX / 2}V${ARROW_PX / 2}Z`,
      fill: BASEMAP.ink,
      transform: `translate(${tipX.toFixed(1)} ${tipY.toFixed(1)}) rotate(${angle.toFixed(1)})`,
    }),
  ].join('');
}

/** Sizes beside the largest storms in view, as many as find room. */
function labelStorms(view: MapView, storms: readonly Storm[]): PlacedLabel[] {
  const severe = storms
    .filter((storm) => storm.mm >= SEVERE_MM)
    .map((storm) => ({ storm, dot: dotBox(view, storm) }))
    .filter(({ dot }) => fits(dot, MAP, []))
    .reverse();
  const wishes = severe.map(({ storm, dot }): LabelWish => {
    const label = `${inches(storm.mm, 1)} · ${Math.round(storm.mm)} mm`;
    return {
      x: dot.x + dot.width / 2,
      y: dot.y + dot.height / 2,
      width: label.length * LABEL_PX * 0.58,
      height: LABEL_PX + 3,
      text: label,
      gap: dot.width / 2 + CLEAR_PX,
    };
  });
  const obstacles = severe.slice(0, 3 * MAX_LABELS).flatMap(({ storm, dot }) => [dot, ...arrowTip(view, storm)]);
  return placeLabels(wishes, MAP, [scaleBox(), ...obstacles]).slice(0, MAX_LABELS);
}

function dotBox(view: MapView, storm: Storm): Rectangle {
  const [x, y] = view.project(storm.lon, storm.lat);
  return square(x, y, radius(storm.mm));
}

function arrowTip(view: MapView, { ahead }: Storm): Rectangle[] {
  if (!ahead) return [];
  const [x, y] = view.project(ahead.lon, ahead.lat);
  return [square(x, y, ARROW_PX / 2)];
}

function square(x: number, y: number, half: number): Rectangle {
  return { x: x - half, y: y - half, width: 2 * half, height: 2 * half };
}

function drawLabel(label: PlacedLabel): string {
  return text(label.text, label.x, label.y + label.height / 2 + LABEL_PX * 0.36, {
    'font-size': LABEL_PX,
    'font-weight': 600,
    fill: BASEMAP.ink,
    stroke: '#ffffff',
    'stroke-width': 3,
    'stroke-linejoin': 'round',
    'paint-order': 'stroke',
  });
}

function scaleBox(): Rectangle {
  return { x: MAP.x + MAP.width - SCALE_MAX_PX - 28, y: MAP.y + MAP.height - 62, width: SCALE_MAX_PX + 18, height: 40 };
}

function drawScaleBar(view: MapView): string {
  const km = SCALE_STEPS_KM.findLast((step) => step / view.km_per_px <= SCALE_MAX_PX) ?? (SCALE_STEPS_KM[0] as number);
  const length = km / view.km_per_px;
  const right = MAP.x + MAP.width - 24;
  const y = MAP.y + MAP.height - 32;
  const line = `M${(right - length).toFixed(1)} ${y - 4}V${y}H${right}V${y - 4}`;
  return [
    element('path', { d: line, fill: 'none', stroke: '#ffffff', 'stroke-width': 4, opacity: 0.8 }),
    element('path', { d: line, fill: 'none', stroke: BASEMAP.ink, 'stroke-width': 1.3 }),
    text(`${km} km · ${Math.round(km / KM_PER_MILE)} mi`, right - length / 2, y - 9, {
      'font-size': 11,
      fill: BASEMAP.ink,
      'text-anchor': 'middle',
      stroke: '#ffffff',
      'stroke-width': 3,
      'paint-order': 'stroke',
    }),
  ].join('\n');
}

function drawHeader(scene: Scene, data: PictureData): string {
  const until =
    data.data_time === null ? 'no scans' : `data until ${timestamp(data.data_time).replace('T', ' ').slice(0, 16)} UTC`;
  const caution = ['Radar estimate, not a ground measurement', until, `source: ${data.source_note}`].join('  ·  ');
  return [
    text(scene.title, MAP.x, 42, { 'font-size': 27, 'font-weight': 700, fill: BASEMAP.ink }),
    text(scene.summary, MAP.x, 64, { 'font-size': 13.5, fill: BASEMAP.ink }),
    text(caution, MAP.x, 83, { 'font-size': 12, fill: BASEMAP.faint }),
    data.simulated ? badge('SIMULATED · NOT REAL WEATHER') : '',
  ].join('\n');
}

function badge(label: string): string {
  const width = 310;
  const x = WIDTH - MAP.x - width;
  return [
    element('rect', { x, y: 20, width, height: 30, rx: 15, fill: BASEMAP.warning }),
    text(label, x + width / 2, 40, {
      'font-size': 13,
      'font-weight': 700,
      fill: '#ffffff',
      'text-anchor': 'middle',
      'letter-spacing': 0.6,
    }),
  ].join('\n');
}

function watermark(): string {
  const x = MAP.x + MAP.width / 2;
  const y = MAP.y + MAP.height / 2;
  return text('SIMULATED', x, y + 50, {
    'font-size': 150,
    'font-weight': 700,
    fill: BASEMAP.warning,
    opacity: 0.07,
    'text-anchor': 'middle',
    'letter-spacing': 12,
    transform: `rotate(-18 ${x} ${y})`,
  });
}

function note(message: string): string {
  return text(message, MAP.x + MAP.width / 2, MAP.y + MAP.height / 2, {
    'font-size': 20,
    fill: BASEMAP.faint,
    'text-anchor': 'middle',
  });
}

/** Swatches with inches and millimetres, then what lines and dots mean. */
function drawLegend(scene: Scene, kind: PictureData['kind']): string {
  const top = MAP.y + MAP.height + 34;
  const step = 92;
  const swatches = scene.legend.map(({ mm_min }, i) => {
    const { color, ink, category } = sizeColor(mm_min);
    const x = MAP.x + i * step;
    const band = SIZE_BANDS.find((candidate) => candidate.threshold_mm === mm_min);
    return [
      element('rect', { x, y: top, width: step - 2, height: 24, fill: color }),
      text(band ? `${band.inches.toFixed(2)} in` : inches(mm_min, 1), x + (step - 2) / 2, top + 16.5, {
        'font-size': 12.5,
        'font-weight': 600,
        fill: ink,
        'text-anchor': 'middle',
      }),
      text(`${mm_min} mm`, x + (step - 2) / 2, top + 39, {
        'font-size': 11.5,
        fill: BASEMAP.ink,
        'text-anchor': 'middle',
      }),
      text((category ?? 'below nickel').replaceAll('_', ' '), x + (step - 2) / 2, top + 53, {
        'font-size': 10.5,
        fill: BASEMAP.faint,
        'text-anchor': 'middle',
      }),
    ].join('');
  });
  const x = MAP.x + scene.legend.length * step + 44;
  const symbols =
    kind === 'day'
      ? [
          [trackSample(x, top + 12), 'storm track'],
          [dotSample(x, top + 38), 'largest hail of the storm'],
        ]
      : [
          [arrow(x, top + 12, x + 34, top + 12), `storm motion, ${MOTION_LEAD_MIN} minutes`],
          [dotSample(x, top + 38), 'storm cell'],
        ];
  return [
    text('Estimated hail size, this much or more', MAP.x, top - 9, {
      'font-size': 11.5,
      'font-weight': 600,
      fill: BASEMAP.faint,
    }),
    ...swatches,
    ...symbols.map(
      ([symbol, label], i) =>
        `${symbol}${text(label as string, x + 46, top + 16 + 26 * i, { 'font-size': 12, fill: BASEMAP.ink })}`,
    ),
  ].join('\n');
}

function trackSample(x: number, y: number): string {
  return element('path', { d: `M${x} ${y}h34`, stroke: BASEMAP.track, 'stroke-width': 1.6 });
}

function dotSample(x: number, y: number): string {
  return element('circle', {
    cx: x + 17,
    cy: y,
    r: radius(38),
    fill: sizeColor(38).color,
    stroke: BASEMAP.ink,
    'stroke-width': 1.1,
  });
}

const MONTHS = 'January February March April May June July August September October November December'.split(' ');

/** `28 February 2024`. */
function dateInWords(date: string): string {
  const [year, month, day] = date.split('-').map(Number) as [number, number, number];
  return `${day} ${MONTHS[month - 1]} ${year}`;
}

function inches(mm: number, decimals: number): string {
  return `${(mm / MM_PER_INCH).toFixed(decimals)} in`;
}

function largestInWords(mm: number): string {
  return mm > 0 ? `Largest ${inches(mm, 1)} (${Math.round(mm)} mm)` : '';
}

function counted(count: number, what: string): string {
  return count === 0 ? '' : `${count} ${what}${count === 1 ? '' : 's'}`;
}

/** `12,345` */
function thousands(value: number): string {
  return String(Math.round(value)).replace(/\B(?=(\d{3})+$)/g, ',');
}
