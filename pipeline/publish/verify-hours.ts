import { layout } from '../../schemas/layout.ts';
import type { Manifest } from '../../schemas/manifest.ts';
import { forecast, outlook } from '../../schemas/tables/forecast.ts';
import { MS_PER_HOUR, timestamp } from '../../schemas/time.ts';
import { type Engine, sqlList } from '../duckdb.ts';
import { tablePaths } from './manifests.ts';

const HOURS = 24;

/** Hours of a day, from 12 UTC on, as probabilities from 0 to 1; null for an hour that is not known. */
export type DayHours = readonly (number | null)[];

/** A published day of a cell and the hours of the forecast in it; `hours` counts from 12 UTC. */
interface CellDay {
  readonly geohash4: string;
  readonly start_ms: number;
  readonly day: number;
  readonly hours: readonly number[];
  readonly probabilities: readonly number[];
}

/** Faults of a forecast and an outlook whose hours and days contradict each other: the first cell, and how many there are. */
export async function verifyHours(
  engine: Engine,
  dataRoot: string,
  manifests: readonly Manifest[],
): Promise<{ readonly path: string; readonly reason: string }[]> {
  const partition = layout.collectionPartition('forecast');
  const hours = manifests.find((manifest) => manifest.partition === partition);
  const days = manifests.find((manifest) => manifest.partition === layout.collectionPartition('outlook'));
  if (hours === undefined || days === undefined) return [];
  const files = [tablePaths(dataRoot, hours, forecast.name), tablePaths(dataRoot, days, outlook.name)];
  if (files.some((paths) => paths.length === 0)) return [];
  const path = layout.head(partition);
  try {
    const faults = (await engine.rows<CellDay>(cellDaysSql(files[0], files[1]))).flatMap(faultOf);
    return faults.length === 0 ? [] : [{ path, reason: `${faults[0]}; ${faults.length} days of cells are like this` }];
  } catch (error) {
    return [{ path, reason: `its hours cannot be compared with their days: ${(error as Error).message}` }];
  }
}

function cellDaysSql(forecasts: readonly string[], outlooks: readonly string[]): string {
  // The hour that ends at 13 UTC is the first of its day.
  return `SELECT geohash4, epoch_ms(forecast_date + INTERVAL 12 HOUR)::DOUBLE AS start_ms, any_value(day_p) AS "day",
      list(hour) AS hours, list(p) AS probabilities
    FROM (SELECT geohash4, forecast_date, hail_probability_pct / 100 AS day_p FROM read_parquet(${sqlList(outlooks)}))
    JOIN (SELECT geohash4, (valid_time - INTERVAL 13 HOUR)::DATE AS forecast_date,
        hour(valid_time - INTERVAL 13 HOUR)::INTEGER AS "hour", hail_probability AS p
      FROM read_parquet(${sqlList(forecasts)}) WHERE hail_probability IS NOT NULL)
      USING (geohash4, forecast_date)
    GROUP BY geohash4, forecast_date ORDER BY geohash4, forecast_date`;
}

function faultOf({ geohash4, start_ms, day, hours, probabilities }: CellDay): string[] {
  const strip = new Array<number | null>(HOURS).fill(null);
  for (const [index, hour] of hours.entries()) strip[hour] = probabilities[index];
  const fault = contradiction(day, strip);
  if (fault === null) return [];
  const cell = `cell ${geohash4} has`;
  const whole = `${shown(day)} for the day from ${timestamp(start_ms)}`;
  if (fault.kind === 'day_above_hours')
    return [`${cell} ${whole}, expected at most ${shown(fault.together)}, which its hours have together`];
  const end = timestamp(start_ms + (fault.hour + 1) * MS_PER_HOUR);
  return [`${cell} ${shown(fault.probability)} for the hour ending ${end}, expected at most ${whole}`];
}

function shown(probability: number): string {
  return String(Math.round(1000 * probability) / 1000);
}

/** How published hours contradict their day. */
type Contradiction =
  | { readonly kind: 'hour_above_day'; readonly hour: number; readonly probability: number }
  | { readonly kind: 'day_above_hours'; readonly together: number };

/**
 * How hours contradict the probability of their day (0 to 1), null when they agree with it: no hour is likelier than the day, and
 * the day is no likelier than all of its hours if they were independent. The second applies only where all hours are known: hail
 * may come in the others.
 */
export function contradiction(day: number, hours: DayHours): Contradiction | null {
  let likeliest = -1;
  let none = 1;
  let is_whole = true;
  for (const [k, p] of hours.entries()) {
    if (p === null) is_whole = false;
    else {
      none *= 1 - p;
      if (p > (hours[likeliest] ?? -1)) likeliest = k;
    }
  }
  const most = hours[likeliest] ?? null;
  if (most !== null && exceeds(most, day)) return { kind: 'hour_above_day', hour: likeliest, probability: most };
  return is_whole && exceeds(day, 1 - none) ? { kind: 'day_above_hours', together: 1 - none } : null;
}

/** True when one probability is larger than another by more than errors of floating point. */
function exceeds(a: number, b: number): boolean {
  return a > b + 1e-9;
}
