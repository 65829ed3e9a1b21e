import type { Kysely } from 'kysely';
import { z } from 'zod';
import type { Position } from '../../schemas/geo/position.ts';
import { DETAILS } from '../../schemas/resources/fields.ts';
import {
  type BatchResult,
  HAIL_BATCH_EXAMPLE,
  HAIL_CURRENT_EXAMPLE,
  HailBatchReply,
  HailBatchRequest,
  type HailCell,
  HailCurrent,
  LOOKBACK_MIN,
} from '../../schemas/resources/hail-cell.ts';
import { sizeCategory } from '../../schemas/size.ts';
import { timestamp } from '../../schemas/time.ts';
import type { Caller } from '../accounts/keyring.ts';
import { effectiveCap } from '../accounts/plans.ts';
import { periodOf, usedByRotation, usedInMonth } from '../billing/ledger.ts';
import { booleanQuery, enumQuery, pointQuery, radiusQuery } from '../http/decode.ts';
import { forEachInChunks } from '../http/event-loop.ts';
import type { LiveSnapshot } from '../published/live.ts';
import type { Database } from '../records/schema.ts';
import { monthOfYear } from '../rules/detection-quality.ts';
import { advancedBlocks, hailCell, lookbackStart, type PlaceHail, placeHail } from '../rules/hail-cells.ts';
import { outsideNote } from '../rules/outside.ts';
import { rounded, roundedPosition } from '../rules/rounded.ts';
import { detailPrice, PRICED_BY_DETAIL, readEndpoint } from '../server/endpoint.ts';

const RADIUS_KM = { default: 50, max: 150 } as const;
/** Cells per chunk, after which other requests may run: 10 ms of advanced blocks with new radar geometry. */
const CHUNK = 40;
const BATCH_CREDITS = 8;

export const getHailCurrent = readEndpoint({
  route: 'GET /v1/hail/current',
  group: 'Hail detection',
  summary: 'Hail around a point in the last 30 minutes',
  description:
    'One cell per place (five-character geohash, about 4.9 km) with a detection of 10 mm or more in the last 30 minutes, nearest first. A cell is a place, not a storm: for storms see GET /v1/storms. Sizes are radar estimates (MESH), not measurements on the ground.',
  scope: 'hail:read',
  query: z.object({
    ...pointQuery,
    radius_km: radiusQuery(RADIUS_KM),
    detail: enumQuery(DETAILS, 'standard', {
      description: 'advanced adds radar, storm, impact and detection_quality.',
    }),
  }),
  reply: HailCurrent,
  example: HAIL_CURRENT_EXAMPLE,
  priced: PRICED_BY_DETAIL,
  price: detailPrice('hail.current', { standard: 15, advanced: 25 }),
  plan: ({ now_ms, edition }) => ({ dates: edition.liveDates(lookbackStart(now_ms)) }),
  answer: async ({ query, now_ms, edition, services: { live, terrain } }) => {
    const { radius_km, detail } = query;
    const snapshot = live.snapshot(edition);
    const since_ms = lookbackStart(now_ms);
    const places = hailAround(snapshot, query, since_ms);
    const model = terrain.model();
    const blocks = advancedBlocks(snapshot, since_ms, now_ms, model);
    const cells: HailCell[] = [];
    await forEachInChunks(places, CHUNK, (hail) => {
      cells.push({ ...hailCell(hail, now_ms), ...(detail === 'advanced' ? blocks(hail) : {}) });
    });
    const max_size_mm = largestSize(places);
    const body: HailCurrent = {
      active: places.length > 0,
      detail,
      summary: {
        total_cells: places.length,
        max_size_mm: rounded(max_size_mm, 1),
        closest_cell_km: places[0] === undefined ? null : rounded(places[0].distance_km, 2),
        max_size_category: max_size_mm === null ? null : sizeCategory(max_size_mm),
      },
      cells,
      note: outsideNote('radar', query),
      query: {
        ...roundedPosition(query),
        radius_km,
        lookback_minutes: LOOKBACK_MIN,
      },
      data_timestamp: timestamp(snapshot.newest_scan_ms),
    };
    const known = [snapshot.version, snapshot.oldestSince(since_ms), monthOfYear(now_ms), model?.version ?? null];
    return { body, tag: known };
  },
});

