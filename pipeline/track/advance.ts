import { LATTICE, type Window } from '../../schemas/geo/lattice.ts';
import type { Position } from '../../schemas/geo/position.ts';
import type { MotionSource, TrackState } from '../../schemas/tables/radar.ts';
import { MS_PER_DAY, MS_PER_MIN, scanId, utcDate } from '../../schemas/time.ts';
import { PipelineError } from '../error.ts';
import { equivalentRadius, MATURE_SCANS, type Prediction } from './gate.ts';
import { extendTrail, hindcasts, motionShare, type TrailStep } from './hindcast.ts';
import { branchMotion, centroidVariance, firstMotion, type Motion, predictMotion, updateMotion } from './kalman.ts';
import {
  growthRate,
  type LiveTrack,
  type LiveTracks,
  nextTrend,
  recentSizes,
  STEADY,
  type TrackPointShape,
  trendWord,
} from './live-tracks.ts';
import { type Matches, matchParts, PARTING_VELOCITY_SD_KM_MIN, strength } from './match.ts';
import { headingOf, type Mover, regionalVelocity, type Vector, velocityOf } from './motion.ts';
import { partitionCells } from './partition-cells.ts';
import { type CellPart, cellAtPixel, maskOf, type TrackCell } from './track-cell.ts';

/** Longest time that a track coasts through missing scans: ten minutes, and the half by which scans come early or late. */
const COAST_MAX_MIN = 10.5;
/** Longest time from one cell of a track to its next: two missed scans of five minutes. */
const UNSEEN_MAX_MIN = 15;
/** Consecutive scans without a cell that end a track; fewer merge it into the track that covers it. */
const MISSED_SCANS_MAX = 3;
const COVERED_SCANS_MAX = 2;
const NEW_VELOCITY_SD_KM_MIN = 25 / 60;
const UNKNOWN_VELOCITY_SD_KM_MIN = 60 / 60;
/** Spread of the motions of storms about that of the pattern: a supercell leaves the mean wind by 7.5 m/s (Bunkers et al. 2000). */
const PATTERN_SD_KM_MIN = 27 / 60;

/** Input of the tracker for one scan. */
interface TrackScan {
  readonly scan_time: number;
  readonly cells: readonly TrackCell[];
  /** Motion of the pattern around each cell, km/min; null, or all left out, while unknown. */
  readonly pattern_motions?: readonly (Vector | null)[];
  /** Indices of the cells that an edge cuts (`cutCells`); none when left out. */
  readonly cut?: ReadonlySet<number>;
}

/** Outcome of one scan: the live tracks for the next scan, the rows to publish by track_id, and the track of each cell. */
interface TrackStep {
  readonly live: LiveTracks;
  readonly points: TrackPointShape[];
  readonly trackOfCell: string[];
  /** Tracks that were continued by a change of shape: the displacement of their centroid is no motion. */
  readonly reshaped: ReadonlySet<string>;
}

/** Steering flow at a cell: the first velocity of a new track, and the reference for the speed of links. */
interface Flow {
  readonly velocity: Vector;
  readonly source: MotionSource;
  /** Motion of the pattern around the cell. */
  readonly pattern: Vector | null;
}

/** A track without a cell in a scan. */
interface Missed {
  readonly track: LiveTrack;
  readonly state: TrackState;
  readonly at: Position;
  readonly merged_into: string | null;
}

/**
 * Tracks after one more scan: predicted, matched to its cells, split, merged, opened and ended.
 *
 * Pure. Scans come in order of time; throws for a scan that is not after the last one. A track whose cell is missing
 * coasts for two arriving scans, or up to ten minutes without scans. At most one row per track and scan.
 * Sources: the constant-velocity filter of Rossi et al. 2015 (J. Atmos. Oceanic Technol. 32, 461-475), overlap and
 * assignment after Dixon & Wiener 1993 (J. Atmos. Oceanic Technol. 10, 785-797).
 */
