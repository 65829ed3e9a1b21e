import { z } from 'zod';
import { boxAround } from '../../schemas/geo/around.ts';
import { cellsIn } from '../../schemas/geo/geohash4.ts';
import type { Position } from '../../schemas/geo/position.ts';
import { hourEnds, hoursOver, outlookDate } from '../../schemas/outlook-day.ts';
import { combineProvenances } from '../../schemas/provenance.ts';
import { HAIL_OUTLOOK_EXAMPLE, HailOutlook, type OutlookDay } from '../../schemas/resources/outlook.ts';
import { type Forecast, forecast, type Outlook, outlook } from '../../schemas/tables/forecast.ts';
import { timestamp } from '../../schemas/time.ts';
import { pointQuery, radiusQuery } from '../http/decode.ts';
import { readTable } from '../queries/sql.ts';
import { hoursAhead } from '../rules/hours-ahead.ts';
import { nearestWithin } from '../rules/nearest.ts';
import { rounded, roundedPosition } from '../rules/rounded.ts';
import { flatPrice, readEndpoint } from '../server/endpoint.ts';

/** The bounds leave out most of the file by its statistics. */
const NEAR = `WHERE forecast_date >= $2::DATE AND geohash4 BETWEEN $4 AND $5
  AND geohash4 IN (SELECT unnest($3::VARCHAR[])) ORDER BY day`;

export const getHailOutlook = readEndpoint({
  route: 'GET /v1/hail/outlook',
  group: 'Hail detection',
  summary: 'Hail of the next seven days at a point',
  description:
    'The event is hail >= 25 mm within 40 km of the centre of a cell on one day, 12 to 12 UTC: its probability in percent on each of seven days, blended from the convective outlooks of the Storm Prediction Center and the forecast model, and from the climatology where neither speaks; for the cell whose centre is nearest, within radius_km. No hour of GET /v1/hail/forecast is likelier than its day here. The climatology is that of GET /v1/hail/risk, which is of hail within 10 km in a month, widened to 40 km and brought to one day. A day that is over is left out: an outlook that was not made anew keeps the numbers of its days and begins with a later one, and when all of its days are over nothing is covered. data_as_of tells how old it is. covered is false where no cell is near enough, and while no outlook was ever published: that is no statement that there is no hail.',
  scope: 'hail:read',
  query: z.object({
    ...pointQuery,
    radius_km: radiusQuery({
      max: 200,
      default: 50,
      description: 'How far away the centre of the nearest cell with an outlook may be.',
    }),
  }),
  reply: HailOutlook,
  example: HAIL_OUTLOOK_EXAMPLE,
  price: flatPrice('hail.outlook', 15),
  plan: ({ edition }) => ({
    dates: [],
    collection: edition.collection('outlook'),
    hour_paths: edition.collection('forecast')?.paths() ?? [],
  }),
  answer: async ({ query, now_ms, plan: { collection, hour_paths }, services: { engine } }) => {
    if (collection === null) return { body: uncovered(query, null), provenance: null };
    const { radius_km } = query;
    const near = cellsIn(boxAround(query, radius_km));
    const names = near.map(({ geohash4 }) => geohash4).sort();
    const asked = [outlookDate(now_ms), names, names[0] ?? '', names.at(-1) ?? ''];
    const rows = await readTable(engine, outlook, names.length === 0 ? [] : collection.paths(), NEAR, asked);
    const daysOf = Map.groupBy(rows, ({ geohash4 }) => geohash4);
    const cell = nearestWithin(
      query,
      near.filter(({ geohash4 }) => daysOf.has(geohash4)),
      radius_km,
    );
    const empty = uncovered(query, collection.as_of_ms);
    if (cell === null) return { body: empty, provenance: collection.source };
    const { geohash4 } = cell.item;
    const days = daysOf.get(geohash4) ?? [];
    const hours = await readTable(engine, forecast, hour_paths, 'WHERE geohash4 = $2', [geohash4]);
    return {
      body: {
        ...empty,
        covered: true,
        cell: { geohash4, distance_km: rounded(cell.distance_km, 2) },
        outlook: days.map((row) => dayOf(row, hours, now_ms)),
      },
      provenance: combineProvenances(days.map(({ data_source }) => data_source)),
    };
  },
});

/** Answer where no cell with an outlook is near enough. */
function uncovered(position: Position, data_as_of: number | null): HailOutlook {
  const location = roundedPosition(position);
  return { location, covered: false, cell: null, outlook: [], data_as_of: timestamp(data_as_of) };
}

function dayOf(row: Outlook, forecasts: readonly Forecast[], now_ms: number): OutlookDay {
  const chances = new Map(forecasts.map(({ valid_time, hail_probability }) => [valid_time, hail_probability]));
  const hours = hourEnds(row.forecast_date).map((end_ms) => chances.get(end_ms) ?? null);
  return {
    day: row.day,
    forecast_date: row.forecast_date,
    hail_probability: rounded(row.hail_probability_pct, 1),
    confidence: { score: rounded(row.confidence_score, 3), state: row.confidence_state },
    primary_source: row.primary_source,
    components: {
      spc_pct: rounded(row.spc_pct, 1),
      hrrr_pct: rounded(row.hrrr_pct, 1),
      climo_pct: rounded(row.climo_pct, 1),
    },
    ...(row.day === 1
      ? hoursAhead(row.hail_probability_pct, row.lon, hours, hoursOver(row.forecast_date, now_ms))
      : { remaining_probability: null, hourly: null }),
  };
}
