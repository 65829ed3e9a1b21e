import type { Lattice } from '../../schemas/geo/lattice.ts';
import type { Provenance } from '../../schemas/provenance.ts';
import { NOWCAST_LEADS } from '../../schemas/resources/nowcast.ts';
import type { Detection, TrackPoint } from '../../schemas/tables/radar.ts';
import type { Score } from '../../schemas/tables/scores.ts';
import { MS_PER_MIN } from '../../schemas/time.ts';
import { offsetKm, type Vector } from '../track/local-plane.ts';
import { maskOf } from '../track/mask.ts';
import { median } from '../track/median.ts';
import { headingOf, velocityOf } from '../track/motion.ts';
import { csi, type ObjectFrame, type Overlap, overlapAt, swathOverlapAt } from '../track/overlap.ts';
import { trackScores } from '../track/scores.ts';
import { nowcastBrier } from './nowcast-brier.ts';

/** Leads of the tracking scores, as in published comparisons, and of the nowcast. */
const TRACKING_LEADS_MIN = [4, 8, 14, 20];
const NOWCAST_LEADS_MIN = NOWCAST_LEADS.map(({ minutes }) => minutes);
/** Thresholds of the objects whose overlap is scored, and of the hail of the nowcast. */
const OBJECT_MM = 10;
const NOWCAST_MM = 19;
/** A position verifies a lead when it is at most this far from it. */
const LEAD_TOLERANCE_MS = MS_PER_MIN;
/** Fewest scans of a track and shortest displacement that have a direction score. */
const DIRECTION_SCANS_MIN = 6;
const DIRECTION_DISTANCE_MIN_KM = 5;

/** Published data of a storm date: its scans in order, the rows of its tracks, and its detections. */
export interface ScoredDay {
  readonly storm_date: string;
  readonly source: Provenance;
  readonly lattice: Lattice;
  readonly scan_times: readonly number[];
  readonly tracks: readonly TrackPoint[];
  readonly detections: readonly Pick<
    Detection,
    'scan_time' | 'row' | 'col' | 'lat' | 'lon' | 'estimated_size_mm' | 'cell_index' | 'track_id'
  >[];
}

/** Scores of a storm date from its published data alone; a score without cases has no row. */
export function dayScores(day: ScoredDay): Score[] {
  return [...trackingScores(day), ...nowcastScores(day)]
    .filter(({ n }) => n > 0)
    .map((score) => ({ storm_date: day.storm_date, ...score, data_source: day.source }));
}

type Found = Omit<Score, 'storm_date' | 'data_source'>;

function trackingScores(day: ScoredDay): Found[] {
  const tracked = day.tracks.filter(({ state }) => state === 'tracked');
  const { scored_tracks, rmse_median_km, long_tracks, long_duration_median_min } = trackScores(
    tracked.map(({ track_id, scan_time, lat, lon, estimated_size_mm }) => ({
      ...{ track_id, scan_time, lat, lon },
      size: estimated_size_mm,
      reshaped: false,
    })),
  );
  const kind = 'tracking';
  const whole = { kind, lead_min: null, baseline: null } as const;
  const frames = framesOf(day, OBJECT_MM);
  return [
    ...TRACKING_LEADS_MIN.flatMap((lead_min) => overlapScore(kind, 'overlap_csi', lead_min, frames, overlapAt)),
    ...TRACKING_LEADS_MIN.flatMap((lead_min) => positionScore(tracked, lead_min)),
    ...NOWCAST_LEADS_MIN.flatMap((lead_min) => directionScore(tracked, lead_min)),
    ...(rmse_median_km === null
      ? []
      : [{ ...whole, score: 'straightness_km', n: scored_tracks, value: rmse_median_km } as const]),
    ...(long_duration_median_min === null
      ? []
      : [{ ...whole, score: 'duration_min', n: long_tracks, value: long_duration_median_min } as const]),
  ];
}

function nowcastScores(day: ScoredDay): Found[] {
  const frames = framesOf(day, NOWCAST_MM);
  return [
    ...NOWCAST_LEADS_MIN.flatMap((lead_min) => overlapScore('nowcast', 'swath_csi', lead_min, frames, swathOverlapAt)),
    ...nowcastBrier(day),
  ];
}

