import { z } from 'zod';
import type { Bbox } from '../../schemas/geo/position.ts';
import { Events } from '../../schemas/resources/event-day.ts';
import { regionBox } from '../../schemas/resources/region-box.ts';
import { EVENT_MIN_MM } from '../../schemas/size.ts';
import { daysBetween, timestamp } from '../../schemas/time.ts';
import { bboxQuery, dateQuery, stateQuery } from '../decode.ts';
import { readEndpoint } from '../endpoint.ts';
import { ApiError } from '../errors.ts';
import { datesWithoutData } from '../queries/dates-without-data.ts';
import { EVENT_TABLES, eventDays } from '../queries/events.ts';
import { rangeFault } from '../rules/date-range.ts';
import { regionOf } from '../rules/region.ts';
import { rounded } from '../rules/rounded.ts';

const DAYS_MAX = 365;

const EventsQuery = z
  .object({
    date_start: dateQuery({ required: true, description: 'First storm date.' }),
    date_end: dateQuery({ required: true, description: 'Last storm date, included.' }),
    bbox: bboxQuery(),
    state: stateQuery(),
  })
  .refine(({ bbox, state }) => bbox === null || state === null, {
    path: ['bbox'],
    error: 'is given together with state, expected one of them',
  })
  .refine(({ date_start, date_end }) => date_start <= date_end, {
    path: ['date_end'],
    error: 'is before date_start, expected the same date or a later one',
  })
  .refine(({ date_start, date_end }) => daysBetween(date_start, date_end) <= DAYS_MAX, {
    path: ['date_end'],
    error: `is too far from date_start, expected at most ${DAYS_MAX} days with both ends`,
  });
type EventsQuery = z.infer<typeof EventsQuery>;

export const listEvents = readEndpoint({
  method: 'GET',
  path: '/v1/events',
  group: 'Hail detection',
  summary: 'Storm days with hail in a region',
  description:
    'One row per storm date on which the region had a detection of at least 19 mm, oldest first, at most 365 days. Every figure of a row counts detections of at least 19 mm, as the swaths it leads to do. Without bbox or state the region is CONUS. A pixel belongs to the state whose outline holds its centre.',
  scope: 'events:read',
  params: null,
  query: EventsQuery,
  body: null,
  reply: Events,
  example: {
    query: { date_start: '2026-05-01', date_end: '2026-05-31', bbox: '-98,34,-96,36' },
    reply: {
      date_range: { start: '2026-05-01', end: '2026-05-31' },
      area_method: 'convex_hull',
      min_size_mm: 19,
      region: { bbox: { minLat: 34, maxLat: 36, minLon: -98, maxLon: -96 } },
      events: [
        {
          event_date: '2026-05-01',
          cell_count: 4,
          max_size_mm: 48.5,
          n_detections: 2210,
          affected_area_km2: 1835.6,
          centroid: { lat: 35.21, lon: -97.12 },
          first_detected: '2026-05-01T20:12:00Z',
          last_detected: '2026-05-01T23:58:00Z',
          swath_url: '/v1/hail/swaths?date=2026-05-01&bbox=-98,34,-96,36',
        },
      ],
      event_count: 1,
      dates_without_data: [],
      data_as_of: '2026-05-31T23:58:00Z',
    },
  },
  price: () => ({ operation: 'events.list', credits: 15, count: 1 }),
  plan: ({ query, edition, now_ms }) => {
    checkDates(query, now_ms);
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
        region: { bbox: regionBox(region.bbox) },
        events: days.map((day) => ({
          event_date: day.event_date,
          cell_count: day.cell_count,
          max_size_mm: rounded(day.max_size_mm, 1),
          n_detections: day.n_detections,
          affected_area_km2: rounded(day.affected_area_km2, 1),
          centroid: { lat: rounded(day.centroid.lat, 5), lon: rounded(day.centroid.lon, 5) },
          first_detected: timestamp(day.first_detected),
          last_detected: timestamp(day.last_detected),
          swath_url: swathUrl(day.event_date, query),
        })),
        event_count: days.length,
        dates_without_data: datesWithoutData(edition, date_start, date_end),
        data_as_of: as_of_ms === null ? null : timestamp(as_of_ms),
      },
    };
  },
});

/** Throws `invalid_parameter` for what lies in the future; a day is allowed for time zones at the end. */
function checkDates({ date_start, date_end }: EventsQuery, now_ms: number): void {
  const fault = rangeFault({ date_start, date_end }, now_ms);
  if (fault !== null) throw new ApiError('invalid_parameter', `${fault.name} ${fault.reason}`);
}

/** The region as it was asked for, so that the swaths are of the same pixels. */
function swathUrl(
  date: string,
  { bbox, state }: { readonly bbox: Bbox | null; readonly state: string | null },
): string {
  const region = bbox !== null ? `&bbox=${bbox.join(',')}` : state !== null ? `&state=${state}` : '';
  return `/v1/hail/swaths?date=${date}${region}`;
}
