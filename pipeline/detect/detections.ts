import type { Blockage } from '../../schemas/geo/blockage.ts';
import { geohash } from '../../schemas/geo/geohash.ts';
import { colLon, rowLat } from '../../schemas/geo/lattice.ts';
import {
  CELL_PEAK_MIN_MM,
  DETECTION_MIN_MM,
  EXTREME_MM,
  poshOfShi,
  SIZE_CAP_MM,
  shiOfMesh,
} from '../../schemas/size.ts';
import type { Detection } from '../../schemas/tables/radar.ts';
import { companionAt, eachPixel, everyCompanion, type HailField, type ScanInput } from '../grid.ts';
import type { CellShape } from './cells.ts';
import { anyNear, append, confirmingScans, type DetectionHistory, prune } from './history.ts';
import type { Labels } from './label.ts';
import { predictedSize } from './predict.ts';
import type { ObjectMatch } from './probsevere.ts';
import { placeQuality } from './quality.ts';

/** A component of fewer pixels of 0.01 degrees, or of their area, that stays below the peak of a storm cell is flagged small. */
const SMALL_PIXELS = 4;
/** An echo within this many pixels of 0.01 degrees in an earlier scan shows that an echo lasts. */
const LASTING_REACH_PX = 3;
/** From this maximum on an echo needs no confirmation by an earlier scan, mm. */
const BELIEVED_MM = 19;
/** Confidences are rounded to four decimals: the last bits of exp and log differ between machines. */
const CONFIDENCE_STEPS = 10_000;

/** A row of the detections table without the storm date, the track and the storm's probability. */
type DetectionShape = Omit<Detection, 'storm_date' | 'track_id' | 'ml_probability'>;

/** The cells of a scan, the components they were found in, and their ProbSevere objects. */
interface FoundCells {
  readonly labels: Labels;
  readonly cells: readonly CellShape[];
  /** ProbSevere object of each cell; null without one. */
  readonly matches: readonly (ObjectMatch | null)[];
}

export interface Detections {
  /** One per pixel >= 10 mm, in the order of the field: rows from north, columns from west. */
  readonly detections: DetectionShape[];
  /** Area of the component >= 5 mm that contains each detection, km2. */
  readonly component_area_km2: number[];
  /** Confidence of each cell: that of the detection at its largest pixel. */
  readonly cellConfidence: number[];
  /** Input of the next scan. */
  readonly history: DetectionHistory;
}

/**
 * Detections of one scan. Flags and counts use earlier scans only: a replay gives the same rows.
 * Companions are null where the product is missing or has no value; sizes above 150 mm are stored as 150.
 * `terrain`: beam blockage, which lowers the confidence behind mountains; null when unknown.
 */
export function findDetections(
  input: ScanInput,
  { labels, cells, matches }: FoundCells,
  history: DetectionHistory,
  terrain: Blockage | null,
): Detections {
  const { mesh: field, scan_time } = input;
  const known = prune(history, scan_time);
  const context: Context = {
    input,
    terrain,
    known,
    labels,
    unseen: unseenComponents(field, labels, confirmingScans(known, scan_time)),
    cellOf: cellOfPixel(field.tenths.length, cells),
    melting_km: meltingLevels(input, matches),
  };
  const detections: DetectionShape[] = [];
  const component_area_km2: number[] = [];
  const confidenceOf = new Map<number, number>();
  eachPixel(field, (row, i) => {
    if (field.tenths[i] < DETECTION_MIN_MM * 10) return;
    const detection = detectionAt(context, row, i);
    detections.push(detection);
    component_area_km2.push(labels.area_km2[labels.label[i]]);
    confidenceOf.set(i, detection.confidence);
  });
  return {
    detections,
    component_area_km2,
    cellConfidence: cells.map(({ peakIndex }) => confidenceOf.get(peakIndex) as number),
    history: append(known, scan_time, field, new Set(detections.map(({ geohash5 }) => geohash5))),
  };
}

interface Context {
  readonly input: ScanInput;
  readonly terrain: Blockage | null;
  readonly known: DetectionHistory;
  readonly labels: Labels;
  /** 1 for components without an echo nearby in the previous scans. */
  readonly unseen: Uint8Array;
  /** Cell of each pixel of the field, -1 outside any. */
  readonly cellOf: Int32Array;
  /** Melting level above the ground at each cell, km; null where unknown. */
  readonly melting_km: readonly (number | null)[];
}

