import { mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { events } from '../../api/routes/events.ts';
import { hailSwaths } from '../../api/routes/hail-swaths.ts';
import { type EventDay, Events } from '../../schemas/resources/event-day.ts';
import { Swaths } from '../../schemas/resources/swath-tier.ts';
import type { Detection } from '../../schemas/tables/detections.ts';
import { addDays } from '../../schemas/time.ts';
import { drawTenths } from '../support/data/draw.ts';
import { publishDays, standingHail } from '../support/data/published-days.ts';
import { dayMaxRow } from '../support/data/rows.ts';
import { MONTH_LATER_MS, onRoot, publish, SCRATCH, scansBetween, scratch } from '../support/data/world.ts';
import { creditsUsed } from '../support/service/portfolio.ts';
import { type RunningService, startService } from '../support/service/service.ts';

const FIRST = '2026-05-01';
const WEAK = '2026-05-02';
const SECOND = '2026-05-04';
const NOW_MS = Date.parse('2026-05-10T06:00:00Z');
const EVENTS = '/v1/events';
const TINY_DAYS = 'date_start=2026-05-01&date_end=2026-05-02';
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

/** Two storms in Kansas, one of them weak at its rim; in Nebraska a cell without a track, of no cell in the second scan. */
function stormOf({ row, col, scan_time }: Detection): Pick<Detection, 'track_id' | 'cell_index'> {
  if (row === 1499) return { track_id: null, cell_index: scan_time === Date.parse('2026-05-01T20:00:00Z') ? 2 : null };
  if (row === 1501) return { track_id: 'b', cell_index: 1 };
  return col === 3000 ? { track_id: 'weak', cell_index: 3 } : { track_id: 'a', cell_index: 0 };
}

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
  const seen = hail.detections.map((detection) => ({ ...detection, ...stormOf(detection) }));
  const days = [
    { storm_date: FIRST, rows: { ...hail, day_max: [...hail.day_max, filled], detections: seen } },
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
    min_size_mm: 19,
    region: { bbox: { minLat: 24, maxLat: 50, minLon: -125, maxLon: -66 } },
    event_count: 2,
    data_as_of: '2026-05-04T23:59:59Z',
  });
  t.deepEqual(
    answer.events.map(({ event_date }) => event_date),
    [FIRST, SECOND],
  );
});

test('GET /v1/events counts detections of at least 19 mm and their storms, never what was filled in between scans', async (t) => {
  const [first] = (await ask(MAY)).events as [EventDay];
  t.like(first, {
    cell_count: 3, // tracks a and b, and the cell without a track
    max_size_mm: 39,
    n_detections: 10, // five pixels in two scans
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

test('GET /v1/events counts the storms whose hail fell in the region, however many and wherever their centres', async (t) => {
  const count = async (region: string) => (await ask(`${MAY}${region}`)).events.map(({ cell_count }) => cell_count);
  t.deepEqual(await count('&bbox=-101,39,-99,41'), [3, 0], 'hail of no storm cell is hail of no storm');
  t.deepEqual(await count('&state=KS'), [2, 0]);
  t.deepEqual(await count('&bbox=-99.98,39.99,-99.97,40'), [1], 'the pixel of 26 mm alone');
  t.deepEqual(await count('&bbox=-91,30,-89,32'), [], 'no detection, no event');
});

test('GET /v1/events gives each pixel to the state whose outline holds its centre', async (t) => {
  const [kansas] = (await ask(`${MAY}&state=KS`)).events as [EventDay];
  const [nebraska] = (await ask(`${MAY}&state=NE`)).events as [EventDay];
  t.like(kansas, { n_detections: 8, max_size_mm: 39, swath_url: '/v1/hail/swaths?date=2026-05-01&state=KS' });
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
    await sameAsSwaths(t, service, `${MAY}${region}`);
});

/** Every row must say what the swaths it leads to say; returns the rows. */
async function sameAsSwaths(t: ExecutionContext, { json }: RunningService, query: string): Promise<EventDay[]> {
  const { events: rows, min_size_mm } = Events.parse(await json(`${EVENTS}?${query}`));
  for (const { swath_url, max_size_mm, n_detections } of rows) {
    const swath = Swaths.parse(await json(swath_url));
    t.like(swath, { active: true, max_size_mm, n_detections }, swath_url);
    t.is(swath.query.min_size_mm, min_size_mm);
  }
  return rows;
}

test('GET /v1/events equals its swaths on running, closed and joined dates alike, and never changes between them', async (t) => {
  const root = await scratch(t);
  await publish(root, await scansBetween('23:40', '00:20'), { each_scan: true });
  const regions = ['', '&state=OK', '&bbox=-97.6,35,-97,35.6', '&bbox=-97.3,34.5,-96,36', '&bbox=-98,34.6,-97.2,35.2'];
  const look = async () => {
    const running = await startService({ endpoints: [events, hailSwaths], data_root: root, now_ms: MONTH_LATER_MS });
    try {
      const rows: EventDay[][] = [];
      for (const region of regions) rows.push(await sameAsSwaths(t, running, `${TINY_DAYS}${region}`));
      const { headers } = await running.call(`${EVENTS}?${TINY_DAYS}`);
      return { rows, etag: headers.get('etag') };
    } finally {
      t.deepEqual(running.failures, []);
      await running.close();
    }
  };
  const running = await look();
  t.true(running.rows.every(({ length }) => length > 0));
  await onRoot(root, {}, async ({ root: opened }) => {
    for (const date of ['2026-05-01', '2026-05-02']) t.true(await opened.compactDay(date, MONTH_LATER_MS));
  });
  const closed = await look();
  t.deepEqual(closed.rows, running.rows);
  await onRoot(root, {}, async ({ root: opened }) => t.true(await opened.compactMonth('2026-05', MONTH_LATER_MS)));
  t.deepEqual(await look(), closed, 'nor does the tag');
});

test('GET /v1/events takes one day, with both ends the same', async (t) => {
  t.is((await ask(`date_start=${FIRST}&date_end=${FIRST}`)).event_count, 1);
  t.is((await ask(`date_start=${WEAK}&date_end=${WEAK}`)).event_count, 0);
});

test('GET /v1/events of a range without data is empty and as fresh as the newest scan', async (t) => {
  t.like(await ask('date_start=2020-01-01&date_end=2020-12-30'), {
    events: [],
    event_count: 0,
    dates_without_data: Array.from({ length: 365 }, (_, day) => addDays('2020-01-01', day)),
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
