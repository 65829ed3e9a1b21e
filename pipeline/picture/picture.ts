import { roughDistanceKm } from '../../schemas/geo/distance.ts';
import { colLon, type Lattice, pixelAreaKm2, rowLat } from '../../schemas/geo/lattice.ts';
import type { Bbox, Position } from '../../schemas/geo/position.ts';
import { type MultiPolygon, traceMultiPolygon } from '../../schemas/geo/rings.ts';
import { multiPolygonFromWkt } from '../../schemas/geo/wkt.ts';
import { BASEMAP, SIZE_COLORS, type SizeColor, sizeColor } from '../../schemas/palette.ts';
import { DETECTION_MIN_MM, SIZE_BANDS } from '../../schemas/size.ts';
import type { Swath } from '../../schemas/tables/derived.ts';
import type { Cell, Detection, TrackPoint } from '../../schemas/tables/radar.ts';
import type { UncoveredBlocks } from '../grid.ts';
import { isPublished, MOTION_LEAD_MIN, positionAhead, stormPaths } from '../storm-paths.ts';
import { drawBasemap, drawStateNames } from './basemap.ts';
import type { Pixel } from './clip.ts';
import { drawUncovered, HATCHING } from './coverage.ts';
import { boxOf, mainHail, polygonAreaKm2 } from './frame.ts';
import { fitView, type MapView, type Rectangle } from './map-view.ts';
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
import {
  counted,
  dateInWords,
  inches,
  instantInWords,
  joined,
  largestInWords,
  minuteInDigits,
  periodInWords,
  positionInWords,
  sizeInWords,
  thousands,
  untilInWords,
} from './words.ts';

interface PictureBasics {
  /** Time of the newest scan included; null on a date without scans. */
  readonly data_time: number | null;
  readonly simulated: boolean;
  /** Source of the data, for example `NOAA MRMS`. */
  readonly attribution: string;
  /** Bounds of the grid: shown when there is no hail. */
  readonly lattice: Lattice;
  readonly bounds: Bbox;
}

type SizedPixel = Pick<Detection, 'row' | 'col' | 'estimated_size_mm'>;

/** Rows of one storm date. */
export interface DayPicture extends PictureBasics {
  readonly kind: 'day';
  readonly storm_date: string;
  /** Track rows of the date. */
  readonly tracks: readonly TrackPoint[];
  readonly swaths: readonly Swath[];
}

/** Rows of one scan. */
export interface ScanPicture extends PictureBasics {
  readonly kind: 'scan';
  readonly scan_time: number;
  /** Track rows of the storm date up to the scan. */
  readonly tracks: readonly TrackPoint[];
  readonly detections: readonly SizedPixel[];
  readonly cells: readonly Cell[];
}

/** One grid of hail sizes from a file. */
export interface GridPicture extends PictureBasics {
  readonly kind: 'grid';
  /** Product name as in the public bucket, for example `MESH_Max_1440min`. */
  readonly product: string;
  /** Minutes up to `data_time` that the sizes are the maximum of; null for sizes of that instant. */
  readonly period_min: number | null;
  readonly data_time: number;
  /** Pixels of at least the smallest size of the legend. */
  readonly pixels: readonly SizedPixel[];
  readonly uncovered: UncoveredBlocks;
}

export type PictureData = DayPicture | ScanPicture | GridPicture;

/** Area at or above a size. */
interface Band {
  readonly mm_min: number;
  readonly polygons: MultiPolygon;
  readonly area_km2: number;
}

/** Content of a picture of any kind. */
interface Scene {
  readonly title: string;
  readonly summary: string;
  /** Time of the data in words. */
  readonly time: string;
  readonly bands: readonly Band[];
  readonly paths: readonly (readonly Position[])[];
  readonly storms: readonly Storm[];
  readonly legend: readonly SizeColor[];
  readonly marks: readonly LegendMark[];
}

const SEVERE_MM = SIZE_BANDS[0].threshold_mm;
/** Colours of the size bands, and with those of weaker detections. */
const BAND_COLORS = SIZE_COLORS.filter(({ category }) => category !== null);
const DETECTION_COLORS = SIZE_COLORS.filter(({ mm_min }) => mm_min >= DETECTION_MIN_MM);
/** Peaks of a grid are this far apart; the smaller of two closer ones is left out. */
const PEAK_GAP_KM = 30;
/** Margin around the hail as a share of its extent, and smallest extent of a map, degrees. */
const MARGIN = 0.14;
const MIN_SPAN_DEG = 1.4;
/** Scale from which on a pixel of the grid is smaller than a pixel of the picture. */
const WIDE_KM_PER_PX = 1.2;
const FONT = "'Inter', 'Helvetica Neue', Helvetica, Arial, 'DejaVu Sans', sans-serif";