export function advanceTracks(known: LiveTracks, scan: TrackScan): TrackStep {
  const { scan_time, cells } = scan;
  if (known.scan_time !== null && scan_time <= known.scan_time)
    throw new PipelineError(
      'track',
      scanId(scan_time),
      `the scan before is ${scanId(known.scan_time)}, expected an earlier one`,
    );

  const gap = (scan_time - (known.scan_time ?? scan_time)) / MS_PER_MIN;
  const all = known.tracks.map((track) => predictTrack(track, scan_time));
  const isLive = ({ minutes }: Prediction) => gap <= COAST_MAX_MIN && minutes <= UNSEEN_MAX_MIN;
  const live = all.filter(isLive);
  const lost = all.filter((prediction) => !isLive(prediction));
  const movers = live.flatMap(moverOf);
  const flows = cells.map((cell, index) => flowAt(cell, movers, scan.pattern_motions?.[index] ?? null));
  const owner = cellAtPixel(cells);
  const parts = partitionCells(
    cells,
    owner,
    live,
    flows.map((flow) => flow.velocity),
  );
  const flowOf = (part: CellPart) => flows[part.cell];
  const matches = matchParts(
    live,
    parts,
    parts.map((part) => flowOf(part).velocity),
  );

  const linked = parts.map((part, index) => {
    const at = matches.trackOfPart[index];
    const before: Prediction | undefined = live[at];
    if (before) return continueTrack(before, part, scan_time, flowOf(part), kindOf(matches, at, part, scan.cut));
    const parent: Prediction | undefined = live[matches.parentOfPart[index]];
    return openTrack(part, scan_time, flowOf(part), parent);
  });
  const past = hindcasts(known.trail, scan_time, owner);
  const seen = linked.map((track) => ({
    ...track,
    speed_kmh: track.speed_kmh && track.speed_kmh * motionShare(track, past),
  }));
  const missed = live.flatMap((prediction, index) =>
    matches.partOfTrack[index] === -1 ? [coastTrack(prediction, live[matches.mergedInto[index]])] : [],
  );

  const points = [
    ...seen.map((track, index) => pointOf(track, scan_time, 'tracked', parts[index].cell_index, track, null)),
    ...missed.map(({ track, state, at, merged_into }) => pointOf(track, scan_time, state, null, at, merged_into)),
    ...lost.map(({ track, motion }) => pointOf(track, scan_time, 'ended', null, motion, null)),
  ];
  const coasting = missed.filter(({ state }) => state === 'coasted').map(({ track }) => track);
  return {
    live: {
      scan_time,
      tracks: [...seen, ...coasting].sort(byId),
      trail: extendTrail(known.trail, scan_time, linked.flatMap(stepOf)),
    },
    points: points.sort(byId),
    trackOfCell: strongestByCell(parts, seen),
    reshaped: new Set(live.flatMap(({ track }, at) => (matches.reshaped[at] === 1 ? [track.track_id] : []))),
  };
}

/**
 * How a track is linked to its part. Only a straight link measures motion: the centroid jumps in a branch and a new shape, and
 * where storms cross the pixels cannot be assigned. Of a mature storm that an edge cuts, the centroid stays behind.
 */
type LinkKind = 'straight' | 'branch' | 'shape' | 'crossing' | 'cut';

function kindOf(matches: Matches, track: number, part: CellPart, cut: TrackScan['cut']): LinkKind {
  if (part.crossing) return 'crossing';
  if (matches.branched[track] === 1) return 'branch';
  if (cut?.has(part.cell)) return 'cut';
  return matches.reshaped[track] === 1 ? 'shape' : 'straight';
}

/** Track of each cell; where several tracks share a cell, the one with the largest area x size. */
function strongestByCell(parts: readonly CellPart[], seen: readonly LiveTrack[]): string[] {
  const owners: LiveTrack[] = [];
  parts.forEach(({ cell }, index) => {
    const track = seen[index];
    const owner: LiveTrack | undefined = owners[cell];
    if (!owner || strength(track) > strength(owner)) owners[cell] = track;
  });
  return owners.map((track) => track.track_id);
}

function byId(a: { readonly track_id: string }, b: { readonly track_id: string }): number {
  return a.track_id < b.track_id ? -1 : Number(a.track_id > b.track_id);
}

/** A track predicted to the time of a scan, at most UNSEEN_MAX_MIN ahead. */
function predictTrack(track: LiveTrack, scan_time: number): Prediction {
  const minutes = (scan_time - track.last_seen) / MS_PER_MIN;
  const motion = predictMotion(track.motion, Math.min(minutes, UNSEEN_MAX_MIN));
  return {
    track,
    minutes,
    motion,
    rows_south: Math.round((track.motion.lat - motion.lat) / LATTICE.step),
    cols_east: Math.round((motion.lon - track.motion.lon) / LATTICE.step),
  };
}

/** A mature track as it moves. */
function moverOf({ track, motion }: Prediction): Mover[] {
  const velocity = { east: motion.east_km_min, north: motion.north_km_min };
  return track.scan_count < MATURE_SCANS ? [] : [{ lat: motion.lat, lon: motion.lon, velocity }];
}

function flowAt(cell: TrackCell, movers: readonly Mover[], pattern: Vector | null): Flow {
  const regional = regionalVelocity({ lat: cell.centroid_lat, lon: cell.centroid_lon }, movers);
  if (regional) return { velocity: regional, source: 'neighbours', pattern };
  if (cell.motion_hint) return { velocity: velocityOf(cell.motion_hint), source: 'probsevere', pattern };
  if (pattern) return { velocity: pattern, source: 'grid_shift', pattern };
  return { velocity: { east: 0, north: 0 }, source: 'none', pattern };
}

