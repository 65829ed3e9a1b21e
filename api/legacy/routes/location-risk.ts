import { z } from 'zod';
import { MONTHS, RISK_RADIUS_KM } from '../../../schemas/risk.ts';
import { EVENT_MIN_MM } from '../../../schemas/size.ts';
import type { ClimatologyCell } from '../../../schemas/tables/derived.ts';
import { addDays, stormDate } from '../../../schemas/time.ts';
import { ApiError } from '../../http/errors.ts';
import { findLocation } from '../../portfolio/locations.ts';
import { dayHail } from '../../queries/history.ts';
import { getHailRisk } from '../../routes/hail-risk.ts';
import { cellOf } from '../../rules/hail-risk.ts';
import { rounded } from '../../rules/rounded.ts';
import { readEndpoint } from '../../server/endpoint.ts';
import { spokenFor, takenOver } from '../endpoint.ts';
import { EARLIER_RISK_EXAMPLE } from '../examples.ts';
import { EarlierRisk } from '../resources.ts';
import { trendOfYears } from '../rules.ts';
import { simulatedRisk } from '../simulated-data.ts';
import { envelope } from '../variant.ts';

/** The last years, which are held against those before. */
const RECENT_DAYS = 730;

/** GET /legacy/v1/locations/{id}/risk */
export const earlierLocationRisk = readEndpoint({
  ...takenOver(getHailRisk),
  ...spokenFor({
    path: '/locations/{id}/risk',
    summary: 'Risk of hail at a saved location',
    description:
      'Climatological risk of the place, as GET /v1/hail/risk tells it, whether its hail days became more or fewer, and the last of them. The location is one of the portfolio.',
    params: z.object({ id: z.string().meta({ description: 'Id of a saved location.' }) }),
    query: null,
    body: null,
    data: EarlierRisk,
    example: EARLIER_RISK_EXAMPLE,
    simulate: ({ params: { id }, now_ms }) => simulatedRisk(id, now_ms),
  }),
  cacheable: false,
  price: () => getHailRisk.price({ params: null, query: null, body: null }),
  plan: ({ now_ms, edition, services: { climatology, storm_day_start_hour } }) => {
    const table = climatology.table();
    const last = stormDate(now_ms, storm_day_start_hour);
    const first = edition.dates[0] ?? last;
    return {
      dates: edition.datesBetween(first, last),
      first,
      provenance: table?.provenance ?? null,
      table,
      last,
    };
  },
  answer: async (input) => {
    const { params, caller, edition, services, plan } = input;
    const { dates, table, first, last } = plan;
    const location = await findLocation(services.records.reader, caller.business_id, params.id);
    if (location === null) throw new ApiError('not_found', 'no such location');
    const days = await dayHail(services, edition, {
      lat: location.lat,
      lon: location.lon,
      radius_km: RISK_RADIUS_KM,
      first,
      last,
      min_size_mm: EVENT_MIN_MM,
      limit: Number.POSITIVE_INFINITY,
      products: false,
    });
    const recent_from = addDays(last, 1 - RECENT_DAYS);
    const countIn = (isIn: (date: string) => boolean) => ({
      days: days.filter(({ storm_date }) => isIn(storm_date)).length,
      dates: dates.filter(isIn).length,
    });
    const [newest] = days;
    const cell = table?.cell(cellOf(location)) ?? null;
    const data: EarlierRisk = {
      location_id: location.id,
      risk_score: cell?.annual_score ?? null,
      annual_hail_days: cell === null ? null : rounded(expectedDays(cell), 2),
      trend: trendOfYears(
        countIn((date) => date < recent_from),
        countIn((date) => date >= recent_from),
      ),
      last_event: newest === undefined ? null : { date: newest.storm_date, max_size_mm: rounded(newest.max_mm, 1) },
    };
    return { body: envelope(data, input) };
  },
});

/** Expected days a year with hail of 19 mm and more: those of the months, whose probability p of at least one such day is 1 - exp(-days). */
function expectedDays(cell: ClimatologyCell): number {
  return MONTHS.reduce((sum, month) => sum - Math.log1p(-cell[`any_${month}`]), 0);
}
