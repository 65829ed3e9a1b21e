import type { Position } from '../../schemas/geo/position.ts';
import { combineProvenances } from '../../schemas/provenance.ts';
import {
  type ForecastHour,
  type ForecastPeak,
  type HailForecast,
  modelName,
  modelSource,
} from '../../schemas/resources/forecast.ts';
import type { Forecast } from '../../schemas/tables/forecast.ts';
import { MS_PER_HOUR, timestamp } from '../../schemas/time.ts';
import { cellOf } from './hail-risk.ts';
import { rounded, roundedPosition } from './rounded.ts';

export type ForecastRun = Pick<Forecast, 'model' | 'run_time' | 'data_source'>;

/** Rows that end after now and at most `hours` later; the running hour is the first. */
export function hoursAhead(rows: readonly Forecast[], now_ms: number, hours: number): Forecast[] {
  return rows.filter(({ valid_time }) => valid_time > now_ms && valid_time <= now_ms + hours * MS_PER_HOUR);
}

/**
 * The forecast at a point from the requested hours of its cell, in order. Without hours, the answer names the newest published
 * run, which shows that the forecast has run out; the run is null where none was ever published.
 */
export function hailForecast(position: Position, rows: readonly Forecast[], newest: ForecastRun | null) {
  const runs: readonly ForecastRun[] = rows.length > 0 || newest === null ? rows : [newest];
  return {
    body: {
      location: { ...roundedPosition(position), geohash4: cellOf(position) },
      model: modelOf(runs),
      peak: peakOf(rows),
      hourly: rows.map(hourOf),
      count: rows.length,
    },
    provenance: combineProvenances(runs.map(({ data_source }) => data_source)),
  };
}

/** The newest of some runs; simulated as soon as one of them is. */
function modelOf(runs: readonly ForecastRun[]): HailForecast['model'] {
  const [first] = runs;
  if (first === undefined) return { name: null, run_time: null, source: null };
  const { model, run_time } = runs.reduce((newest, run) => (run.run_time > newest.run_time ? run : newest), first);
  const simulated = runs.some(({ data_source }) => data_source === 'simulated');
  return { name: modelName(model, simulated), run_time: timestamp(run_time), source: modelSource(model, simulated) };
}

function peakOf(rows: readonly Forecast[]): ForecastPeak | null {
  const [peak] = rows
    .filter(({ hail_probability }) => hail_probability !== null)
    .sort((a, b) => (b.hail_probability ?? 0) - (a.hail_probability ?? 0));
  if (peak === undefined) return null;
  const { risk_score: _, ...shown } = hourOf(peak);
  return shown;
}

function hourOf(row: Forecast): ForecastHour {
  const { valid_time, hail_probability, estimated_size_mm, risk_category, risk_score } = row;
  return {
    valid_time: timestamp(valid_time),
    hail_probability: rounded(hail_probability, 3),
    estimated_size_mm: rounded(estimated_size_mm, 1),
    risk_category,
    risk_score: rounded(risk_score, 0),
  };
}
