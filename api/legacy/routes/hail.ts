import { z } from 'zod';
import { WSR88D } from '../../../schemas/reference/wsr88d.ts';
import { dateRange } from '../../../schemas/resources/fields.ts';
import type { ScanTiles } from '../../../schemas/resources/tile-frame.ts';
import { MONTHS, RISK_RADIUS_KM } from '../../../schemas/risk.ts';
import { DETECTION_MIN_MM, EVENT_MIN_MM } from '../../../schemas/size.ts';
import type { ClimatologyCell } from '../../../schemas/tables/derived.ts';
import { addDays, daysBetween, MS_PER_HOUR, stormDate, timestamp } from '../../../schemas/time.ts';
import { dateQuery, integerQuery, pointQuery, radiusQuery, wordsQuery } from '../../http/decode.ts';
import { ApiError, found } from '../../http/errors.ts';
import { archiveUrl, newestReflectivity, type PublicAddresses } from '../../published/archives/tile-archives.ts';
import type { Edition } from '../../published/catalog.ts';
import { dayHail } from '../../queries/history.ts';
import { tracksOfHail } from '../../queries/track.ts';
import { ownRow } from '../../records/own-rows.ts';
import { getHailForecast } from '../../routes/hail-forecast.ts';
import { getHailHistory, historyEvent, historyPrice } from '../../routes/hail-history.ts';
import { getHailRisk } from '../../routes/hail-risk.ts';
import { listStorms } from '../../routes/storms.ts';
import { getScanTiles } from '../../routes/tiles.ts';
import { rangeFault } from '../../rules/date-range.ts';
import { cellOf } from '../../rules/hail-risk.ts';
import { nearestWithin } from '../../rules/nearest.ts';
import { rounded } from '../../rules/rounded.ts';
import { readEndpoint } from '../../server/endpoint.ts';
import { earlier, earlierOf, takenOver } from '../endpoint.ts';
import {
  damageEstimate,
  EarlierForecast,
  EarlierHistory,
  EarlierRadar,
  EarlierRisk,
  EarlierStorms,
  forecastConfidence,
  RADAR_PRODUCTS,
  type RadarProduct,
  trendOfYears,
} from '../resources.ts';
import { simulatedForecast, simulatedHistory, simulatedRisk, simulatedStorms } from '../simulated-data.ts';

const POINT = { lat: pointQuery.lat, lng: pointQuery.lon };
const AT = { lat: '35.22', lng: '-97.44' };

/** GET /legacy/v1/hail/current?lat=35.22&lng=-97.44 */
export const earlierHailCurrent = earlierOf(listStorms, {
  path: '/v1/hail/current',
  summary: 'Storms with hail around a point',
  description:
    'Tracked storm cells as the newest scan shows them, nearest first: those of GET /v1/storms. Hail without a tracked storm, in its first scan or too small, is not listed. An empty list says nothing about now while no scans come: GET /legacy/v1/health tells. direction_deg is the direction towards which a storm moves.',
  query: z.object({
    ...POINT,
    radius_km: radiusQuery({ max: 150, default: 25 }),
  }),
  reply: EarlierStorms,
  asked: { query: AT },
  toCurrent: ({ query: { lat, lng, radius_km } }) => ({
    query: { lat, lon: lng, radius_km, detail: 'standard' as const },
  }),
  fromCurrent: ({ cells }) =>
    cells.map(({ track_id, lat, lon, scan_time, motion, hail }) => ({
      storm_id: track_id,
      coordinates: { lat, lng: lon },
      mesh_size_mm: hail.estimated_size_mm,
      probability: hail.ml_probability,
      detected_at: scan_time,
      direction_deg: motion.direction_deg,
      speed_kph: motion.speed_kmh,
    })),
  simulate: ({ query, now_ms }) => simulatedStorms(query, now_ms),
});

/** GET /legacy/v1/hail/forecast?lat=35.22&lng=-97.44&hours=6 */
export const earlierHailForecast = earlierOf(getHailForecast, {
  path: '/v1/hail/forecast',
  summary: 'Hail of the next hours at a point',
  description:
    'The hours of GET /v1/hail/forecast, the current one included. There is no forecast beyond the reach of the runs or outside the area of the model: the list is then shorter than requested, or empty, which does not mean that no hail is expected.',
  query: z.object({
    ...POINT,
    hours: integerQuery({ min: 1, max: 48, default: 12, description: 'Hours to tell, the running one included.' }),
  }),
  reply: EarlierForecast,
  asked: { query: { ...AT, hours: '2' } },
  toCurrent: ({ query: { lat, lng, hours } }) => ({ query: { lat, lon: lng, hours } }),
  fromCurrent: ({ hourly }, { now_ms }) =>
    hourly.map(({ valid_time, hail_probability, estimated_size_mm }) => ({
      time: valid_time,
      probability: hail_probability,
      max_size_mm: estimated_size_mm,
      confidence: forecastConfidence(Math.ceil((Date.parse(valid_time) - now_ms) / MS_PER_HOUR)),
    })),
  simulate: ({ query, now_ms }) => simulatedForecast(query, now_ms),
});