function detectionAt({ input, terrain, known, labels, unseen, cellOf, melting_km }: Context, row: number, i: number) {
  const { mesh: field, scan_time, companions } = input;
  const col = field.col[i];
  const lat = rowLat(row);
  const lon = colLon(col);
  const geohash5 = geohash(lat, lon, 5);
  const tenths = field.tenths[i];
  const estimated_size_mm = Math.min(SIZE_CAP_MM, tenths / 10);
  const component = labels.label[i];
  const cell = cellOf[i];
  const quality = placeQuality(row, col, scan_time, terrain);
  const scan_count = (known.places[geohash5]?.length ?? 0) + 1;
  const companionValues = everyCompanion((name) => companionAt(companions, name, i));
  const few = labels.pixels[component] < SMALL_PIXELS;
  const flag_small = few && labels.max_tenths[component] < CELL_PEAK_MIN_MM * 10;
  const believed = labels.max_tenths[component] >= BELIEVED_MM * 10;
  const melting = (cell < 0 ? null : melting_km[cell]) ?? quality.freezing_above_ground_km;
  const confidence = detectionConfidence({
    mesh_mm: estimated_size_mm,
    scan_count,
    posh_pct: companionValues.posh_pct ?? poshOfShi(shiOfMesh(estimated_size_mm), melting),
    hdqi: quality.hdqi,
    small: flag_small,
    spike: few && believed && unseen[component] === 1,
  });
  return {
    scan_time,
    row,
    col,
    lat,
    lon,
    geohash5,
    estimated_size_mm,
    ml_predicted_size_mm: predictedSize(estimated_size_mm),
    confidence: Math.round(confidence * CONFIDENCE_STEPS) / CONFIDENCE_STEPS,
    scan_count,
    cell_index: cell < 0 ? null : cell,
    ...companionValues,
    flag_small,
    flag_single_scan: !believed && unseen[component] === 1,
    flag_extreme: tenths > EXTREME_MM * 10,
  };
}

function cellOfPixel(pixels: number, cells: readonly CellShape[]): Int32Array {
  const cellOf = new Int32Array(pixels).fill(-1);
  for (const { cell_index, pixelIndex } of cells) for (const pixel of pixelIndex) cellOf[pixel] = cell_index;
  return cellOf;
}

/**
 * 1 for each component without an echo near any of its pixels in the two previous scans.
 * All zero without an earlier scan.
 */
function unseenComponents(field: HailField, labels: Labels, earlier: ReturnType<typeof confirmingScans>): Uint8Array {
  const unseen = new Uint8Array(labels.count);
  if (earlier.length === 0) return unseen;
  unseen.fill(1);
  eachPixel(field, (row, i) => {
    const component = labels.label[i];
    if (component < 0 || unseen[component] === 0) return;
    if (earlier.some(({ pixels }) => anyNear(pixels, row, field.col[i], LASTING_REACH_PX))) unseen[component] = 0;
  });
  return unseen;
}

/** Melting level above the ground by ProbSevere for each cell, km; null when the scan has POSH, which then is used. */
function meltingLevels(input: ScanInput, matches: readonly (ObjectMatch | null)[]): (number | null)[] {
  return matches.map((match) => (input.companions.posh_pct ? null : (match?.object.melting_level_km ?? null)));
}

/** Reference size of the logistic, mm: hail from here on is "severe" in the definition of POSH. */
const SIZE_SCALE_MM = 19;
/** Scans beyond this many add nothing. */
const SCANS_FULL = 5;
/** Weights set by judgement, to be refitted once enough ground reports are published. */
const WEIGHTS = { base: -2.2, size: 1.1, scans: 0.9, posh: 0.8, quality: 0.7, small: -1, spike: -3 } as const;

interface Evidence {
  readonly mesh_mm: number;
  /** Distinct scans with a detection at the place in the last 30 minutes, this one included. */
  readonly scan_count: number;
  readonly posh_pct: number;
  /** Radar detection-quality index 0..1. */
  readonly hdqi: number;
  /** The echo is a component of a few weak pixels. */
  readonly small: boolean;
  /** The echo is a component of a few pixels >= 19 mm without an echo nearby in the previous scans: sun strobes, chaff, clutter. */
  readonly spike: boolean;
}

/** Confidence 0..1 that hail of about this size fell here. It rises with size, persistence, POSH and radar quality. */
export function detectionConfidence({ mesh_mm, scan_count, posh_pct, hdqi, small, spike }: Evidence): number {
  const score =
    WEIGHTS.base +
    WEIGHTS.size * Math.log(mesh_mm / SIZE_SCALE_MM) +
    (WEIGHTS.scans * Math.min(scan_count, SCANS_FULL)) / SCANS_FULL +
    (WEIGHTS.posh * posh_pct) / 100 +
    WEIGHTS.quality * hdqi +
    (small ? WEIGHTS.small : 0) +
    (spike ? WEIGHTS.spike : 0);
  return 1 / (1 + Math.exp(-score));
}
