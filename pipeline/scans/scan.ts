import type { Blockage } from '../../schemas/geo/blockage.ts';
import { LATTICE, windowBbox } from '../../schemas/geo/lattice.ts';
import { SIZE_CAP_MM } from '../../schemas/size.ts';
import type { Cell, Detection, TrackPoint } from '../../schemas/tables/radar.ts';
import { scanId } from '../../schemas/time.ts';
import { findCells, trackedCells } from '../detect/cells.ts';
import { findDetections } from '../detect/detections.ts';
import { echoField } from '../detect/history.ts';
import { labelHail } from '../detect/label.ts';
import { cellHistory, cellPredictors, cellProbability } from '../detect/predict.ts';
import { matchObjects } from '../detect/probsevere.ts';
import { cellRows, detectionRows, trackProbabilities } from '../detect/table-rows.ts';
import type { ScanInput } from '../grid.ts';
import type { FrameShape, ScanProducts, UncoveredPatch } from '../publish/segment.ts';
import type { ScanOfDay } from '../swath/accumulate.ts';
import { advectBetween } from '../swath/advect-between.ts';
import { drawScanTiles } from '../tiles/scan-tiles.ts';
import { advanceTracks, cutCells } from '../track/advance.ts';
import { motionsSince } from '../track/live-tracks.ts';
import { patternMotions } from '../track/pattern-motion.ts';
import type { TrackingState } from './state.ts';

/** Inputs of a scan besides its files and the scans before it. */
interface ScanContext {
  readonly storm_date: string;
  /** Fingerprint of the raw files. */
  readonly inputs: string;
  /** Terrain blockage of the radar beams; null without a terrain model. */
  readonly terrain: Blockage | null;
}

/** Everything that follows from a scan. */
export interface ScanResult {
  readonly products: ScanProducts;
  /** Contribution to the maximum of the day (`updateDayMaximum`). */
  readonly ofDay: ScanOfDay;
  /** State that the next scan starts from. */
  readonly state: TrackingState;
}

/**
 * Products of one scan, top to bottom. `input`: its decoded raw files (read/scan.ts); `before`: state after the scan
 * before. Pure: the same arguments give the same products and the same state.
 * Throws BadInput when the scan holds more storm cells than any weather has.
 */
export function processScan(input: ScanInput, before: TrackingState, context: ScanContext): ScanResult {
  const { scan_time, mesh } = input;
  const { storm_date } = context;

  // Detect: connected pixels become storm cells, pixels of hail become detections; each cell finds its ProbSevere object.
  const labels = labelHail(mesh);
  const shapes = findCells(input, labels);
  const matches = matchObjects(mesh, shapes, input.probsevere ?? [], scan_time);
  const found = findDetections(input, { labels, cells: shapes, matches }, before.detect, context.terrain);

  // Track: the live tracks move on and take the cells.
  const tracked = trackedCells(mesh, shapes, matches);
  const scans = found.history.scans.map(echoField);
  const unseen = uncoveredPatches(input);
  const step = advanceTracks(before.tracks, {
    scan_time,
    cells: tracked,
    cut: cutCells(tracked, mesh.window, unseen ?? []),
    pattern_motions: patternMotions(scans, tracked),
  });

  // Probabilities: of each cell from its values and its past, of each track from its cell.
  const points = new Map(step.points.map((point) => [point.track_id, point]));
  const hail = shapes.map((shape, index) => {
    const history = cellHistory(points.get(step.trackOfCell[index] ?? ''));
    return cellProbability(cellPredictors(shape, scan_time, history), matches[index] ?? null);
  });
  const probabilities = trackProbabilities(step.points, before.probabilities, hail, found.cellConfidence);

  // Rows of the tables.
  const cells = cellRows(
    shapes,
    { matches, confidences: found.cellConfidence, track_ids: step.trackOfCell, probabilities: hail },
    scan_time,
    storm_date,
  );
  const detections = detectionRows(found, cells, storm_date);
  const tracks = step.points.map((point) => ({ ...point, storm_date, ...probabilities[point.track_id] }));
  const probsevere = (input.probsevere ?? []).map((object) => ({ ...object, storm_date, scan_time }));

  // Day maximum: the scan, and the pixels its storms passed over since a scan more than 4 minutes before.
  const motions = motionsSince(before.tracks, step.points);
  const previous = scans.at(-2);
  const filled = previous ? advectBetween(previous, input, motions) : [];

  // Tiles: the scan as a map.
  const archive = drawScanTiles({
    scan_time,
    mesh,
    cells,
    tracks,
    uncovered: input.uncovered,
    provenance: input.simulated ? 'simulated' : 'observed',
    bounds: windowBbox(mesh.window),
  });

  return {
    products: {
      scan_time,
      storm_date,
      simulated: input.simulated,
      inputs: context.inputs,
      detections,
      cells,
      tracks,
      probsevere,
      uncovered: unseen,
      archive,
      frame: frameRow(input, storm_date, { detections, cells, tracks }),
    },
    ofDay: { scan_time, mesh, companions: input.companions, detections, filled },
    state: {
      scan_time,
      detect: found.history,
      tracks: step.live,
      probabilities: Object.fromEntries(step.live.tracks.map(({ track_id }) => [track_id, probabilities[track_id]])),
    },
  };
}

/** Summary of a scan in one row: coverage, counts, and storms, largest first. */
function frameRow(
  input: ScanInput,
  storm_date: string,
  rows: {
    readonly detections: readonly Detection[];
    readonly cells: readonly Cell[];
    readonly tracks: readonly TrackPoint[];
  },
): FrameShape {
  const { mesh } = input;
  const [grid_west, grid_south, grid_east, grid_north] = windowBbox(mesh.window);
  const largest = mesh.tenths.reduce((max, tenths) => Math.max(max, tenths), 0);
  return {
    storm_date,
    scan_time: input.scan_time,
    scan_id: scanId(input.scan_time),
    max_size_mm: largest === 0 ? null : Math.min(SIZE_CAP_MM, largest / 10),
    max_prob: rows.cells.length === 0 ? null : Math.max(...rows.cells.map((cell) => cell.ml_probability)),
    detections: rows.detections.length,
    cells: rows.cells.length,
    storms: JSON.stringify(storms(rows.tracks)),
    covered_px: mesh.covered_px,
    uncovered_px: mesh.uncovered_px,
    uncovered_blocks: input.uncovered?.runs.reduce((sum, [, start, end]) => sum + end - start, 0) ?? null,
    grid_west,
    grid_south,
    grid_east,
    grid_north,
    products: input.products.join(','),
    simulated: input.simulated,
  };
}

/** Tracks with a cell in this scan and an earlier one, largest first. */
function storms(tracks: readonly TrackPoint[]) {
  return tracks
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
}

function round(value: number, decimals: number): number {
  return Math.round(value * 10 ** decimals) / 10 ** decimals;
}

/** Blocks of the grid of a scan without radar coverage; null when unknown. */
function uncoveredPatches({ mesh: { window }, uncovered }: ScanInput): UncoveredPatch[] | null {
  if (uncovered === null) return null;
  const block_px = Math.round(uncovered.step_deg / LATTICE.step);
  const [last_row, last_col] = [window.row0 + window.rows - 1, window.col0 + window.cols - 1];
  return uncovered.runs.map(([row, start, end]) => ({
    row_first: window.row0 + row * block_px,
    // The last block of a grid may be partial.
    row_last: Math.min(last_row, window.row0 + (row + 1) * block_px - 1),
    col_first: window.col0 + start * block_px,
    col_last: Math.min(last_col, window.col0 + end * block_px - 1),
  }));
}
