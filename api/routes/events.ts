import { z } from 'zod';
import { geodesicAreaKm2, pixelHull, ringCentroid } from '../../schemas/geo/hull.ts';
import { LATTICE } from '../../schemas/geo/lattice.ts';
import type { Position } from '../../schemas/geo/position.ts';
import type { PixelSet } from '../../schemas/geo/rings.ts';
import { EVENTS_EXAMPLE, Events } from '../../schemas/resources/event-day.ts';
import { dateRange } from '../../schemas/resources/fields.ts';
import { isOneRegion, ONE_REGION } from '../../schemas/resources/region-box.ts';
import { EVENT_MIN_MM } from '../../schemas/size.ts';
import { monthOf, timestamp } from '../../schemas/time.ts';
import { bboxQuery, dateQuery, stateQuery } from '../http/decode.ts';
import { ApiError } from '../http/errors.ts';
import { forEachInChunks } from '../http/event-loop.ts';
import type { Edition } from '../published/catalog.ts';
import type { Engine } from '../published/duckdb.ts';
import { datesWithoutData } from '../queries/dates-without-data.ts';
import { FILES, type RegionPixels, regionFilter } from '../queries/sql.ts';
import { rangeFault } from '../rules/date-range.ts';
import { type Region, regionOf, shownBox } from '../rules/region.ts';
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
  .check(...dateRange('date_start', 'date_end', DAYS_MAX));

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
function swathUrl(date: string, { bbox, state }: z.infer<typeof EventsQuery>): string {
  const region = bbox !== null ? `&bbox=${bbox.join(',')}` : state !== null ? `&state=${state}` : '';
  return `/v1/hail/swaths?date=${date}${region}`;
}

/** Tables that events read: figures come from detections, like those of swaths, so that both are equal. */
const EVENT_TABLES = ['day-max', 'detections'] as const;

const MONTHS_AT_A_TIME = 4;
/** Hulls made before other requests get a turn: one of the whole country takes 2 ms. */
const HULLS_AT_A_TIME = 4;

/** Event days of a region from a storm date to a storm date, both included; oldest first. */
export async function eventDays(engine: Engine, edition: Edition, region: Region, first: string, last: string) {
  const { window, runs, bbox } = region;
  if (window === null) return [];
  const pixels = { window, runs };
  const near = { bbox, min_size_mm: EVENT_MIN_MM };
  const events: RegionDay[] = [];
  for (const dates of stretches(edition.datesBetween(first, last))) {
    const [from, to] = [dates[0] as string, dates.at(-1) as string];
    const severe = await severeDates(engine, edition.dayMaxPaths(from, to, near), pixels);
    const asked = dates.filter((date) => severe.has(date));
    const days = await severeDays(engine, edition.paths('detections', asked, near), pixels);
    await forEachInChunks(days, HULLS_AT_A_TIME, ({ lines, ...day }) => {
      const hull = pixelHull(endsOf(lines));
      events.push({ ...day, affected_area_km2: geodesicAreaKm2(hull), centroid: ringCentroid(hull) });
    });
  }
  return events;
}

/** Dates in groups of MONTHS_AT_A_TIME whole months, so that a year of the whole country fits into memory. */
function stretches(dates: readonly string[]): string[][] {
  const months = [...new Set(dates.map(monthOf))];
  const stretchOf = (date: string) => Math.floor(months.indexOf(monthOf(date)) / MONTHS_AT_A_TIME);
  return [...Map.groupBy(dates, stretchOf).values()];
}

/** Sums over the detections >= 19 mm of a region on a storm date; instants are epoch milliseconds. */
interface SevereDay {
  readonly event_date: string;
  readonly cell_count: number;
  readonly max_size_mm: number;
  readonly n_detections: number;
  readonly first_detected: number;
  readonly last_detected: number;
  /**
   * One number per lattice row with pixels >= 19 mm, as text with blanks between: row, first and last column in the number
   * system of LATTICE.cols. A list of numbers would take a hundred times the memory for a year of the whole country.
   */
  readonly lines: string;
}

type RegionDay = Omit<SevereDay, 'lines'> & { readonly affected_area_km2: number; readonly centroid: Position };

/**
 * Dates with a pixel >= 19 mm in the region: those of which a scan saw one, as the day maxima know without looking at every
 * scan. Small regions have few of them.
 */
async function severeDates(engine: Engine, paths: readonly string[], region: RegionPixels) {
  if (paths.length === 0) return new Set();
  const filter = regionFilter(region, 2);
  const rows = await engine.rows<{ storm_date: string }>(
    `SELECT DISTINCT storm_date::VARCHAR AS storm_date FROM ${FILES}
     ${filter.sql} AND max_mm >= ${EVENT_MIN_MM} AND NOT interpolated`,
    [paths, ...filter.parameters],
  );
  return new Set(rows.map(({ storm_date }) => storm_date));
}

/** Sums over the detections >= 19 mm of the region. A cell without a track is a storm of its scan; a pixel of no cell is of none. */
async function severeDays(engine: Engine, paths: readonly string[], region: RegionPixels): Promise<SevereDay[]> {
  if (paths.length === 0) return [];
  const filter = regionFilter(region, 2);
  return engine.rows<SevereDay>(
    `WITH line AS (
       SELECT storm_date, "row", max(estimated_size_mm) AS mm, count(*) AS n, min(scan_time) AS since, max(scan_time) AS until,
         min(col) AS west, max(col) AS east,
         list(DISTINCT coalesce(track_id, concat(scan_time, ' ', cell_index))) FILTER (cell_index IS NOT NULL) AS storms
       FROM ${FILES} ${filter.sql} AND estimated_size_mm >= ${EVENT_MIN_MM}
       GROUP BY storm_date, "row")
     SELECT storm_date::VARCHAR AS event_date, max(mm) AS max_size_mm, sum(n)::DOUBLE AS n_detections,
       coalesce(len(list_distinct(flatten(list(storms) FILTER (storms IS NOT NULL)))), 0)::DOUBLE AS cell_count,
       epoch_ms(min(since))::DOUBLE AS first_detected, epoch_ms(max(until))::DOUBLE AS last_detected,
       string_agg((("row"::BIGINT * ${LATTICE.cols} + west) * ${LATTICE.cols} + east)::VARCHAR, ' ') AS lines
     FROM line GROUP BY storm_date ORDER BY storm_date`,
    [paths, ...filter.parameters],
  );
}

/** The first and the last pixel of each line: the others are inside the hull. */
function endsOf(lines: string): PixelSet {
  const numbers = lines.split(' ').map(Number);
  return {
    rows: numbers.map((line) => Math.floor(line / LATTICE.cols ** 2)).flatMap((row) => [row, row]),
    cols: numbers.flatMap((line) => [Math.floor(line / LATTICE.cols) % LATTICE.cols, line % LATTICE.cols]),
  };
}
