import type { Bbox, Position } from '../../schemas/geo/position.ts';
import { type MultiPolygon, traceMultiPolygon } from '../../schemas/geo/rings.ts';
import { multiPolygonFromWkt } from '../../schemas/geo/wkt.ts';
import { BASEMAP, SIZE_COLORS, type SizeColor, sizeColor } from '../../schemas/palette.ts';
import { DETECTION_MIN_MM, SIZE_BANDS } from '../../schemas/size.ts';
import type { Cell } from '../../schemas/tables/cells.ts';
import type { Detection } from '../../schemas/tables/detections.ts';
import type { Swath } from '../../schemas/tables/swaths.ts';
import type { TrackPoint } from '../../schemas/tables/tracks.ts';
import { timestamp } from '../../schemas/time.ts';
import { isPublished, MOTION_LEAD_MIN, positionAhead, stormPaths } from '../storm-paths.ts';
import { drawBasemap, drawStateNames } from './basemap.ts';
import { fitView, type MapView } from './map-view.ts';
import {
  drawHeader,
  drawLegend,
  drawNote,
  drawScaleBar,
  drawWatermark,
  type LegendMark,
  MAP,
  MARKS,
  PAGE,
  scaleBox,
} from './page.ts';
import { loadStates } from './states.ts';
import { drawLabel, drawPath, drawStorm, labelStorms, type Storm } from './storm-layer.ts';
import { element, polygonPath } from './svg.ts';
import { counted, dateInWords, inches, largestInWords, thousands } from './words.ts';

interface PictureBasics {
  /** Time of the newest scan included; null on a date without scans. */
  readonly data_time: number | null;
  readonly simulated: boolean;
  /** Source of the data, for example `NOAA MRMS`. */
  readonly attribution: string;
  /** Track rows of the storm date; for a scan, up to the scan. */
  readonly tracks: readonly TrackPoint[];
  /** Bounds of the grid: shown when there is no hail. */
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

/** Content of a picture of either kind. */
interface Scene {
  readonly title: string;
  readonly summary: string;
  readonly bands: readonly Band[];
  readonly paths: readonly (readonly Position[])[];
  readonly storms: readonly Storm[];
  readonly legend: readonly SizeColor[];
  readonly marks: readonly LegendMark[];
}

const SEVERE_MM = SIZE_BANDS[0].threshold_mm;
/** Margin around the hail as a share of its extent, and smallest extent of a map, degrees. */
const MARGIN = 0.14;
const MIN_SPAN_DEG = 1.4;
/** Scale from which on a pixel of the grid is smaller than a pixel of the picture. */
const WIDE_KM_PER_PX = 1.2;
const FONT = "'Inter', 'Helvetica Neue', Helvetica, Arial, 'DejaVu Sans', sans-serif";

/**
 * An SVG map of a storm date (tiers, tracks, peaks) or of a scan (detections by size, storms, their motion over 15 minutes) over
 * state outlines, fitted to the hail or to `bbox`, with a legend in inches and millimetres, time and source.
 * A picture of simulated data is marked in the header and across the map. Same rows, same text.
 */
export function drawPicture(data: PictureData, bbox?: Bbox): string {
  const scene = data.kind === 'day' ? dayScene(data) : scanScene(data);
  const view = fitView(bbox ?? around(scene, data.bounds), MAP);
  const outlines = loadStates();
  const labels = labelStorms(view, scene.storms, [scaleBox(MAP)]);
  const map = [
    drawBasemap(view, outlines),
    drawStateNames(view, outlines.states, [scaleBox(MAP), ...labels]),
    ...scene.paths.map((path) => drawPath(view, path)),
    ...scene.bands.map((band) => drawBand(view, band)),
    ...scene.storms.map((storm) => drawStorm(view, storm)),
    drawScaleBar(view),
    ...labels.map(drawLabel),
    scene.bands.length === 0 && scene.storms.length === 0
      ? drawNote(`No hail of ${scene.legend[0]?.mm_min} mm or more`)
      : '',
    data.simulated ? drawWatermark() : '',
  ];
  return `${element(
    'svg',
    {
      xmlns: 'http://www.w3.org/2000/svg',
      viewBox: `0 0 ${PAGE.width} ${PAGE.height}`,
      ...PAGE,
      'font-family': FONT,
    },
    [
      element('title', {}, `${scene.title}${data.simulated ? ' (simulated)' : ''}`),
      element('clipPath', { id: 'map' }, element('rect', { ...MAP, rx: 6 })),
      element('rect', { ...PAGE, fill: '#ffffff' }),
      drawHeader({ ...data, title: scene.title, summary: bbox ? `Whole grid  ·  ${scene.summary}` : scene.summary }),
      element('g', { 'clip-path': 'url(#map)' }, `\n${map.filter((part) => part !== '').join('\n')}\n`),
      element('rect', { ...MAP, rx: 6, fill: 'none', stroke: BASEMAP.border }),
      drawLegend(scene.legend, scene.marks),
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
  const largest_mm = Math.max(lowest?.max_size_mm ?? 0, paths.at(-1)?.peak_mm ?? 0);
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
    legend: SIZE_COLORS.filter(({ category }) => category !== null),
    marks: [
      [MARKS.path, 'storm track'],
      [MARKS.dot, 'largest hail of the storm'],
    ],
  };
}

function scanScene(data: ScanPicture): Scene {
  const tracks = new Map(
    data.tracks
      .filter((point) => point.scan_time === data.scan_time && isPublished(point))
      .map((point) => [point.track_id, point]),
  );
  const largest_mm = data.detections.reduce((largest, pixel) => Math.max(largest, pixel.estimated_size_mm), 0);
  const shown = SIZE_COLORS.filter(({ mm_min }) => mm_min >= DETECTION_MIN_MM && mm_min <= largest_mm);
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
      .map((cell) => {
        const track = tracks.get(cell.track_id ?? '');
        const { lat, lon, estimated_size_mm: mm } = cell;
        return { lat, lon, mm, ahead: track ? positionAhead(cell, track) : null };
      }),
    legend: SIZE_COLORS.filter(({ mm_min }) => mm_min >= DETECTION_MIN_MM),
    marks: [
      [MARKS.arrow, `storm motion, ${MOTION_LEAD_MIN} minutes`],
      [MARKS.dot, 'storm cell'],
    ],
  };
}

/** Bounding box of the hail with a margin; of the storms without a band; of the grid without both. */
function around({ bands, paths, storms }: Scene, bounds: Bbox): Bbox {
  const hail = bands.flatMap((band) => band.polygons.flat(2));
  const severe = storms.filter((storm) => storm.mm >= SEVERE_MM || hail.length === 0);
  const points = [...hail, ...severe.map(({ lat, lon }) => [lon, lat])];
  if (hail.length === 0) points.push(...paths.flat().map(({ lat, lon }) => [lon, lat]));
  if (points.length === 0) return bounds;
  const span = (axis: 0 | 1): [number, number] => {
    const low = points.reduce((least, point) => Math.min(least, point[axis]), Number.POSITIVE_INFINITY);
    const high = points.reduce((most, point) => Math.max(most, point[axis]), Number.NEGATIVE_INFINITY);
    const half = Math.max(((high - low) / 2) * (1 + 2 * MARGIN), MIN_SPAN_DEG / 2);
    return [(low + high) / 2 - half, (low + high) / 2 + half];
  };
  const [west, east] = span(0);
  const [south, north] = span(1);
  return [west, south, east, north];
}

/** A band in its colour. A stroke of the same colour keeps single pixels visible on a map of the whole country. */
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
