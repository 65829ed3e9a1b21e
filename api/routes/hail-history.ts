import { z } from 'zod';
import { DETAILS, type Detail } from '../../schemas/resources/fields.ts';
import { HAIL_HISTORY_EXAMPLE, HailHistory, type HistoryEvent } from '../../schemas/resources/history-event.ts';
import { DETECTION_MIN_MM, sizeCategory } from '../../schemas/size.ts';
import { dayMax, frames } from '../../schemas/tables/radar.ts';
import { addDays, stormDate, timestamp } from '../../schemas/time.ts';
import type { Price } from '../billing/ledger.ts';
import { enumQuery, integerQuery, numberQuery, pointQuery, radiusQuery } from '../http/decode.ts';
import { forEachInChunks } from '../http/event-loop.ts';
import { datesWithoutData } from '../queries/dates-without-data.ts';
import { type DayHail, dayHail } from '../queries/history.ts';
import { radarCoverage } from '../queries/radar-coverage.ts';
import { monthOfYear, pixelQuality } from '../rules/detection-quality.ts';
import { radarBlock } from '../rules/radar-block.ts';
import { radarGapsOf } from '../rules/radar-coverage.ts';
import { rounded, roundedPosition } from '../rules/rounded.ts';
import { readEndpoint } from '../server/endpoint.ts';

/** Events per chunk, after which other requests may run: 10 ms of advanced blocks with new radar geometry. */
const CHUNK = 40;
/** Price by the longest look-back of a band, days. */
const BANDS = [
  { days: 30, standard: 15, advanced: 25 },
  { days: 90, standard: 25, advanced: 35 },
  { days: 180, standard: 40, advanced: 55 },
  { days: 365, standard: 60, advanced: 80 },
] as const;

export const getHailHistory = readEndpoint({
  route: 'GET /v1/hail/history',
  group: 'Hail detection',
  summary: 'Storm days with hail around a point',
  description:
    'One event per storm date with a detection (10 mm or more) in the radius: its largest hail. The cost follows days as asked: 15, 25, 40 or 60 credits up to 30, 90, 180 or 365 days (advanced 25, 35, 55, 80). days counts storm dates, today included. radar_gaps tells when radar did not see the point: a date without an event says nothing about those times.',
  scope: 'hail:read',
  query: z.object({
    ...pointQuery,
    radius_km: radiusQuery({ max: 100, default: 25 }),
    days: integerQuery({ min: 1, max: 365, default: 30, description: 'Storm dates looked at, today included.' }),
    min_size_mm: numberQuery({
      min: 0,
      exclusiveMin: true,
      max: 200,
      description: 'Smallest size that makes an event; absent, every detection does.',
      unit: 'mm',
    }),
    limit: integerQuery({ min: 1, max: 200, default: 50, description: 'Most events; the newest are kept.' }),
    detail: enumQuery(DETAILS, 'standard', { description: 'advanced adds radar and detection_quality.' }),
  }),
  reply: HailHistory,
  example: HAIL_HISTORY_EXAMPLE,
  priced: DETAILS.flatMap((detail) => BANDS.map(({ days }) => `days=${days}&detail=${detail}`)),
  price: ({ query: { days, detail } }) => historyPrice(days, detail),
  plan: ({ query: { days }, now_ms, edition, services: { storm_day_start_hour, terrain } }) => {
    const last = stormDate(now_ms, storm_day_start_hour);
    const first = addDays(last, 1 - days);
    const dates = edition.datesBetween(first, last);
    const [month, model] = [monthOfYear(now_ms), terrain.model()];
    // The last scan before the first date counts for its first minutes.
    const read = edition.datesBetween(addDays(first, -1), last);
    const rows = edition.version([dayMax.name, 'detections', frames.name], read);
    const version = `${first} ${last} ${rows} ${edition.newest_scan_ms} month ${month} terrain ${model?.version}`;
    return { dates, first, last, month, model, version };
  },
  answer: async ({ query, edition, plan: { first, last, month, model }, services }) => {
    const [found, radar] = await Promise.all([
      dayHail(services, edition, { ...query, first, last, min_size_mm: query.min_size_mm ?? DETECTION_MIN_MM }),
      radarCoverage(services.engine, edition, first, last, services.storm_day_start_hour),
    ]);
    const radar_gaps = radarGapsOf(datesWithoutData(edition, first, last), radar.at(query));
    const events: HistoryEvent[] = [];
    await forEachInChunks(found, CHUNK, (day) => {
      const event = historyEvent(day);
      if (query.detail === 'standard') return events.push(event);
      const radar = radarBlock(day.max_mm, day, day, day.max_time, model);
      return events.push({ ...event, radar, detection_quality: pixelQuality(day, month, model) });
    });
    return {
      body: {
        events,
        count: events.length,
        detail: query.detail,
        radar_gaps,
        data_timestamp: timestamp(edition.newest_scan_ms),
      },
    };
  },
});

/** Price of a history by its number of storm dates. */
export function historyPrice(days: number, detail: Detail): Price {
  const band = BANDS.find((one) => days <= one.days) ?? BANDS[3];
  const advanced = detail === 'advanced' ? '.advanced' : '';
  return { operation: `hail.history.${band.days}d${advanced}`, credits: band[detail], count: 1 };
}

/** The largest hail of a storm date as answers show it. */
export function historyEvent(day: DayHail): HistoryEvent {
  return {
    storm_date: day.storm_date,
    location: { ...roundedPosition(day), geohash5: day.geohash5 },
    distance_km: rounded(day.distance_km, 2),
    first_detected: timestamp(day.place_first_detected),
    last_detected: timestamp(day.place_last_detected),
    duration_minutes: rounded(day.place_duration_min, 1),
    scan_count: day.place_scans,
    hail: {
      estimated_size_mm: rounded(day.max_mm, 1),
      size_category: sizeCategory(day.max_mm),
      confidence: rounded(day.confidence, 3),
    },
  };
}
