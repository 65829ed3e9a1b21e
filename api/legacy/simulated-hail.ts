import { distanceKm } from '../../schemas/geo/distance.ts';
import type { EarlierForecast, EarlierHistory, EarlierStorms } from '../../schemas/resources/earlier.ts';
import { addDays, timestamp } from '../../schemas/time.ts';
import { damageEstimate } from '../rules/damage.ts';
import { forecastConfidence } from '../rules/forecast-confidence.ts';
import { rounded } from '../rules/rounded.ts';
import { between, drawsAt, simulatedDay, simulatedId, whole } from './simulate.ts';

interface Point {
  readonly lat: number;
  readonly lng: number;
}

const MS_PER_HOUR = 3_600_000;
const SCAN_MS = 120_000;
const STORMS_MAX = 3;
/** How far storms lie from the point, degrees: within 25 km at most latitudes. */
const REACH_DEG = 0.15;
/** Storms of a day were seen in the evening before it, and its forecast begins where it ends: neither moves with the clock. */
const SEEN_BEFORE_H = 4;
const FORECAST_AFTER_H = 24;
const HAIL_DAY_SHARE = 0.08;
const SIZE_MM = [19, 70] as const;

/** Storms of a simulated day around a point, nearest first. */
export function simulatedStorms(
  { lat, lng, radius_km }: Point & { readonly radius_km: number },
  now_ms: number,
): EarlierStorms {
  const day = simulatedDay(now_ms);
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
      detected_at: timestamp(Date.parse(day) - SEEN_BEFORE_H * MS_PER_HOUR + whole(draw, 0, 99) * SCAN_MS),
      direction_deg: whole(draw, 0, 359),
      speed_kph: between(draw, 15, 90, 1),
    };
  });
  const distance = ({ coordinates }: (typeof storms)[number]) =>
    distanceKm({ lat, lon: lng }, { lat: coordinates.lat, lon: coordinates.lng });
  return storms.filter((storm) => distance(storm) <= radius_km).sort((a, b) => distance(a) - distance(b));
}

/** The forecast of a simulated day at a point. */
export function simulatedForecast(
  { lat, lng, hours }: Point & { readonly hours: number },
  now_ms: number,
): EarlierForecast {
  const day = simulatedDay(now_ms);
  const draw = drawsAt({ lat, lng }, day, 'forecast');
  const start_ms = Date.parse(day) + FORECAST_AFTER_H * MS_PER_HOUR;
  return Array.from({ length: hours }, (_, k) => {
    const probability = between(draw, 0, 0.4, 3);
    const size_mm = between(draw, ...SIZE_MM, 1);
    return {
      time: timestamp(start_ms + (k + 1) * MS_PER_HOUR),
      probability,
      max_size_mm: probability < 0.02 ? null : size_mm,
      confidence: forecastConfidence(k + 1),
    };
  });
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
