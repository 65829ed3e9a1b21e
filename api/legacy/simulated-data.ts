import { hash } from 'node:crypto';
import { distanceKm } from '../../schemas/geo/distance.ts';
import { ID_PREFIXES, type IdKind } from '../../schemas/ids.ts';
import { LOOKBACK_MIN } from '../../schemas/resources/hail-cell.ts';
import { EVENT_MIN_MM } from '../../schemas/size.ts';
import { addDays, MS_PER_HOUR, timestamp, utcDate } from '../../schemas/time.ts';
import { ApiError } from '../http/errors.ts';
import { rounded } from '../rules/rounded.ts';
import { parseReceiverUrl } from '../webhooks/public-address.ts';
import type { EarlierForecast, EarlierHistory, EarlierRisk, EarlierStorms } from './resources.ts';
import { damageEstimate, forecastConfidence, TRENDS_OF_YEARS } from './rules.ts';

interface Point {
  readonly lat: number;
  readonly lng: number;
}

const SCAN_MS = 120_000;
const STORMS_MAX = 3;
/** How far storms lie from the point, degrees: within 25 km at most latitudes. */
const REACH_DEG = 0.15;
/** Scans of the look-back in which a storm may have been seen last. */
const LOOKBACK_SCANS = (LOOKBACK_MIN * 60_000) / SCAN_MS;
/** Expected days with hail of a year at the place with the highest score. */
const MOST_HAIL_DAYS = 4;
/** A place with fewer hail days a year has had none yet. */
const LEAST_HAIL_DAYS = 0.1;
const DAYS_PER_YEAR = 365;
const HAIL_DAY_SHARE = 0.08;
const SIZE_MM = [19, 70] as const;

/** Characters of a ULID. */
const CROCKFORD = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';
const ULID_LENGTH = 26;
const DRAWS_PER_DIGEST = 8;
const TWO_TO_32 = 2 ** 32;

/** Returns the next number of a series, 0 ≤ x < 1. */
type Draw = () => number;

/**
 * A series of numbers that depends on some words alone: from their SHA-256, with one exact division each, so that it is the same
 * on any machine.
 */
export function drawsFrom(...words: readonly (string | number)[]): Draw {
  const seed = JSON.stringify(words);
  let drawn = 0;
  let digest = Buffer.alloc(0);
  return () => {
    const at = drawn % DRAWS_PER_DIGEST;
    if (at === 0) digest = hash('sha256', `${seed} ${drawn}`, 'buffer');
    drawn += 1;
    return digest.readUInt32BE(at * 4) / TWO_TO_32;
  };
}

/** Numbers that follow from a place, rounded to five decimals, and a day. `what` names the series. */
function drawsAt({ lat, lng }: Point, day: string, what: string): Draw {
  return drawsFrom(what, rounded(lat, 5), rounded(lng, 5), day);
}

/** An id of the usual form that follows from some words. */
export function simulatedId(kind: IdKind, ...words: readonly (string | number)[]): string {
  const draw = drawsFrom('id', kind, ...words);
  const characters = Array.from({ length: ULID_LENGTH }, (_, k) => CROCKFORD.charAt(whole(draw, 0, k === 0 ? 7 : 31)));
  return `${ID_PREFIXES[kind]}_${characters.join('')}`;
}

/** A secret of the usual form that follows from some words; it signs nothing. */
export function simulatedSecret(...words: readonly (string | number)[]): string {
  return `whsec_${hash('sha256', JSON.stringify(['secret', ...words]), 'base64')}`;
}

/** Throws `bad_request` for a receiver's address that is refused on any machine; does not resolve its name. */
export function checkAddress(pointer: string, url: string): void {
  const receiver = parseReceiverUrl(url);
  if (typeof receiver === 'string') throw new ApiError('bad_request', `${pointer}: ${receiver}`);
}

/** A whole number between two, both included. */
export function whole(draw: Draw, least: number, most: number): number {
  return least + Math.floor(draw() * (most - least + 1));
}

/** A number between two, rounded to `decimals`. */
export function between(draw: Draw, least: number, most: number, decimals: number): number {
  return rounded(least + draw() * (most - least), decimals);
}

