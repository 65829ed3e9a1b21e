import { roughDistanceKm } from '../geo/distance.ts';
import type { Position } from '../geo/position.ts';
import type { MixedProvenance } from '../provenance.ts';
import { NOWCAST_MODEL, type NowcastFit } from '../reference/nowcast-model.ts';
import { type LeadKey, NOWCAST_LEADS } from '../resources/nowcast.ts';
import type { TrackPoint } from '../tables/radar.ts';
import { arrivals, type UncertainMotion } from './arrivals.ts';
import { clumps } from './clumps.ts';

/** The event: hail of this size within this distance of the point. */
export const STRIKE_MM = 19;
export const STRIKE_KM = 1;
/** Tracks from this many scans on move steadily; younger ones may still turn. */
const MATURE_SCANS = 6;
/** Measured on real rain and hail cores 14 minutes on: 26 to 28 degrees, 10 to 13 km/h. */
export const MATURE_ERROR = { speed_error_kmh: 12, direction_error_deg: 26 } as const;
const YOUNG_ERROR = { speed_error_kmh: 20, direction_error_deg: 30 } as const;
/** A storm of unknown motion may move in any direction. */
const UNKNOWN_MOTION = { speed_kmh: 0, direction_deg: 0, speed_error_kmh: 60, direction_error_deg: 180 } as const;
/** Minutes in which the share of hail that is still there falls to 1/e; 12 to 40 do nearly as well on evenings not learnt from. */
const LIFE_MIN = 15;
/** Raw probabilities are clamped to these: the logit of 0 is infinite. */
const RAW_MIN = 0.001;
const RAW_MAX = 0.999;
/** Storms farther away cannot arrive within the longest lead, km. */
export const REACH_KM = 150;

const LONGEST_MIN = Math.max(...NOWCAST_LEADS.map(({ minutes }) => minutes));

/** What a nowcast needs to know of a storm, or of hail that belongs to none, in the newest scan that saw it. */
type SeenHail = Pick<TrackPoint, 'scan_time' | 'lat' | 'lon' | 'speed_kmh' | 'direction_deg' | 'scan_count'>;

/** Hail that moves together: of a live storm, or without a track. Its pixels are those >= 19 mm. */
export interface HailSource {
  readonly seen: SeenHail;
  readonly hail: readonly Position[];
}

/** Reach of the storm whose motion hail without a track is given, km: that of the motion of neighbours. */
const LENT_MOTION_KM = 100;

/**
 * Hail without a track: its clumps, each where its first pixel is. A clump has the motion of the nearest of `storms` that has one,
 * with the wide errors of a first scan; its motion is unknown where no such storm is near.
 */
export function untrackedSources(
  pixels: readonly Position[],
  scan_time: number,
  storms: readonly HailSource[],
): HailSource[] {
  const moving = storms.filter(({ seen }) => seen.speed_kmh !== null && seen.direction_deg !== null);
  return clumps(pixels).map((clump) => {
    const { lat, lon } = clump[0] as Position;
    const { speed_kmh, direction_deg } = lentMotion({ lat, lon }, moving);
    return { seen: { scan_time, lat, lon, speed_kmh, direction_deg, scan_count: 1 }, hail: clump };
  });
}

function lentMotion(at: Position, moving: readonly HailSource[]): Pick<SeenHail, 'speed_kmh' | 'direction_deg'> {
  let nearest_km = LENT_MOTION_KM;
  let motion: Pick<SeenHail, 'speed_kmh' | 'direction_deg'> = { speed_kmh: null, direction_deg: null };
  for (const { seen } of moving) {
    const km = roughDistanceKm(seen, at);
    if (km < nearest_km) [nearest_km, motion] = [km, seen];
  }
  return motion;
}

/** Share of hail that is still there so many minutes after its scan. */
export function survival(minutes: number): number {
  return Math.exp(-minutes / LIFE_MIN);
}

/** Probability, not calibrated, that hail >= 19 mm comes within 1 km of a point between now and each lead, from all sources. */
export function rawNowcast(
  point: Position,
  sources: readonly HailSource[],
  now_ms: number,
): Readonly<Record<LeadKey, number>> {
  const strikes = sources.map((source) => strikesBy(point, source, now_ms));
  const raw = NOWCAST_LEADS.map(({ key }, lead) => {
    const spared = strikes.reduce((product, strike) => product * (1 - strike[lead]), 1);
    return [key, 1 - spared] as const;
  });
  return Object.fromEntries(raw) as Record<LeadKey, number>;
}

/** Weights for live data of a provenance; the weights of simulated evenings serve simulated data only. */
export function fitFor(source: MixedProvenance | null): NowcastFit {
  return NOWCAST_MODEL[source === 'simulated' ? 'simulated' : 'observed'];
}

/** Probability that hail >= 19 mm comes within 1 km of a point between now and each lead, from all sources. */
export function nowcast(
  point: Position,
  sources: readonly HailSource[],
  now_ms: number,
  fit: NowcastFit,
): Readonly<Record<LeadKey, number>> {
  return weighed(rawNowcast(point, sources, now_ms), fit.leads);
}

/** Probability of each lead by its weights, never lower than that of a shorter lead. */
export function weighed(
  raw: Readonly<Record<LeadKey, number>>,
  leads: NowcastFit['leads'],
): Readonly<Record<LeadKey, number>> {
  let least = 0;
  const probabilities = NOWCAST_LEADS.map(({ key }) => {
    const weights = leads[key];
    least = Math.max(least, 1 / (1 + Math.exp(-(weights.base + weights.raw * rawLogit(raw[key])))));
    return [key, least] as const;
  });
  return Object.fromEntries(probabilities) as Record<LeadKey, number>;
}

/** Logit of a raw probability. */
function rawLogit(raw: number): number {
  const p = Math.min(RAW_MAX, Math.max(RAW_MIN, raw));
  return Math.log(p / (1 - p));
}

/** Probability of a strike by one source up to each lead: the share of its futures that reach the point, weighted with their survival. */
function strikesBy(point: Position, { seen, hail }: HailSource, now_ms: number): readonly number[] {
  const from_min = Math.max(0, (now_ms - seen.scan_time) / 60_000);
  const to_min = from_min + LONGEST_MIN;
  const times = arrivals(point, hail, motionOf(seen), { within_km: STRIKE_KM, from_min, to_min });
  const alive = NOWCAST_LEADS.map(() => 0);
  for (const after_min of times) {
    if (Number.isNaN(after_min)) continue;
    const lives = survival(from_min + after_min) / times.length;
    for (const [lead, { minutes }] of NOWCAST_LEADS.entries())
      if (after_min <= minutes) alive[lead] = alive[lead] + lives;
  }
  return alive;
}

function motionOf({ speed_kmh, direction_deg, scan_count }: SeenHail): UncertainMotion {
  if (speed_kmh === null || direction_deg === null) return UNKNOWN_MOTION;
  return { speed_kmh, direction_deg, ...(scan_count >= MATURE_SCANS ? MATURE_ERROR : YOUNG_ERROR) };
}