/**
 * An SVG map of a storm date (tiers, tracks, peaks), of a scan (detections by size, storms, their motion over 15 minutes) or of
 * a grid from a file (sizes, peaks, area without radar) over state outlines, fitted to nine tenths of the hail or to `bbox`,
 * with a legend in inches and millimetres, time and source. Hail outside the map is stated in the header.
 * A picture of simulated data is marked in the header and across the map. Same rows, same text.
 */
export function drawPicture(data: PictureData, bbox?: Bbox): string {
  const scene = sceneOf(data);
  const view = fitView(bbox ?? around(scene, data.bounds), MAP);
  const outlines = loadStates();
  const outline = hailOutline(view, scene);
  const labels = labelStorms(view, scene.storms, [scaleBox(MAP)], outline);
  const map = [
    drawBasemap(view, outlines, data.kind === 'grid' ? drawUncovered(view, data.uncovered, data.bounds) : ''),
    drawStateNames(view, outlines.states, [
      scaleBox(MAP),
      ...labels,
      ...outline.map(([x, y]) => ({ x, y, width: 0, height: 0 })),
    ]),
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
      data.kind === 'grid' ? HATCHING : '',
      element('rect', { ...PAGE, fill: '#ffffff' }),
      drawHeader({ ...data, ...scene, summary: joined([scene.summary, outsideInWords(view, scene)]) }),
      element('g', { 'clip-path': 'url(#map)' }, `\n${map.filter((part) => part !== '').join('\n')}\n`),
      element('rect', { ...MAP, rx: 6, fill: 'none', stroke: BASEMAP.border }),
      drawLegend(scene.legend, new Map(scene.bands.map(({ mm_min, area_km2 }) => [mm_min, area_km2])), scene.marks),
    ]
      .filter((part) => part !== '')
      .join('\n'),
  )}\n`;
}

function sceneOf(data: PictureData): Scene {
  if (data.kind === 'day') return dayScene(data);
  return data.kind === 'scan' ? scanScene(data) : gridScene(data);
}

function dayScene(data: DayPicture): Scene {
  const paths = stormPaths(data.tracks).toSorted((a, b) => a.peak_mm - b.peak_mm);
  const bands = data.swaths.map((tier) => ({
    mm_min: tier.threshold_mm,
    polygons: multiPolygonFromWkt(tier.geometry),
    area_km2: tier.area_km2,
  }));
  const lowest = data.swaths[0];
  const largest_mm = Math.max(lowest?.max_size_mm ?? 0, paths.at(-1)?.peak_mm ?? 0);
  return {
    title: `Hail of ${dateInWords(data.storm_date)}`,
    summary: joined([largestInWords(largest_mm), severeArea(bands), counted(paths.length, 'tracked storm')]),
    time: untilInWords(data.data_time),
    bands,
    paths: paths.map((path) => path.line),
    storms: paths
      .filter((path) => path.peak_mm >= SEVERE_MM)
      .map((path) => ({ ...path.peak, mm: path.peak_mm, ahead: null })),
    legend: BAND_COLORS,
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
  return {
    title: `Hail at ${instantInWords(data.scan_time)}`,
    summary: joined([largestInWords(largest_mm), counted(data.cells.length, 'storm cell')]),
    time: untilInWords(data.data_time),
    bands: pixelBands(data.lattice, data.detections, DETECTION_COLORS),
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
    legend: DETECTION_COLORS,
    marks: [
      [MARKS.arrow, `storm motion, ${MOTION_LEAD_MIN} minutes`],
      [MARKS.dot, 'storm cell'],
    ],
  };
}

function gridScene({ pixels, period_min, ...data }: GridPicture): Scene {
  const legend = period_min === null ? DETECTION_COLORS : BAND_COLORS;
  const bands = pixelBands(data.lattice, pixels, legend);
  const largest_mm = pixels.reduce((largest, pixel) => Math.max(largest, pixel.estimated_size_mm), 0);
  const instant = instantInWords(data.data_time);
  const from = period_min === null ? '' : `${minuteInDigits(data.data_time - period_min * 60_000)} to `;
  return {
    title: period_min === null ? `Hail at ${instant}` : `Hail of the ${periodInWords(period_min)} to ${instant}`,
    summary: joined([largestInWords(largest_mm), severeArea(bands)]),
    time: `${data.product}, ${from}${minuteInDigits(data.data_time)} UTC`,
    bands,
    paths: [],
    storms: peaksOf(data.lattice, pixels),
    legend,
    marks: [
      [MARKS.dot, `largest hail within ${PEAK_GAP_KM} km`],
      [MARKS.hatch, 'not seen by radar'],
    ],
  };
}

/** Area of pixels at or above each size that one of them reaches. */
function pixelBands(lattice: Lattice, pixels: readonly SizedPixel[], steps: readonly SizeColor[]): Band[] {
  return steps.flatMap(({ mm_min }) => {
    const reached = pixels.filter((pixel) => pixel.estimated_size_mm >= mm_min);
    if (reached.length === 0) return [];
    const polygons = traceMultiPolygon({
      lattice,
      rows: reached.map(({ row }) => row),
      cols: reached.map(({ col }) => col),
    });
    return { mm_min, polygons, area_km2: reached.reduce((sum, { row }) => sum + pixelAreaKm2(lattice, row), 0) };
  });
}

/** Severe pixels that are the largest within `PEAK_GAP_KM`, smallest first. */
function peaksOf(lattice: Lattice, pixels: readonly SizedPixel[]): Storm[] {
  const severe = pixels.filter(({ estimated_size_mm: mm }) => mm >= SEVERE_MM);
  const peaks: Storm[] = [];
  for (const { row, col, estimated_size_mm: mm } of severe.toSorted(
    (a, b) => b.estimated_size_mm - a.estimated_size_mm,
  )) {
    const at = { lat: rowLat(lattice, row), lon: colLon(lattice, col) };
    if (peaks.every((peak) => roughDistanceKm(peak, at) > PEAK_GAP_KM)) peaks.push({ ...at, mm, ahead: null });
  }
  return peaks.reverse();
}

function severeArea(bands: readonly Band[]): string {
  const severe = bands.find(({ mm_min }) => mm_min === SEVERE_MM);
  return severe ? `${thousands(severe.area_km2)} km² with ${inches(SEVERE_MM, 2)} (${SEVERE_MM} mm) or more` : '';
}

/** Box of the largest outbreaks of hail with a margin; of storms and paths without hail; of the grid without any. */
function around({ bands, paths, storms }: Scene, bounds: Bbox): Bbox {
  const hail = mainHail(bands[0]?.polygons ?? []);
  const shown = hail.length > 0 ? hail : [...storms, ...paths.flat()];
  if (shown.length === 0) return bounds;
  const [west, south, east, north] = boxOf([shown.map(({ lat, lon }) => [lon, lat])]);
  const span = (low: number, high: number): [number, number] => {
    const half = Math.max(((high - low) / 2) * (1 + 2 * MARGIN), MIN_SPAN_DEG / 2);
    return [(low + high) / 2 - half, (low + high) / 2 + half];
  };
  const lons = span(west, east);
  const lats = span(south, north);
  return [lons[0], lats[0], lons[1], lats[1]];
}

/** Area of the hail that lies outside the map, with the largest storm there; '' when all of it is shown. */
function outsideInWords(view: MapView, { bands, storms }: Scene): string {
  const isOutside = (lon: number, lat: number) => !isWithin(view.area, view.project(lon, lat));
  const hidden = (bands[0]?.polygons ?? []).filter((polygon) =>
    polygon.flat().every(([lon, lat]) => isOutside(lon as number, lat as number)),
  );
  if (hidden.length === 0) return '';
  const area = `outside this map ${thousands(hidden.reduce((sum, polygon) => sum + polygonAreaKm2(polygon), 0))} km²`;
  const largest = storms.findLast(({ lat, lon }) => isOutside(lon, lat));
  return largest ? `${area}, up to ${sizeInWords(largest.mm)} at ${positionInWords(largest)}` : area;
}

/** Corners of the outline of the hail, in the map. */
function hailOutline({ project, area }: MapView, { bands }: Scene): Pixel[] {
  return (bands[0]?.polygons ?? [])
    .flat(2)
    .map(([lon, lat]) => project(lon as number, lat as number))
    .filter((corner) => isWithin(area, corner));
}

function isWithin({ x, y, width, height }: Rectangle, [px, py]: Pixel): boolean {
  return px >= x && py >= y && px <= x + width && py <= y + height;
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