export const getHailCurrentBatch = readEndpoint({
  route: 'POST /v1/hail/current/batch',
  group: 'Hail detection',
  summary: 'The same check for up to 50 points',
  description:
    'Answers for each location what GET /v1/hail/current would, in short and in the order given, for 8 credits each. One location that is wrong fails the call. With estimate=true the call is free and says what it would cost.',
  scope: 'hail:read',
  cacheable: false,
  query: z.object({ estimate: booleanQuery(false, { description: 'Only say what the batch would cost.' }) }),
  body: HailBatchRequest,
  reply: HailBatchReply,
  example: HAIL_BATCH_EXAMPLE,
  priced: ['estimate=false', 'estimate=true'],
  priced_per: 'location',
  price: ({ query: { estimate }, body: { locations } }) => {
    const count = locations.length;
    return estimate ? null : { operation: 'hail.current.batch', credits: BATCH_CREDITS * count, count };
  },
  plan: ({ query: { estimate }, now_ms, edition }) => ({
    dates: estimate ? [] : edition.liveDates(lookbackStart(now_ms)),
  }),
  answer: async ({ query, body: { locations }, caller, now_ms, edition, services: { live, records } }) => ({
    body: query.estimate
      ? await batchEstimate(locations.length, records.reader, caller, now_ms)
      : batchAnswer(live.snapshot(edition), locations, now_ms),
  }),
});

/** The cost of a batch, and the credits left in the month: of the allowance, and below the smaller cap of business and key. */
async function batchEstimate(
  location_count: number,
  reader: Kysely<Database>,
  { business_id, plan, rate_bucket, key_cap }: Caller,
  now_ms: number,
): Promise<HailBatchReply> {
  const period = periodOf(now_ms);
  const spent = await usedInMonth(reader, business_id, period);
  const left = (bound: number | null, used: number) => (bound === null ? null : Math.max(0, bound - used));
  const ofBusiness = left(effectiveCap(plan), spent);
  const ofKey = key_cap === null ? null : left(key_cap, await usedByRotation(reader, rate_bucket, period));
  const until_cap = ofKey === null || ofBusiness === null ? (ofKey ?? ofBusiness) : Math.min(ofKey, ofBusiness);
  const estimated_credits = BATCH_CREDITS * location_count;
  return {
    estimate: true,
    location_count,
    cost_per_location: BATCH_CREDITS,
    minimum_cost: BATCH_CREDITS,
    estimated_credits,
    credits_remaining: left(plan.monthly_limit, spent),
    until_cap,
    would_exceed_cap: until_cap !== null && estimated_credits > until_cap,
  };
}

function batchAnswer(snapshot: LiveSnapshot, locations: HailBatchRequest['locations'], now_ms: number): HailBatchReply {
  const results = locations.map((location) => batchResult(snapshot, location, now_ms));
  return {
    results,
    count: results.length,
    active_count: results.filter(({ active }) => active).length,
    data_timestamp: timestamp(snapshot.newest_scan_ms),
  };
}

function hailAround(
  snapshot: LiveSnapshot,
  circle: Position & { readonly radius_km: number },
  since_ms: number,
): PlaceHail[] {
  const sizes = snapshot.detections.column('estimated_size_mm');
  return snapshot.placesWithin(circle, circle.radius_km, since_ms).map((found) => placeHail(found, sizes, since_ms));
}

function largestSize(places: readonly PlaceHail[]): number | null {
  return places.length === 0 ? null : Math.max(...places.map(({ estimated_size_mm }) => estimated_size_mm));
}

function batchResult(
  snapshot: LiveSnapshot,
  { id, lat, lon, radius_km }: HailBatchRequest['locations'][number],
  now_ms: number,
): BatchResult {
  const circle = { lat, lon, radius_km: radius_km ?? RADIUS_KM.default };
  const places = hailAround(snapshot, circle, lookbackStart(now_ms));
  const max_size_mm = largestSize(places);
  const [closest] = places;
  const location = { id: id ?? null, ...roundedPosition({ lat, lon }), note: outsideNote('radar', circle) };
  if (max_size_mm === null || closest === undefined) return { ...location, active: false };
  return {
    ...location,
    active: true,
    max_size_mm: rounded(max_size_mm, 1),
    max_size_category: sizeCategory(max_size_mm),
    max_confidence: rounded(Math.max(...places.map(({ confidence }) => confidence)), 3),
    cell_count: places.length,
    closest_km: rounded(closest.distance_km, 2),
  };
}
