import type { Blockage } from '../../schemas/geo/blockage.ts';
import { windowBbox } from '../../schemas/geo/lattice.ts';
import { MS_PER_MIN } from '../../schemas/time.ts';
import { findCells, trackedCells } from '../detect/cells.ts';
import { findDetections } from '../detect/detections.ts';
import { labelHail } from '../detect/label.ts';
import { cellHistory, cellPredictors, cellProbability } from '../detect/predict.ts';
import { matchObjects } from '../detect/probsevere.ts';
import { cellRows, detectionRows, trackProbabilities } from '../detect/table-rows.ts';
import type { ScanInput } from '../grid.ts';
import type { ScanProducts } from '../publish/segment.ts';
import type { ScanOfDay } from '../swath/accumulate.ts';
import { advectBetween } from '../swath/advect-between.ts';
import { drawScanTiles } from '../tiles/scan-tiles.ts';
import { advanceTracks, cutCells } from '../track/advance.ts';
import { motionsSince } from '../track/live-tracks.ts';
import { patternMotion } from '../track/pattern-motion.ts';
import { frameRow, uncoveredPatches } from './frame-row.ts';
import { previousField, type TrackingState, toPreviousScan } from './state.ts';

/** Inputs of a scan besides its files and the scans before it. */
export interface ScanContext {
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
  const previous = before.previousScan && {
    scan_time: before.previousScan.scan_time,
    mesh: previousField(before.previousScan),
  };

  // Detect: connected pixels become storm cells, pixels of hail become detections; each cell finds its ProbSevere object.
  const labels = labelHail(mesh);
  const shapes = findCells(input, labels);
  const matches = matchObjects(mesh, shapes, input.probsevere ?? [], scan_time);
  const found = findDetections(input, { labels, cells: shapes, matches }, before.detect, context.terrain);

  // Track: the live tracks move on and take the cells.
  const tracked = trackedCells(mesh, shapes, matches);
  const unseen = uncoveredPatches(input);
  const step = advanceTracks(before.tracks, {
    scan_time,
    cells: tracked,
    cut: cutCells(tracked, mesh.window, unseen ?? []),
    pattern_motion: previous && patternMotion(previous.mesh, mesh, (scan_time - previous.scan_time) / MS_PER_MIN),
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
      previousScan: toPreviousScan(input),
    },
  };
}
