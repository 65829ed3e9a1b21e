import { addDays, stormDate } from '../../schemas/time.ts';
import type { Config } from '../config.ts';
import type { Log } from '../log.ts';
import { openRoot } from '../publish/root.ts';
import { publishClimate } from './climate.ts';

/** Simulated storm dates up to yesterday. */
export interface ClimateYears {
  readonly seed: number;
  /** So many independent weathers fall on every date. */
  readonly density: number;
  /** Number of storm dates. */
  readonly dates: number;
  readonly log: Log;
}

/** What was published; dates that held data already are not counted. */
export interface ClimateTotal {
  readonly first_date: string;
  readonly dates: number;
  readonly detections: number;
  readonly seconds: number;
}

/** Publishes simulated daily hail of the last dates before today into the data root. */
export async function publishClimateYears(config: Config, years: ClimateYears): Promise<ClimateTotal> {
  const { data_root, storm_day_start_hour, now } = config;
  const { seed, density, dates, log } = years;
  const first_date = addDays(stormDate(now(), storm_day_start_hour), -dates);
  const root = await openRoot(data_root, 'hail-pipeline simulate --climate', storm_day_start_hour, now());
  const started = performance.now();
  const total = { dates: 0, detections: 0 };
  try {
    const climate = { seed, density, first_date, dates, storm_day_start_hour };
    for await (const day of publishClimate(root, climate, now())) {
      total.dates += 1;
      total.detections += day.detections;
      log.progress('storm dates', day.number, day.of);
    }
  } finally {
    await root.close();
  }
  return { first_date, ...total, seconds: Math.round((performance.now() - started) / 100) / 10 };
}
