import { z } from 'zod';
import { MONTHS, RISK_RADIUS_KM } from '../../../schemas/risk.ts';
import { EVENT_MIN_MM } from '../../../schemas/size.ts';
import type { ClimatologyCell } from '../../../schemas/tables/derived.ts';
import { addDays, stormDate } from '../../../schemas/time.ts';
import { ApiError } from '../../http/errors.ts';
import { dayHail } from '../../queries/history.ts';
import { ownRow } from '../../records/own-rows.ts';
import { getHailRisk } from '../../routes/hail-risk.ts';
import { cellOf } from '../../rules/hail-risk.ts';
import { rounded } from '../../rules/rounded.ts';
import { readEndpoint } from '../../server/endpoint.ts';
import { earlier, takenOver } from '../endpoint.ts';
import { EarlierRisk, trendOfYears } from '../resources.ts';
import { simulatedRisk } from '../simulated-data.ts';

/** The last years, which are held against those before. */
const RECENT_DAYS = 730;

/** GET /legacy/v1/locations/{id}/risk */
export const earlierLocationRisk = earlier(
  readEndpoint({
    ...takenOver(getHailRisk),
    route: 'GET /v1/locations/{id}/risk',
    summary: 'Risk of hail at a saved location',
    description:
      'Climatological risk of the place, as GET /v1/hail/risk tells it, whether its hail days became more or fewer, and the last of them. The location is one of the portfolio.',
    params: z.object({ id: z.string().meta({ description: 'Id of a saved location.' }) }),
    reply: EarlierRisk,
    price: () => getHailRisk.price({ params: null, query: null, body: null }),
    plan: ({ now_ms, edition, services: { climatology, storm_day_start_hour } }) => {
      const table = climatology.table();
      const last = stormDate(now_ms, storm_day_start_hour);
      const first = edition.dates[0] ?? last;
      const dates = edition.datesBetween(first, last);
      return { dates, first, last, table, provenance: table?.provenance ?? null };
    },
    answer: async ({ params, caller, edition, services, plan: { dates, table, first, last } }) => {
      const location = await ownRow(services.records.reader, 'portfolio_locations', {
        business_id: caller.business_id,
        id: params.id,
      });
      if (location === null) throw new ApiError('not_found', 'no such location');
      const { lat, lon } = location;
      const reach = { lat, lon, radius_km: RISK_RADIUS_KM, first, last, min_size_mm: EVENT_MIN_MM };
      const days = await dayHail(services, edition, { ...reach, limit: Number.POSITIVE_INFINITY });
      const recent_from = addDays(last, 1 - RECENT_DAYS);
      const countIn = (isIn: (date: string) => boolean) => ({
        days: days.filter(({ storm_date }) => isIn(storm_date)).length,
        dates: dates.filter(isIn).length,
      });
      const [newest] = days;
      const cell = table?.cell(cellOf(location)) ?? null;
      const body: EarlierRisk = {
        location_id: location.id,
        risk_score: cell?.annual_score ?? null,
        annual_hail_days: cell === null ? null : rounded(expectedDays(cell), 2),
        trend: trendOfYears(
          countIn((date) => date < recent_from),
          countIn((date) => date >= recent_from),
        ),
        last_event: newest === undefined ? null : { date: newest.storm_date, max_size_mm: rounded(newest.max_mm, 1) },
      };
      return { body };
    },
    simulate: ({ params: { id }, now_ms }) => simulatedRisk(id, now_ms),
  }),
  { params: { id: 'loc_01KAJ3W9QZ6R8V2T4X5Y7A9B0C' } },
);

/** Expected days a year with hail of 19 mm and more: those of the months, whose probability p of at least one such day is 1 - exp(-days). */
function expectedDays(cell: ClimatologyCell): number {
  return MONTHS.reduce((sum, month) => sum - Math.log1p(-cell[`any_${month}`]), 0);
}