/** Storms of a simulated day around a point, nearest first. They follow from the place and the day; each was seen within the look-back. */
export function simulatedStorms(
  { lat, lng, radius_km }: Point & { readonly radius_km: number },
  now_ms: number,
): EarlierStorms {
  const day = utcDate(now_ms);
  const draw = drawsAt({ lat, lng }, day, 'storms');
  const storms = Array.from({ length: whole(draw, 1, STORMS_MAX) }, (_, k) => {
    const coordinates = {
      lat: rounded(Math.min(90, Math.max(-90, lat + between(draw, -REACH_DEG, REACH_DEG, 5))), 5),
      lng: rounded(Math.min(180, Math.max(-180, lng + between(draw, -REACH_DEG, REACH_DEG, 5))), 5),
    };
    return {
      storm_id: stormId({ lat, lng }, day, k),
      coordinates,
      mesh_size_mm: between(draw, ...SIZE_MM, 1),
      probability: between(draw, 0.2, 0.95, 3),
      detected_at: timestamp((Math.floor(now_ms / SCAN_MS) - whole(draw, 0, LOOKBACK_SCANS - 1)) * SCAN_MS),
      direction_deg: whole(draw, 0, 359),
      speed_kph: between(draw, 15, 90, 1),
    };
  });
  const distance = ({ coordinates }: (typeof storms)[number]) =>
    distanceKm({ lat, lon: lng }, { lat: coordinates.lat, lon: coordinates.lng });
  return storms.filter((storm) => distance(storm) <= radius_km).sort((a, b) => distance(a) - distance(b));
}

/** Forecast of the hours that end after now. The values of an hour follow from its own date and stay while the clock moves on. */
export function simulatedForecast(
  { lat, lng, hours }: Point & { readonly hours: number },
  now_ms: number,
): EarlierForecast {
  const first_ms = Math.floor(now_ms / MS_PER_HOUR) * MS_PER_HOUR;
  const dates = new Map<string, readonly SimulatedHour[]>();
  return Array.from({ length: hours }, (_, k) => {
    const start_ms = first_ms + k * MS_PER_HOUR;
    const date = utcDate(start_ms);
    const ofDate = dates.get(date) ?? hoursOfDate({ lat, lng }, date);
    dates.set(date, ofDate);
    return {
      time: timestamp(start_ms + MS_PER_HOUR),
      ...ofDate[new Date(start_ms).getUTCHours()],
      confidence: forecastConfidence(k + 1),
    };
  });
}

type SimulatedHour = Pick<EarlierForecast[number], 'probability' | 'max_size_mm'>;

/** The 24 hours of a UTC date at a point. */
function hoursOfDate(point: Point, date: string): SimulatedHour[] {
  const draw = drawsAt(point, date, 'forecast');
  return Array.from({ length: 24 }, () => {
    const probability = between(draw, 0, 0.4, 3);
    const size_mm = between(draw, ...SIZE_MM, 1);
    return { probability, max_size_mm: probability < 0.02 ? null : size_mm };
  });
}

/** Risk of hail at a saved location on a simulated day: days and last event go with the score, more hail days with a higher one. */
export function simulatedRisk(location_id: string, now_ms: number): EarlierRisk {
  const day = utcDate(now_ms);
  const draw = drawsFrom('risk', location_id, day);
  const risk_score = whole(draw, 0, 100);
  const annual_hail_days = rounded(MOST_HAIL_DAYS * (risk_score / 100) ** 2, 2);
  const trend = TRENDS_OF_YEARS[whole(draw, 0, TRENDS_OF_YEARS.length - 1)];
  const days_ago = whole(draw, 1, Math.round(DAYS_PER_YEAR / Math.max(annual_hail_days, LEAST_HAIL_DAYS)));
  const max_size_mm = between(draw, EVENT_MIN_MM, SIZE_MM[1], 1);
  return {
    location_id,
    risk_score,
    annual_hail_days,
    trend,
    last_event: annual_hail_days < LEAST_HAIL_DAYS ? null : { date: addDays(day, -days_ago), max_size_mm },
  };
}

/** Hail days of simulated dates at a point, newest first: each follows from its own date. */
export function simulatedHistory({
  lat,
  lng,
  start_date,
  end_date,
}: Point & { readonly start_date: string; readonly end_date: string }): EarlierHistory {
  const days: EarlierHistory[number][] = [];
  for (let date = end_date; date >= start_date; date = addDays(date, -1)) {
    const draw = drawsAt({ lat, lng }, date, 'history');
    if (draw() >= HAIL_DAY_SHARE) continue;
    const max_size_mm = between(draw, 10, SIZE_MM[1], 1);
    days.push({
      date,
      max_size_mm,
      duration_minutes: between(draw, 2, 45, 1),
      damage_estimate: damageEstimate(max_size_mm),
      storm_id: stormId({ lat, lng }, date, 0),
    });
  }
  return days;
}

/** Says what it is, so that it is never taken for a storm that was seen. */
function stormId({ lat, lng }: Point, day: string, k: number): string {
  const id = simulatedId('event', rounded(lat, 5), rounded(lng, 5), day, k);
  return `simulated-${day.replaceAll('-', '')}-${id.slice(-12).toLowerCase()}`;
}
