import { z } from 'zod';
import { DETECTION_MIN_MM } from '../../../schemas/size.ts';
import { daysBetween } from '../../../schemas/time.ts';
import { dateQuery, latitudeQuery, longitudeQuery } from '../../http/decode.ts';
import { ApiError } from '../../http/errors.ts';
import { dayHail } from '../../queries/history.ts';
import { tracksOfHail } from '../../queries/track.ts';
import { getHailHistory, historyEvent, historyPrice } from '../../routes/hail-history.ts';
import { rangeFault } from '../../rules/date-range.ts';
import { readEndpoint } from '../../server/endpoint.ts';
import { earlier, takenOver } from '../endpoint.ts';
import { damageEstimate, EarlierHistory } from '../resources.ts';
import { simulatedHistory } from '../simulated-data.ts';

const RADIUS_KM = 25;
const DAYS_MAX = 365;

const Question = z
  .object({
    lat: latitudeQuery(),
    lng: longitudeQuery(),
    start_date: dateQuery({ required: true, description: 'First storm date.' }),
    end_date: dateQuery({ required: true, description: 'Last storm date, included.' }),
  })
  .refine(({ start_date, end_date }) => start_date <= end_date, {
    path: ['end_date'],
    error: 'is before start_date, expected the same date or a later one',
  })
  .refine(({ start_date, end_date }) => daysBetween(start_date, end_date) <= DAYS_MAX, {
    path: ['end_date'],
    error: `is too far from start_date, expected at most ${DAYS_MAX} days with both ends`,
  });
type Question = z.infer<typeof Question>;

/**
 * GET /legacy/v1/hail/history?lat=35.22&lng=-97.44&start_date=2026-05-01&end_date=2026-05-31
 *
 * Asks what GET /v1/hail/history asks, over dates that are said instead of the last ones.
 */
export const earlierHailHistory = earlier(
  readEndpoint({
    ...takenOver(getHailHistory),
    route: 'GET /v1/hail/history',
    summary: 'Storm days with hail around a point',
    description:
      'The largest hail within 25 km of each storm date with a detection, 10 mm or more, of at most 365 days. The cost follows the span as asked: 15, 25, 40 or 60 credits up to 30, 90, 180 or 365 days.',
    query: Question,
    reply: EarlierHistory,
    price: ({ query: { start_date, end_date } }) => historyPrice(daysBetween(start_date, end_date), 'standard'),
    plan: ({ query, edition, now_ms }) => {
      checkDates(query, now_ms);
      return { dates: edition.datesBetween(query.start_date, query.end_date) };
    },
    answer: async ({ query, edition, services }) => {
      const { lat, lng: lon, start_date: first, end_date: last } = query;
      const reach = { lat, lon, radius_km: RADIUS_KM, first, last, min_size_mm: DETECTION_MIN_MM };
      const days = await dayHail(services, edition, { ...reach, limit: DAYS_MAX });
      const storms = await tracksOfHail(services.engine, edition, days);
      const body = days.map((day) => {
        const { storm_date, duration_minutes, hail } = historyEvent(day);
        return {
          date: storm_date,
          max_size_mm: hail.estimated_size_mm,
          duration_minutes,
          damage_estimate: damageEstimate(day.max_mm),
          storm_id: storms.get(storm_date) ?? null,
        };
      });
      return { body };
    },
    simulate: ({ query, now_ms }) => {
      checkDates(query, now_ms);
      return simulatedHistory(query);
    },
  }),
  { query: { lat: '35.22', lng: '-97.44', start_date: '2026-04-03', end_date: '2026-05-01' } },
);

/** Throws `invalid_parameter` for what lies in the future. */
function checkDates({ start_date, end_date }: Question, now_ms: number): void {
  const fault = rangeFault({ date_start: start_date, date_end: end_date }, now_ms, ['start_date', 'end_date']);
  if (fault !== null) throw new ApiError('invalid_parameter', `${fault.name} ${fault.reason}`);
}
