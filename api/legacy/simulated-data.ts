import { hash } from 'node:crypto';
import { destination } from '../../schemas/geo/distance.ts';
import { EVENT_MIN_MM } from '../../schemas/size.ts';
import { addDays, datesThrough, MS_PER_HOUR, timestamp, utcDate } from '../../schemas/time.ts';
import { rounded } from '../rules/rounded.ts';
import { damageEstimate, type EarlierRisk, forecastConfidence, TRENDS_OF_YEARS } from './resources.ts';

type Point = Readonly<Record<'lat' | 'lng', number>>;

const SCAN_MS = 120_000;
/** Scans in the look-back of half an hour; a storm is seen in one of them. */
const SCANS = 15;
const STORM_REACH_KM = 25;
const SIZE_MM = [19, 70] as const;
/** Share of the days with hail. */
const HAIL_DAY_SHARE = 0.08;
/** Hail days of a year at the place with the highest score. */
const MOST_HAIL_DAYS = 4;

/** Draws numbers between two, rounded to `decimals`: a series that follows from some words alone, on any machine. */
function drawsFrom(...words: readonly (string | number)[]) {
  let drawn = 0;
  return (least: number, most: number, decimals: number): number => {
    const share = hash('sha256', JSON.stringify([...words, drawn++]), 'buffer').readUInt32BE() / 2 ** 32;
    return rounded(least + share * (most - least), decimals);
  };
}

/** Storms of a simulated day around a point, nearest first. */
export function simulatedStorms(asked: Point & { readonly radius_km: number }, now_ms: number) {
  const [at, day] = [rounding(asked), utcDate(now_ms)];
  const draw = drawsFrom('storms', at.lat, at.lng, day);
  const storms = Array.from({ length: draw(1, 3, 0) }, (_, k) => {
    const distance_km = draw(0, STORM_REACH_KM, 2);
    const { lat, lon } = destination({ lat: at.lat, lon: at.lng }, draw(0, 360, 1), distance_km);
    const storm = {
      storm_id: stormId(at, day, k),
      coordinates: rounding({ lat, lng: lon }),
      mesh_size_mm: draw(...SIZE_MM, 1),
      probability: draw(0.2, 0.95, 3),
      detected_at: timestamp((Math.floor(now_ms / SCAN_MS) - draw(0, SCANS - 1, 0)) * SCAN_MS),
      direction_deg: draw(0, 359, 0),
      speed_kph: draw(15, 90, 1),
    };
    return { distance_km, storm };
  });
  const near = storms.filter(({ distance_km }) => distance_km <= asked.radius_km);
  return near.sort((a, b) => a.distance_km - b.distance_km).map(({ storm }) => storm);
}

/** Forecast of the hours that end after now: each follows from the place and its own time. */
export function simulatedForecast(asked: Point & { readonly hours: number }, now_ms: number) {
  const { lat, lng } = rounding(asked);
  return Array.from({ length: asked.hours }, (_, k) => {
    const time = timestamp((Math.floor(now_ms / MS_PER_HOUR) + k + 1) * MS_PER_HOUR);
    const draw = drawsFrom('forecast', lat, lng, time);
    const probability = draw(0, 0.4, 3);
    const max_size_mm = probability < 0.02 ? null : draw(...SIZE_MM, 1);
    return { time, probability, max_size_mm, confidence: forecastConfidence(k + 1) };
  });
}

/** Risk of hail at a saved location on a simulated day: more hail days and a newer last event with a higher score. */
export function simulatedRisk(location_id: string, now_ms: number): EarlierRisk {
  const day = utcDate(now_ms);
  const draw = drawsFrom('risk', location_id, day);
  const risk_score = draw(1, 100, 0);
  const annual_hail_days = rounded(MOST_HAIL_DAYS * (risk_score / 100) ** 2, 2);
  const trend = TRENDS_OF_YEARS[draw(0, TRENDS_OF_YEARS.length - 1, 0)] ?? 'stable';
  const last_event = { date: addDays(day, -draw(1, 3650 / risk_score, 0)), max_size_mm: draw(EVENT_MIN_MM, 70, 1) };
  return { location_id, risk_score, annual_hail_days, trend, last_event };
}

/** Hail days of simulated dates at a point, newest first: each follows from its own date. */
export function simulatedHistory(asked: Point & { readonly start_date: string; readonly end_date: string }) {
  const at = rounding(asked);
  return datesThrough(asked.start_date, asked.end_date)
    .toReversed()
    .flatMap((date) => {
      const draw = drawsFrom('history', at.lat, at.lng, date);
      if (draw(0, 1, 6) >= HAIL_DAY_SHARE) return [];
      const [max_size_mm, duration_minutes] = [draw(10, 70, 1), draw(2, 45, 1)];
      const damage_estimate = damageEstimate(max_size_mm);
      return [{ date, max_size_mm, duration_minutes, damage_estimate, storm_id: stormId(at, date, 0) }];
    });
}

/** The same place, however many decimals it was written with. */
function rounding({ lat, lng }: Point): Point {
  return { lat: rounded(lat, 5), lng: rounded(lng, 5) };
}

/** Says that it is simulated, so that it is never taken for a storm that was seen. */
function stormId({ lat, lng }: Point, day: string, k: number): string {
  return `simulated-${day.replaceAll('-', '')}-${hash('sha256', JSON.stringify([lat, lng, day, k])).slice(0, 12)}`;
}
