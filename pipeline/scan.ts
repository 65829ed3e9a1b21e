import { gunzipSync, gzipSync } from 'node:zlib';
import type { Blockage } from '../schemas/geo/blockage.ts';
import { windowBbox } from '../schemas/geo/lattice.ts';
import { CELL_GROW_MM, SIZE_CAP_MM } from '../schemas/size.ts';
import type { Cell } from '../schemas/tables/cells.ts';
import type { Detection } from '../schemas/tables/detections.ts';
import type { TrackPoint } from '../schemas/tables/tracks.ts';
import { scanId } from '../schemas/time.ts';
import { type CellShape, findCells } from './detect/cells.ts';
import { type DetectionShape, findDetections } from './detect/detections.ts';
import { type DetectMemory, emptyDetectMemory } from './detect/memory.ts';
import { cellProbability, type HailProbability, hailProbability, predictedSize } from './detect/predict.ts';
import { cellPredictors, detectionPredictors } from './detect/predictors.ts';
import { matchObjects, type ObjectMatch } from './detect/probsevere.ts';
import type { HailField, ScanInput } from './grid.ts';
import type { ScanProducts } from './publish/segment.ts';
import { type DayMaximum, fillMaximum, raiseMaximum } from './swath/accumulate.ts';
import { fillBetween, type StormMotion } from './swath/fill.ts';
import { frameArchive } from './tiles/frame.ts';
import { advanceTracks, type TrackStep } from './track/advance.ts';
import { gridShift } from './track/grid-shift.ts';
import { emptyTrackMemory, type TrackMemory, type TrackPointShape } from './track/memory.ts';

const MS_PER_MIN = 60_000;

/** Pixels >= 5 mm of a scan, as plain numbers. */
interface Echo {
  readonly scan_time: number;
  readonly window: HailField['window'];
  readonly rows: readonly number[];
  readonly cols: readonly number[];
  readonly tenths: readonly number[];
}

/** What a track was last judged to be. */
interface Judged {
  readonly ml_probability: number;
  readonly confidence: number;
  readonly peak_ml_probability: number;
}

/** All that the next scan needs of the ones before: the checkpoint. Plain data, equal to itself after a trip through JSON. */
export interface Memory {
  readonly scan_time: number | null;
  readonly detect: DetectMemory;
  readonly tracks: TrackMemory;
  readonly judged: Readonly<Record<string, Judged>>;
  readonly echo: Echo | null;
}

export const emptyMemory: Memory = {
  scan_time: null,
  detect: emptyDetectMemory,
  tracks: emptyTrackMemory,
  judged: {},
  echo: null,
};

/** A scan's products, the memory after it, and the ways its storms took since the scan before. */
export interface ScanResult {
  readonly products: ScanProducts;
  readonly memory: Memory;
  readonly motions: readonly StormMotion[];
}

/**
 * One scan, told top to bottom: cells and detections, tracks, probabilities, rows, picture.
 * Pure: the same input, memory, date and terrain give the same products and memory. `inputs` is the fingerprint of the raw
 * files, `terrain` what is known of beams that terrain blocks.
 */
export function processScan(
  input: ScanInput,
  before: Memory,
  storm_date: string,
  inputs: string,
  terrain: Blockage | null,
): ScanResult {
  const shapes = findCells(input);
  const found = findDetections(input, shapes, before.detect, terrain);
  const matches = matchObjects(input.mesh, shapes, input.probsevere ?? [], input.scan_time);
  const step = track(input, shapes, matches, before);
  const points = new Map(step.points.map((point) => [point.track_id, point]));
  const pointOf = shapes.map((_, index) => points.get(step.trackOfCell[index] ?? '') ?? null);
  const probabilities = shapes.map((shape, index) =>
    cellProbability(cellPredictors(shape, input.scan_time, life(pointOf[index] ?? null)), matches[index] ?? null),
  );
  const judged = judge(step, before, probabilities, found.cellConfidence);

  const cells = shapes.map((shape, index): Cell => {
    const { probability, model_version, out_of_range } = probabilities[index] as HailProbability;
    const { pixelIndex: _, peakIndex: __, ...columns } = shape;
    return {
      ...columns,
      storm_date,
      scan_time: input.scan_time,
      track_id: step.trackOfCell[index] ?? null,
      ml_predicted_size_mm: predictedSize(shape.estimated_size_mm),
      ml_probability: probability,
      model_version,
      probsevere_id: matches[index]?.probsevere_id ?? null,
      confidence: found.cellConfidence[index],
      flag_out_of_range: out_of_range,
    };
  });
  const detections = found.detections.map(
    (detection, index): Detection => completeDetection(detection, found.component_area_km2[index], cells, storm_date),
  );
  const tracks = step.points.map(
    (point): TrackPoint => ({ ...point, storm_date, ...(judged[point.track_id] as Judged) }),
  );
  const probsevere = (input.probsevere ?? []).map((object) => ({ ...object, storm_date, scan_time: input.scan_time }));
  return {
    products: {
      scan_time: input.scan_time,
      storm_date,
      simulated: input.simulated,
      inputs,
      detections,
      cells,
      tracks,
      probsevere,
      frame: frameRow(input, storm_date, detections, cells, tracks),
      archive: frameArchive({
        scan_time: input.scan_time,
        mesh: input.mesh,
        cells,
        tracks,
        source: input.simulated ? 'simulated' : 'observed',
        bounds: windowBbox(input.mesh.window),
        uncovered: input.uncovered,
      }),
    },
    memory: {
      scan_time: input.scan_time,
      detect: found.memory,
      tracks: step.memory,
      judged: Object.fromEntries(step.memory.tracks.map(({ track_id }) => [track_id, judged[track_id] as Judged])),
      echo: echoOf(input),
    },
    motions: motionsSince(before, step.points),
  };
}