function overlapScore(
  kind: Score['kind'],
  score: Score['score'],
  lead_min: number,
  frames: readonly ObjectFrame[],
  overlap: (frames: readonly ObjectFrame[], lead_min: number) => Overlap,
): Found[] {
  const still = frames.map(({ scan_time, lattice, objects }) => ({
    scan_time,
    lattice,
    objects: objects.map(({ mask }) => ({ mask, velocity: null })),
  }));
  const found = overlap(frames, lead_min);
  const value = csi(found);
  return value === null
    ? []
    : [{ kind, score, lead_min, n: found.frames, value, baseline: csi(overlap(still, lead_min)) }];
}

/** Median distance between the position extrapolated by a track's published motion and its position after the lead. */
function positionScore(tracked: readonly TrackPoint[], lead_min: number): Found[] {
  const pairs = displacements(tracked, lead_min);
  if (pairs.length === 0) return [];
  const errors = pairs.map(({ forecast, observed }) =>
    Math.hypot(observed.east - forecast.east, observed.north - forecast.north),
  );
  const stayed = pairs.map(({ observed }) => Math.hypot(observed.east, observed.north));
  return [
    {
      kind: 'tracking',
      score: 'position_error_km',
      lead_min,
      n: pairs.length,
      value: median(errors),
      baseline: median(stayed),
    },
  ];
}

/** Median angle between the published motion of mature tracks and their displacement until the lead. */
function directionScore(tracked: readonly TrackPoint[], lead_min: number): Found[] {
  const errors = displacements(tracked, lead_min)
    .filter(({ from, forecast, observed }) => {
      const hasMoved = Math.hypot(observed.east, observed.north) >= DIRECTION_DISTANCE_MIN_KM;
      return hasMoved && from.scan_count >= DIRECTION_SCANS_MIN && Math.hypot(forecast.east, forecast.north) > 0;
    })
    .map(({ forecast, observed }) => {
      const turn = Math.abs(headingOf(forecast).direction_deg - headingOf(observed).direction_deg);
      return Math.min(turn, 360 - turn);
    });
  if (errors.length === 0) return [];
  return [
    {
      kind: 'tracking',
      score: 'direction_error_deg',
      lead_min,
      n: errors.length,
      value: median(errors),
      baseline: null,
    },
  ];
}

/** Forecast and observed displacements of tracks over a lead, km. */
function displacements(tracked: readonly TrackPoint[], lead_min: number) {
  const lead_ms = lead_min * MS_PER_MIN;
  return [...Map.groupBy(tracked, ({ track_id }) => track_id).values()].flatMap((points) =>
    points.flatMap((from) => {
      if (from.speed_kmh === null || from.direction_deg === null) return [];
      const off = (to: TrackPoint) => Math.abs(to.scan_time - from.scan_time - lead_ms);
      const to = points.reduce((best, point) => (off(point) < off(best) ? point : best), from);
      if (off(to) > LEAD_TOLERANCE_MS) return [];
      const minutes = (to.scan_time - from.scan_time) / MS_PER_MIN;
      const velocity = velocityOf({ speed_kmh: from.speed_kmh, direction_deg: from.direction_deg });
      const forecast: Vector = { east: velocity.east * minutes, north: velocity.north * minutes };
      return [{ from, forecast, observed: offsetKm(from, to) }];
    }),
  );
}

/** Objects of the detections from `least_mm` on, by scan and track, with the motion of the track in that scan. */
function framesOf({ lattice, scan_times, tracks, detections }: ScoredDay, least_mm: number): ObjectFrame[] {
  const name = (scan_time: number, track_id: string | null) => `${scan_time} ${track_id ?? ''}`;
  const velocities = new Map<string, Vector>();
  for (const { scan_time, track_id, speed_kmh, direction_deg } of tracks)
    if (speed_kmh !== null && direction_deg !== null)
      velocities.set(name(scan_time, track_id), velocityOf({ speed_kmh, direction_deg }));
  const large = detections.filter(({ estimated_size_mm }) => estimated_size_mm >= least_mm);
  const byScan = Map.groupBy(large, ({ scan_time }) => scan_time);
  return scan_times.map((scan_time) => {
    const objects = Map.groupBy(byScan.get(scan_time) ?? [], ({ track_id }) => track_id);
    return {
      scan_time,
      lattice,
      objects: [...objects].map(([track_id, pixels]) => {
        const ordered = pixels.toSorted((a, b) => a.row - b.row || a.col - b.col);
        const [rows, cols] = [ordered.map(({ row }) => row), ordered.map(({ col }) => col)];
        return {
          mask: maskOf(Uint16Array.from(rows), Uint16Array.from(cols)),
          velocity: velocities.get(name(scan_time, track_id)) ?? null,
        };
      }),
    };
  });
}
