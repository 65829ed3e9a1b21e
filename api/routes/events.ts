import { z } from 'zod';
import type { Bbox } from '../../schemas/geo/position.ts';
import { EVENTS_EXAMPLE, Events } from '../../schemas/resources/event-day.ts';
import { isOneRegion, ONE_REGION } from '../../schemas/resources/region-box.ts';
import { EVENT_MIN_MM } from '../../schemas/size.ts';
import { daysBetween, timestamp } from '../../schemas/time.ts';
import { bboxQuery, dateQuery, stateQuery } from '../http/decode.ts';
import { ApiError } from '../http/errors.ts';
import { datesWithoutData } from '../queries/dates-without-data.ts';
import { EVENT_TABLES, eventDays } from '../queries/events.ts';
import { rangeFault } from '../rules/date-range.ts';
import { regionOf, shownBox } from '../rules/region.ts';
import { rounded, roundedPosition } from '../rules/rounded.ts';
import { flatPrice, readEndpoint } from '../server/endpoint.ts';

const DAYS_MAX = 365;

const EventsQuery = z
  .object({
    date_start: dateQuery({ required: true, description: 'First storm date.' }),
    date_end: dateQuery({ required: true, description: 'Last storm date, included.' }),
    bbox: bboxQuery(),
    state: stateQuery(),
  })
  .refine(isOneRegion, ONE_REGION)
  .refine(({ date_start, date_end }) => date_start <= date_end, {
    path: ['date_end'],
    error: 'is before date_start, expected the same date or a later one',
  })
  .refine(({ date_start, date_end }) => daysBetween(date_start, date_end) <= DAYS_MAX, {
    path: ['date_end'],
    error: `is too far from date_start, expected at most ${DAYS_MAX} days with both ends`,
  });

export const listEvents = readEndpoint({
  route: 'GET /v1/events',
  group: 'Hail detection',
  summary: 'Storm days with hail in a region',
  description:
    'One row per storm date on which the region had a detection of at least 19 mm, oldest first, at most 365 days. Every figure of a row counts detections of at least 19 mm, as the swaths it leads to do. Without bbox or state the region is CONUS. A pixel belongs to the state whose outline holds its centre.',
  scope: 'events:read',
  query: EventsQuery,
  reply: Events,
  example: EVENTS_EXAMPLE,
  price: flatPrice('events.list', 15),
  plan: ({ query, edition, now_ms }) => {
    const fault = rangeFault(query, now_ms);
    if (fault !== null) throw new ApiError('invalid_parameter', `${fault.name} ${fault.reason}`);
    const dates = edition.datesBetween(query.date_start, query.date_end);
    const as_of_ms = edition.dataAsOf(dates);
    return { dates, as_of_ms, version: `${edition.version(EVENT_TABLES, dates)} ${as_of_ms}` };
  },
  answer: async ({ query, services, edition, plan: { as_of_ms } }) => {
    const { date_start, date_end } = query;
    const region = regionOf(query);
    const days = await eventDays(services.engine, edition, region, date_start, date_end);
    return {
      body: {
        date_range: { start: date_start, end: date_end },
        area_method: 'convex_hull' as const,
        min_size_mm: EVENT_MIN_MM,
        region: { bbox: shownBox(region) },
        events: days.map((day) => ({
          event_date: day.event_date,
          cell_count: day.cell_count,
          max_size_mm: rounded(day.max_size_mm, 1),
          n_detections: day.n_detections,
          affected_area_km2: rounded(day.affected_area_km2, 1),
          centroid: roundedPosition(day.centroid),
          first_detected: timestamp(day.first_detected),
          last_detected: timestamp(day.last_detected),
          swath_url: swathUrl(day.event_date, query),
        })),
        event_count: days.length,
        dates_without_data: datesWithoutData(edition, date_start, date_end, region),
        note: region.note,
        data_as_of: timestamp(as_of_ms),
      },
    };
  },
});

/** Path of the swaths of the same region as in the question, and so of the same pixels. */
function swathUrl(
  date: string,
  { bbox, state }: { readonly bbox: Bbox | null; readonly state: string | null },
): string {
  const region = bbox !== null ? `&bbox=${bbox.join(',')}` : state !== null ? `&state=${state}` : '';
  return `/v1/hail/swaths?date=${date}${region}`;
}