/** Raises the day maximum by a scan, and fills in what its storms passed over since a scan more than 4 minutes before. */
export function raiseByScan(maximum: DayMaximum, input: ScanInput, result: ScanResult, before: Memory): void {
  raiseMaximum(maximum, { ...input, detections: result.products.detections });
  if (before.echo === null) return;
  const previous = { scan_time: before.echo.scan_time, mesh: fieldOf(before.echo) };
  fillMaximum(maximum, fillBetween(previous, { scan_time: input.scan_time, mesh: input.mesh }, result.motions));
}

/** The checkpoint as bytes: the same memory gives the same bytes. */
export function packMemory(memory: Memory): Uint8Array {
  return gzipSync(JSON.stringify(memory), { level: 1 });
}

/** The memory of a checkpoint. */
export function unpackMemory(bytes: Uint8Array): Memory {
  return JSON.parse(gunzipSync(bytes).toString('utf8')) as Memory;
}

function track(
  input: ScanInput,
  shapes: readonly CellShape[],
  matches: readonly (ObjectMatch | null)[],
  before: Memory,
): TrackStep {
  return advanceTracks(before.tracks, {
    scan_time: input.scan_time,
    cells: shapes.map((shape, index) => ({
      cell_index: shape.cell_index,
      lat: shape.lat,
      lon: shape.lon,
      centroid_lat: shape.centroid_lat,
      centroid_lon: shape.centroid_lon,
      area_km2: shape.area_km2,
      estimated_size_mm: shape.estimated_size_mm,
      ...pixelsOf(input.mesh, shape),
      motion_hint: motionHint(matches[index] ?? null),
    })),
    grid_shift:
      before.echo === null
        ? null
        : gridShift(fieldOf(before.echo), input.mesh, (input.scan_time - before.echo.scan_time) / MS_PER_MIN),
  });
}

function pixelsOf(mesh: HailField, shape: CellShape): { rows: Uint16Array; cols: Uint16Array; tenths: Uint16Array } {
  const rows = new Uint16Array(shape.pixelIndex.length);
  const cols = new Uint16Array(shape.pixelIndex.length);
  const tenths = new Uint16Array(shape.pixelIndex.length);
  let row = shape.row_min;
  shape.pixelIndex.forEach((pixel, index) => {
    while (pixel >= mesh.rowStart[row - mesh.window.row0 + 1]) row++;
    rows[index] = row;
    cols[index] = mesh.col[pixel];
    tenths[index] = mesh.tenths[pixel];
  });
  return { rows, cols, tenths };
}

function motionHint(match: ObjectMatch | null) {
  if (match === null || match.object.flag_stale) return null;
  const { speed_kmh, direction_deg } = match.object;
  return speed_kmh === null || direction_deg === null ? null : { speed_kmh, direction_deg };
}

function life(point: TrackPointShape | null) {
  return {
    growth_mm_per_min: point?.size_growth_rate_mm_per_min ?? null,
    duration_min: point?.duration_min ?? null,
  };
}

