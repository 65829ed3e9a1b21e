import { z } from 'zod';
import type { Position } from '../../schemas/geo/position.ts';
import { combineProvenances } from '../../schemas/provenance.ts';
import {
  type ForecastHour,
  type ForecastPeak,
  HAIL_FORECAST_EXAMPLE,
  HailForecast,
  modelName,
  modelSource,
} from '../../schemas/resources/forecast.ts';
import { type Forecast, forecast } from '../../schemas/tables/forecast.ts';
import { MS_PER_HOUR, timestamp } from '../../schemas/time.ts';
import { integerQuery, pointQuery } from '../http/decode.ts';
import { FILES, readTable } from '../queries/sql.ts';
import { cellOf } from '../rules/hail-risk.ts';
import { rounded, roundedPosition } from '../rules/rounded.ts';
import { flatPrice, readEndpoint } from '../server/endpoint.ts';

const NEWEST_RUN_SQL = `SELECT model, run_time, data_source FROM ${FILES} ORDER BY run_time DESC, model LIMIT 1`;

export const getHailForecast = readEndpoint({
  route: 'GET /v1/hail/forecast',
  group: 'Hail detection',
  summary: 'Hail of the next hours at a point',
  description:
    'The event is hail >= 25 mm within 40 km of the centre of the geohash4 cell of the point in one hour: ten to twenty times as likely as at the point itself. The hours of a day, 12 to 12 UTC, are shifted together to agree with the day of GET /v1/hail/outlook for the cell: no hour is likelier than its day, nor is what usually remains of a day, all of whose hours ahead are forecast, likelier than these together. The first hour is the current one; each hour is named by its end. There is no forecast beyond the reach of the runs or outside the area of the model: the list is then shorter than requested, or empty, which does not mean that no hail is expected. model.run_time is the start of the newest run that was used, however old; where there is no hour, that of the newest run there is. All of model is null while no run was ever published. The name of a simulated model begins with `simulated-`.',
  scope: 'hail:read',
  query: z.object({
    ...pointQuery,
    hours: integerQuery({ min: 1, max: 48, default: 24, description: 'Hours to tell, the running one included.' }),
  }),
  reply: HailForecast,
  example: HAIL_FORECAST_EXAMPLE,
  price: flatPrice('hail.forecast', 5),
  plan: ({ edition }) => ({ dates: [], paths: edition.collection('forecast')?.paths() ?? [] }),
  answer: async ({ query, now_ms, plan: { paths }, services: { engine } }) => {
    const rows = await readTable(engine, forecast, paths, 'WHERE geohash4 = $2 ORDER BY valid_time', [cellOf(query)]);
    // The running hour is the first.
    const last_ms = now_ms + query.hours * MS_PER_HOUR;
    const hours = rows.filter(({ valid_time }) => valid_time > now_ms && valid_time <= last_ms);
    const isOver = hours.length === 0 && paths.length > 0;
    const [newest = null] = isOver ? await engine.rows<ForecastRun>(NEWEST_RUN_SQL, [paths]) : [];
    return hailForecast(query, hours, newest);
  },
});

type ForecastRun = Pick<Forecast, 'model' | 'run_time' | 'data_source'>;

/**
 * The forecast at a point from the requested hours of its cell, in order. Without hours, the answer names the newest published
 * run, which shows that the forecast has run out; the run is null where none was ever published.
 */
function hailForecast(position: Position, rows: readonly Forecast[], newest: ForecastRun | null) {
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