/** Columns of a track that come from its cell in this scan alone. */
function lastCell(cell: TrackCell) {
  const { lat, lon, centroid_lat, centroid_lon, area_km2, estimated_size_mm } = cell;
  return { lat, lon, centroid_lat, centroid_lon, area_km2, estimated_size_mm, mask: maskOf(cell.rows, cell.cols) };
}

/**
 * Published speed and direction: from the third scan on the track's own, drawn to that of the pattern by the variances of both;
 * before that the pattern's, else the flow around it.
 */
function publishedMotion({ east_km_min: east, north_km_min: north, vv }: Motion, scan_count: number, flow: Flow) {
  const { velocity, source, pattern } = flow;
  if (scan_count >= MATURE_SCANS) {
    const to = pattern ?? { east, north };
    const weight = vv / (vv + PATTERN_SD_KM_MIN ** 2);
    const drawn = { east: east + weight * (to.east - east), north: north + weight * (to.north - north) };
    return { ...headingOf(drawn), motion_source: 'track' } as const;
  }
  if (pattern) return { ...headingOf(pattern), motion_source: 'grid_shift' } as const;
  if (source === 'none') return { speed_kmh: null, direction_deg: null, motion_source: source } as const;
  return { ...headingOf(velocity), motion_source: source };
}

/** A track of a scan as a later one judges its motion, before it is shrunk. */
function stepOf({ lat, lon, last_seen, mask, speed_kmh, direction_deg }: LiveTrack): TrailStep[] {
  if (speed_kmh === null || direction_deg === null) return [];
  return [{ scan_time: last_seen, lat, lon, velocity: velocityOf({ speed_kmh, direction_deg }), mask }];
}

function openTrack(cell: CellPart, scan_time: number, flow: Flow, parent: Prediction | undefined): LiveTrack {
  const variance_km2 = centroidVariance(equivalentRadius(cell.area_km2));
  const at = { lat: cell.centroid_lat, lon: cell.centroid_lon };
  const velocity_sd = flow.source === 'none' ? UNKNOWN_VELOCITY_SD_KM_MIN : NEW_VELOCITY_SD_KM_MIN;
  const motion = parent
    ? branchMotion(parent.motion, at, variance_km2, PARTING_VELOCITY_SD_KM_MIN)
    : firstMotion(at, variance_km2, flow.velocity, velocity_sd);
  return {
    track_id: trackId(scan_time, cell.cell_index, cell.part),
    parent_track_id: parent?.track.track_id ?? null,
    first_detected: scan_time,
    last_seen: scan_time,
    missed_scans: 0,
    scan_count: 1,
    settled_scans: 1,
    motion,
    ...lastCell(cell),
    peak_area_km2: cell.area_km2,
    peak_estimated_size_mm: cell.estimated_size_mm,
    sizes: [{ scan_time, size_mm: cell.estimated_size_mm }],
    trend: STEADY,
    size_growth_rate_mm_per_min: null,
    ...publishedMotion(motion, 1, flow),
  };
}

function continueTrack(
  { track, motion }: Prediction,
  cell: TrackCell,
  scan_time: number,
  flow: Flow,
  kind: LinkKind,
): LiveTrack {
  const at = { lat: cell.centroid_lat, lon: cell.centroid_lon };
  const variance_km2 = centroidVariance(equivalentRadius(cell.area_km2));
  const corrected = correctedMotion(kind, track, motion, at, variance_km2);
  const scan_count = track.scan_count + 1;
  const sizes = [...recentSizes(track.sizes, scan_time), { scan_time, size_mm: cell.estimated_size_mm }];
  const growth = growthRate(sizes);
  return {
    ...track,
    last_seen: scan_time,
    missed_scans: 0,
    scan_count,
    settled_scans: kind === 'branch' ? 1 : track.settled_scans + 1,
    motion: corrected,
    ...lastCell(cell),
    peak_area_km2: Math.max(track.peak_area_km2, cell.area_km2),
    peak_estimated_size_mm: Math.max(track.peak_estimated_size_mm, cell.estimated_size_mm),
    sizes,
    trend: nextTrend(track.trend, trendWord(growth, cell.estimated_size_mm)),
    size_growth_rate_mm_per_min: growth,
    ...publishedMotion(corrected, scan_count, flow),
  };
}

/**
 * The predicted state, corrected by a link. A crossing storm keeps its velocity and covariance; so does a mature one that an edge
 * cuts, from the centroid of its remaining part.
 */