type Picture = Omit<EarlierRadar['products'][number], 'type'>;

/** Half of the way round the Earth: some radar is nearer. */
const ANYWHERE_KM = 20_100;
/** The question for the newest pictures. */
const NEWEST = { params: null, query: { date: null }, body: null };

const RadarQuestion = z.object({
  ...POINT,
  products: wordsQuery(RADAR_PRODUCTS, { description: 'Products, between commas.' }),
});

/** GET /legacy/v1/radar/current?lat=35.22&lng=-97.44&products=mesh */
export const earlierRadarCurrent = earlier(
  readEndpoint({
    ...takenOver(getScanTiles),
    route: 'GET /v1/radar/current',
    summary: 'Newest radar pictures at a point',
    description:
      'The nearest WSR-88D radar, and for each product the archive of the newest scan. The archives cover all radars, are public and never change: this call only tells where they are.',
    query: RadarQuestion,
    reply: EarlierRadar,
    price: () => getScanTiles.price(NEWEST),
    plan: (input) => getScanTiles.plan?.({ ...input, ...NEWEST }) ?? { dates: [] },
    answer: async ({ query, ...input }) => {
      const { body } = await getScanTiles.answer({ ...input, ...NEWEST });
      const pictures: Readonly<Record<RadarProduct, Picture>> = {
        reflectivity: await reflectivityOf(input.edition, input.services),
        velocity: none('The source of the scans, NOAA MRMS, publishes no velocity.'),
        mesh: meshOf(body as ScanTiles),
      };
      return { body: radarAt(query, (type) => pictures[type]) };
    },
    simulate: ({ query }) => radarAt(query, () => none('Simulated answers have no pictures.')),
  }),
  { query: { ...AT, products: 'mesh,velocity' } },
);

function radarAt({ lat, lng, products }: z.infer<typeof RadarQuestion>, pictureOf: (type: RadarProduct) => Picture) {
  const nearest = nearestWithin({ lat, lon: lng }, WSR88D, ANYWHERE_KM);
  if (nearest === null) throw new TypeError('there is no radar on Earth');
  return { station: nearest.item.id, products: products.map((type) => ({ type, ...pictureOf(type) })) };
}

function meshOf({ frames }: ScanTiles): Picture {
  const newest = frames.at(-1);
  if (newest === undefined) return none('No scan is published.');
  return { timestamp: newest.scan_time, tile_url: newest.url, note: null };
}

async function reflectivityOf(edition: Edition, addresses: PublicAddresses): Promise<Picture> {
  const newest = await newestReflectivity(edition);
  if (newest === null) return none('No picture of reflectivity is published.');
  const tile_url = archiveUrl(addresses, 'reflectivity', newest.date, newest.file.path);
  return { timestamp: timestamp(newest.scan_time), tile_url, note: null };
}

function none(note: string): Picture {
  return { timestamp: null, tile_url: null, note };
}

const RADIUS_KM = 25;
const DAYS_MAX = 365;

const HistoryQuestion = z
  .object({
    ...POINT,
    start_date: dateQuery({ required: true, description: 'First storm date.' }),
    end_date: dateQuery({ required: true, description: 'Last storm date, included.' }),
  })
  .check(...dateRange('start_date', 'end_date', DAYS_MAX));
type HistoryQuestion = z.infer<typeof HistoryQuestion>;

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
    query: HistoryQuestion,
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
function checkDates({ start_date, end_date }: HistoryQuestion, now_ms: number): void {
  const fault = rangeFault({ date_start: start_date, date_end: end_date }, now_ms, ['start_date', 'end_date']);
  if (fault !== null) throw new ApiError('invalid_parameter', `${fault.name} ${fault.reason}`);
}

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
      const own = { business_id: caller.business_id, id: params.id };
      const location = found(await ownRow(services.records.reader, 'portfolio_locations', own), 'location');
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