/** What every live track is judged to be after this scan; tracks without a cell keep their last judgement. */
function judge(
  step: TrackStep,
  before: Memory,
  probabilities: readonly HailProbability[],
  confidences: readonly number[],
): Record<string, Judged> {
  const judged: Record<string, Judged> = {};
  for (const { track_id, cell_index } of step.points) {
    const last = before.judged[track_id];
    if (cell_index === null) {
      judged[track_id] = last as Judged;
      continue;
    }
    const ml_probability = (probabilities[cell_index] as HailProbability).probability;
    judged[track_id] = {
      ml_probability,
      confidence: confidences[cell_index],
      peak_ml_probability: Math.max(ml_probability, last?.peak_ml_probability ?? 0),
    };
  }
  return judged;
}

function completeDetection(
  detection: DetectionShape,
  component_area_km2: number,
  cells: readonly Cell[],
  storm_date: string,
): Detection {
  const cell = detection.cell_index === null ? null : (cells[detection.cell_index] as Cell);
  return {
    ...detection,
    storm_date,
    track_id: cell?.track_id ?? null,
    ml_probability:
      cell?.ml_probability ?? hailProbability(detectionPredictors(detection, component_area_km2)).probability,
  };
}

function frameRow(
  input: ScanInput,
  storm_date: string,
  detections: readonly Detection[],
  cells: readonly Cell[],
  tracks: readonly TrackPoint[],
): ScanProducts['frame'] {
  const { mesh } = input;
  const [grid_west, grid_south, grid_east, grid_north] = windowBbox(mesh.window);
  const largest = mesh.tenths.reduce((max, tenths) => Math.max(max, tenths), 0);
  const storms = tracks
    .filter((point) => point.state === 'tracked' && point.scan_count > 1)
    .sort((a, b) => b.estimated_size_mm - a.estimated_size_mm || (a.track_id < b.track_id ? -1 : 1))
    .map(({ lat, lon, estimated_size_mm: mm, track_id, speed_kmh, direction_deg }) => ({
      lat: round(lat, 5),
      lon: round(lon, 5),
      mm,
      track_id,
      speed_kmh: speed_kmh === null ? null : round(speed_kmh, 1),
      direction_deg: direction_deg === null ? null : round(direction_deg, 0),
    }));
  return {
    storm_date,
    scan_time: input.scan_time,
    scan_id: scanId(input.scan_time),
    max_size_mm: largest === 0 ? null : Math.min(SIZE_CAP_MM, largest / 10),
    max_prob: cells.length === 0 ? null : Math.max(...cells.map((cell) => cell.ml_probability)),
    detections: detections.length,
    cells: cells.length,
    storms: JSON.stringify(storms),
    covered_px: mesh.covered_px,
    uncovered_px: mesh.uncovered_px,
    grid_west,
    grid_south,
    grid_east,
    grid_north,
    products: input.products.join(','),
    simulated: input.simulated,
  };
}

function round(value: number, decimals: number): number {
  return Math.round(value * 10 ** decimals) / 10 ** decimals;
}

/** From where to where the tracked storms went since the scan before. */
function motionsSince(before: Memory, points: readonly TrackPointShape[]): StormMotion[] {
  const last = new Map(before.tracks.tracks.map((live) => [live.track_id, live]));
  return points.flatMap((point) => {
    const from = last.get(point.track_id);
    if (point.state !== 'tracked' || from === undefined || from.last_seen !== before.scan_time) return [];
    return { from: { lat: from.lat, lon: from.lon }, to: { lat: point.lat, lon: point.lon } };
  });
}

function echoOf({ scan_time, mesh }: ScanInput): Echo {
  const rows: number[] = [];
  const cols: number[] = [];
  const tenths: number[] = [];
  for (let r = 0; r < mesh.window.rows; r++) {
    for (let i = mesh.rowStart[r]; i < mesh.rowStart[r + 1]; i++) {
      if (mesh.tenths[i] < CELL_GROW_MM * 10) continue;
      rows.push(mesh.window.row0 + r);
      cols.push(mesh.col[i]);
      tenths.push(mesh.tenths[i]);
    }
  }
  return { scan_time, window: mesh.window, rows, cols, tenths };
}

function fieldOf({ window, rows, cols, tenths }: Echo): HailField {
  const rowStart = new Uint32Array(window.rows + 1);
  for (const row of rows) rowStart[row - window.row0 + 1]++;
  for (let r = 0; r < window.rows; r++) rowStart[r + 1] = rowStart[r + 1] + rowStart[r];
  return {
    window,
    rowStart,
    col: Uint16Array.from(cols),
    tenths: Uint16Array.from(tenths),
    covered_px: 0,
    uncovered_px: 0,
  };
}