function correctedMotion(
  kind: LinkKind,
  track: LiveTrack,
  predicted: Motion,
  at: Position,
  variance_km2: number,
): Motion {
  const { pp, pv, vv } = track.motion;
  if (kind === 'crossing') return { ...predicted, pp, pv, vv };
  if (kind === 'cut' && track.scan_count >= MATURE_SCANS) return { ...predicted, lat: at.lat, lon: at.lon, pp, pv, vv };
  if (kind === 'straight' || kind === 'cut') return updateMotion(predicted, at, variance_km2);
  return branchMotion(predicted, at, variance_km2, PARTING_VELOCITY_SD_KM_MIN);
}

/**
 * State and predicted position of a track without a part in this scan. It coasts in its first such scan, also when another
 * track's part covers it: cores that touch often separate again in the next scan. Where nothing covers it, it coasts in its
 * second one, too: storms dip below the threshold.
 */
function coastTrack({ track, motion }: Prediction, survivor: Prediction | undefined): Missed {
  const missed = { ...track, missed_scans: track.missed_scans + 1 };
  if (missed.missed_scans < (survivor ? COVERED_SCANS_MAX : MISSED_SCANS_MAX))
    return { track: missed, state: 'coasted', at: motion, merged_into: null };
  if (survivor) return { track: missed, state: 'merged', at: motion, merged_into: survivor.track.track_id };
  return { track: missed, state: 'ended', at: motion, merged_into: null };
}

function pointOf(
  track: LiveTrack,
  scan_time: number,
  state: TrackState,
  cell_index: number | null,
  at: Position,
  merged_into: string | null,
): TrackPointShape {
  return {
    scan_time,
    track_id: track.track_id,
    state,
    cell_index,
    lat: at.lat,
    lon: at.lon,
    speed_kmh: track.speed_kmh,
    direction_deg: track.direction_deg,
    motion_source: track.motion_source,
    estimated_size_mm: track.estimated_size_mm,
    trend: track.trend.word,
    size_growth_rate_mm_per_min: track.size_growth_rate_mm_per_min,
    area_km2: track.area_km2,
    scan_count: track.scan_count,
    first_detected: track.first_detected,
    duration_min: (track.last_seen - track.first_detected) / MS_PER_MIN,
    peak_estimated_size_mm: track.peak_estimated_size_mm,
    peak_area_km2: track.peak_area_km2,
    parent_track_id: track.parent_track_id,
    merged_into,
  };
}

const MASK_64 = (1n << 64n) - 1n;

/** Bijective hash of 64-bit numbers: one step of SplitMix64 (Steele et al. 2014). */
function mix64(value: bigint): bigint {
  let z = (value + 0x9e3779b97f4a7c15n) & MASK_64;
  z = ((z ^ (z >> 30n)) * 0xbf58476d1ce4e5b9n) & MASK_64;
  z = ((z ^ (z >> 27n)) * 0x94d049bb133111ebn) & MASK_64;
  return z ^ (z >> 31n);
}

/**
 * Identifier of the track that starts with a cell, or with a part of one that several tracks share: UTC date of its
 * first scan and a base36 hash of the scan's time of day, the cell's index and the part's number, for example
 * `20190610-2h9x0c1k4m7pq`. It depends on no later scan and on no setting. Different tracks never share an id: the hash is
 * bijective up to a million cells per scan.
 */
export function trackId(first_scan_time: number, first_cell_index: number, part = 0): string {
  const time_of_day = BigInt(first_scan_time % MS_PER_DAY);
  const hash = mix64((time_of_day << 36n) | (BigInt(first_cell_index) << 16n) | BigInt(part));
  return `${utcDate(first_scan_time).replaceAll('-', '')}-${hash.toString(36)}`;
}

/** A rectangle of the lattice that no radar covered. */
interface Unseen {
  readonly row_first: number;
  readonly row_last: number;
  readonly col_first: number;
  readonly col_last: number;
}

/**
 * Indices of the cells that the edge of the grid or of radar coverage cuts: a neighbour of one of their pixels was not observed. Such a
 * cell may continue there, so its centroid stays behind when it leaves.
 */
export function cutCells(cells: readonly TrackCell[], window: Window, unseen: readonly Unseen[]): Set<number> {
  const last_row = window.row0 + window.rows - 1;
  const last_col = window.col0 + window.cols - 1;
  const cut = new Set<number>();
  cells.forEach(({ rows, cols }, index) => {
    const near = unseen.filter((patch) => {
      const [first, last] = [rows[0], rows[rows.length - 1]];
      return patch.row_first <= last + 1 && patch.row_last >= first - 1;
    });
    const isCut = rows.some((row, i) => {
      const col = cols[i];
      if (row === window.row0 || row === last_row || col === window.col0 || col === last_col) return true;
      return near.some(
        (patch) =>
          row >= patch.row_first - 1 &&
          row <= patch.row_last + 1 &&
          col >= patch.col_first - 1 &&
          col <= patch.col_last + 1,
      );
    });
    if (isCut) cut.add(index);
  });
  return cut;
}
