import { mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import test from 'ava';
import { events } from '../../api/routes/events.ts';
import { hailSwaths } from '../../api/routes/hail-swaths.ts';
import { colLon, rowLat } from '../../schemas/geo/lattice.ts';
import { type EventDay, Events } from '../../schemas/resources/event-day.ts';
import { Swaths } from '../../schemas/resources/swath-tier.ts';
import { addDays } from '../../schemas/time.ts';
import { drawTenths } from '../draw.ts';
import { creditsUsed } from '../portfolio.ts';
import { publishDays, REAL_DATE, realDay, standingHail } from '../published-days.ts';
import { cell, dayMaxRow } from '../rows.ts';
import { type RunningService, startService } from '../service.ts';
import { hasSharedData, sharedTest } from '../shared-data.ts';
import { SCRATCH } from '../world.ts';

const FIRST = '2026-05-01';
const WEAK = '2026-05-02';
const SECOND = '2026-05-04';
const NOW_MS = Date.parse('2026-05-10T06:00:00Z');
const EVENTS = '/v1/events';
const MAY = 'date_start=2026-05-01&date_end=2026-05-10';

const data_root = mkdtempSync(join(SCRATCH, 'hail-events-'));
let service: RunningService;

/** From 40 N, 100 W, tenths of a millimetre: one row in Nebraska, two in Kansas. */
const FIELD = drawTenths(
  [
    [0, 0, 200, 0, 0],
    [120, 200, 260, 190, 0],
    [0, 0, 390, 189, 60],
  ],
  { row0: 1499, col0: 3000 },
);

function at(date: string, ...clocks: string[]): number[] {
  return clocks.map((clock) => Date.parse(`${date}T${clock}:00Z`));
}

test.before(async () => {
  const hail = standingHail(FIRST, FIELD, at(FIRST, '20:00', '20:02'));
  const filled = dayMaxRow({
    row: 1600,
    col: 3100,
    max_mm: 60,
    interpolated: true,
    first_detected: null,
    last_detected: null,
    detection_scans: 0,
  });
  const here = (fields: object) => cell({ storm_date: FIRST, lat: rowLat(1500), lon: colLon(3002), ...fields });
  const storms = [
    here({ scan_time: at(FIRST, '20:00')[0], track_id: 'a', estimated_size_mm: 26 }),
    here({ scan_time: at(FIRST, '20:02')[0], track_id: 'a', estimated_size_mm: 39 }),
    here({ scan_time: at(FIRST, '20:02')[0], track_id: 'b', estimated_size_mm: 18.9 }),
    here({ scan_time: at(FIRST, '20:02')[0], track_id: null, estimated_size_mm: 19 }),
    here({ scan_time: at(FIRST, '20:02')[0], track_id: 'far', estimated_size_mm: 50, lat: 31, lon: -90 }),
  ];
  const days = [
    ...(hasSharedData ? [realDay()] : []),
    { storm_date: FIRST, rows: { ...hail, day_max: [...hail.day_max, filled], cells: storms } },
    {
      storm_date: WEAK,
      rows: standingHail(WEAK, drawTenths([[189, 180]], { row0: 1500, col0: 3000 }), at(WEAK, '20:00')),
    },
    {
      storm_date: SECOND,
      rows: standingHail(SECOND, drawTenths([[250]], { row0: 1500, col0: 3000 }), at(SECOND, '01:00')),
    },
  ];
  await publishDays(data_root, days, 'simulated', NOW_MS);
  service = await startService({ endpoints: [events, hailSwaths], data_root, now_ms: NOW_MS });
});
test.after.always(async (t) => {
  t.deepEqual(service.failures, []);
  await service.close();
  rmSync(data_root, { recursive: true, force: true });
});

async function ask(query: string): Promise<Events> {
  const response = await service.call(`${EVENTS}?${query}`);
  if (response.status !== 200) throw new Error(`events answers ${response.status} ${await response.text()}`);
  return Events.parse(await response.json());
}

async function refusal(query: string): Promise<string> {
  const response = await service.call(`${EVENTS}?${query}`);
  const { error, message } = (await response.json()) as { error: string; message: string };
  return `${response.status} ${error}: ${message}`;
}

test('GET /v1/events lists days with hail of at least 19 mm, oldest first, and no others', async (t) => {
  const answer = await ask(MAY);
  t.like(answer, {
    date_range: { start: '2026-05-01', end: '2026-05-10' },
    area_method: 'convex_hull',
    region: { bbox: { minLat: 24, maxLat: 50, minLon: -125, maxLon: -66 } },
    event_count: 2,
    data_as_of: '2026-05-04T23:59:59Z',
  });
  t.deepEqual(
    answer.events.map(({ event_date }) => event_date),
    [FIRST, SECOND],
  );
});

test('GET /v1/events counts detections and storms, and never what was filled in between scans', async (t) => {
  const [first] = (await ask(MAY)).events as [EventDay];
  t.like(first, {
    cell_count: 3, // tracks a and far, and the cell without a track
    max_size_mm: 39,
    n_detections: 14,
    first_detected: '2026-05-01T20:00:00Z',
    last_detected: '2026-05-01T20:02:00Z',
    swath_url: '/v1/hail/swaths?date=2026-05-01',
  });
});

test('GET /v1/events measures the hull of the pixels of at least 19 mm', async (t) => {
  // The pixels form a cross of three by three; its hull leaves half a pixel out at each corner: 7 pixels of 0.948 km2.
  const [first, second] = (await ask(MAY)).events as [EventDay, EventDay];
  t.is(first.affected_area_km2, 6.6);
  t.deepEqual(first.centroid, { lat: 39.995, lon: -99.975 });
  t.is(second.affected_area_km2, 0.9);
  t.deepEqual(second.centroid, { lat: 39.995, lon: -99.995 });
});

test('GET /v1/events counts storms whose position lies in the region', async (t) => {
  const [near] = (await ask(`${MAY}&bbox=-101,39,-99,41`)).events as [EventDay];
  t.is(near.cell_count, 2);
  t.is(near.swath_url, '/v1/hail/swaths?date=2026-05-01&bbox=-101,39,-99,41');
  t.deepEqual(
    (await ask(`${MAY}&bbox=-91,30,-89,32`)).events,
    [],
    'a storm without a detection in the region is no event',
  );
});

test('GET /v1/events gives each pixel to the state whose outline holds its centre', async (t) => {
  const [kansas] = (await ask(`${MAY}&state=KS`)).events as [EventDay];
  const [nebraska] = (await ask(`${MAY}&state=NE`)).events as [EventDay];
  t.like(kansas, { n_detections: 12, max_size_mm: 39, swath_url: '/v1/hail/swaths?date=2026-05-01&state=KS' });
  t.like(nebraska, { n_detections: 2, max_size_mm: 20, cell_count: 1 });
});

test('GET /v1/events echoes the box of the state', async (t) => {
  const { minLat, maxLat, minLon, maxLon } = (await ask(`${MAY}&state=CO`)).region.bbox;
  t.deepEqual(
    [minLat, maxLat, minLon, maxLon].map((edge) => Math.round(edge * 100) / 100),
    [36.99, 41, -109.06, -102.04],
  );
});

test('GET /v1/events gives a swath_url that answers an active swath of the same hail', async (t) => {
  for (const region of ['', '&state=KS', '&bbox=-101,39,-99,41', '&bbox=-180,1e-7,-66,90'])
    for (const { swath_url, max_size_mm } of (await ask(`${MAY}${region}`)).events) {
      const swath = Swaths.parse(await service.json(swath_url));
      t.true(swath.active, swath_url);
      t.is(swath.max_size_mm, max_size_mm, swath_url);
    }
});

test('GET /v1/events takes one day, with both ends the same', async (t) => {
  t.is((await ask(`date_start=${FIRST}&date_end=${FIRST}`)).event_count, 1);
  t.is((await ask(`date_start=${WEAK}&date_end=${WEAK}`)).event_count, 0);
});

test('GET /v1/events of a range without data is empty and as fresh as the newest scan', async (t) => {
  t.like(await ask('date_start=2020-01-01&date_end=2020-12-30'), {
    events: [],
    event_count: 0,
    data_as_of: '2026-05-04T23:59:59Z',
  });
});

for (const region of ['&state=AK', '&state=PR', '&bbox=0,40,10,50'])
  test(`GET /v1/events${region} is empty`, async (t) => t.is((await ask(`${MAY}${region}`)).event_count, 0));

test('GET /v1/events takes 365 days and refuses 366', async (t) => {
  const range = (days: number) => `date_start=${addDays('2026-05-10', 1 - days)}&date_end=2026-05-10`;
  t.is((await ask(range(365))).event_count, 2);
  t.regex(
    await refusal(range(366)),
    /^400 invalid_parameter: date_end is too far from date_start, expected at most 365 days/,
  );
});

test('GET /v1/events takes date_end up to tomorrow and date_start up to today UTC', async (t) => {
  t.is((await ask('date_start=2026-05-10&date_end=2026-05-11')).event_count, 0);
  t.regex(await refusal('date_start=2026-05-10&date_end=2026-05-12'), /^400 invalid_parameter: date_end is 2026-05-12/);
  t.regex(
    await refusal('date_start=2026-05-11&date_end=2026-05-11'),
    /^400 invalid_parameter: date_start is 2026-05-11/,
  );
});

for (const [query, message] of [
  ['', /^400 invalid_parameter: date_start is required/],
  ['date_start=2026-05-01', /^400 invalid_parameter: date_end is required/],
  ['date_start=2026-05-02&date_end=2026-05-01', /^400 invalid_parameter: date_end is before date_start/],
  ['date_start=2026-02-30&date_end=2026-05-01', /^400 invalid_parameter: date_start is '2026-02-30'/],
  [`${MAY}&state=KS&bbox=-101,39,-99,41`, /^400 invalid_parameter: bbox is given together with state/],
  [`${MAY}&state=ZZ`, /^400 invalid_parameter: state is 'ZZ'/],
] as const)
  test(`GET /v1/events refuses '${query}'`, async (t) => t.regex(await refusal(query), message));

test.serial('GET /v1/events costs 15 credits, a 304 like the 200 it mirrors', async (t) => {
  const before = await creditsUsed(service);
  const response = await service.call(`${EVENTS}?date_start=${FIRST}&date_end=${WEAK}`);
  t.is(response.headers.get('x-data-source'), 'simulated');
  const again = await service.call(`${EVENTS}?date_start=${FIRST}&date_end=${WEAK}`, {
    headers: { 'If-None-Match': response.headers.get('etag') ?? '' },
  });
  t.is(again.status, 304);
  t.is((await creditsUsed(service)) - before, 30);
});

sharedTest('GET /v1/events of the real day has the hulls measured independently', async (t) => {
  const day = `date_start=${REAL_DATE}&date_end=${REAL_DATE}`;
  const [whole] = (await ask(day)).events as [EventDay];
  t.like(whole, { max_size_mm: 82.8, affected_area_km2: 2_850_762.7 });
  const [illinois] = (await ask(`${day}&bbox=-91.52,36.97,-87.01,42.51`)).events as [EventDay];
  t.like(illinois, { max_size_mm: 50.1, n_detections: 9111, affected_area_km2: 98_399.8 });
  const [michigan] = (await ask(`${day}&bbox=-90.42,41.69,-82.12,48.31`)).events as [EventDay];
  t.like(michigan, { max_size_mm: 44.1, n_detections: 8601, affected_area_km2: 99_828 });
  const [ohio] = (await ask(`${day}&bbox=-84.83,38.4,-80.51,41.98`)).events as [EventDay];
  t.like(ohio, { max_size_mm: 31.9, n_detections: 193 });
  t.true(ohio.affected_area_km2 >= 1.9 && ohio.affected_area_km2 < 3.9, 'two pixels that touch at a corner');
});
