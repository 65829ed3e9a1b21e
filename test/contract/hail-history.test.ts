import test, { type ExecutionContext } from 'ava';
import { selectList } from '../../api/queries/sql.ts';
import { readVerification } from '../../api/queries/verification.ts';
import { compactDay, compactMonth } from '../../pipeline/publish/compact.ts';
import { type EventDay, Events } from '../../schemas/resources/event-day.ts';
import { HailHistory } from '../../schemas/resources/history-event.ts';
import { SwathCollection, Swaths } from '../../schemas/resources/swath-tier.ts';
import { sizeCategory } from '../../schemas/size.ts';
import { type Detection, detections } from '../../schemas/tables/radar.ts';
import { addDays } from '../../schemas/time.ts';
import { drawTenths } from '../support/data/draw.ts';
import { publishDays, REAL_DATE, realDay, standingHail } from '../support/data/published-days.ts';
import { isValidMultiPolygon } from '../support/data/rings.ts';
import { dayMaxRow, pluck } from '../support/data/rows.ts';
import { hasSharedData, sharedTest } from '../support/data/shared-data.ts';
import {
  MONTH_LATER_MS,
  midnight,
  NOW_MS,
  onRoot,
  preparedRoot,
  publish,
  scansBetween,
  scratch,
} from '../support/data/world.ts';
import { creditsUsed } from '../support/service/portfolio.ts';
import { type RunningService, serviceFor, startService } from '../support/service/service.ts';
import { closeWithoutFailures } from '../support/service/test-with.ts';
import { isRefusedFor, parsed, setClock } from './answers.ts';

const PATH = '/v1/hail/history';
const [FIRST, LAST] = ['2026-05-01', '2026-05-02'];
const AT = 'lat=35.2&lon=-97';
let service: RunningService;
let rows: Detection[];
let newest_ms: number;

test.before(async () => {
  const scans = await midnight();
  newest_ms = scans.at(-1)?.time_ms ?? 0;
  service = await startService({ data_root: await preparedRoot(scans), now_ms: NOW_MS });
  const { catalog, engine } = service.services;
  const edition = catalog.edition();
  rows = await engine.rows<Detection>(
    `SELECT ${selectList(detections)} FROM read_parquet($1::VARCHAR[]) ORDER BY scan_time, "row", col`,
    [edition.paths('detections', edition.dates)],
  );
});
test.after.always((t) => closeWithoutFailures(t, service));

const ask = (query: string, at: RunningService = service) => parsed(at.call(`${PATH}?${query}`), HailHistory);

const round = (value: number, decimals: number) => Math.round(value * 10 ** decimals) / 10 ** decimals;
const time = (time_ms: number) => new Date(time_ms).toISOString().replace('.000', '');
const largestOf = (date: string) =>
  rows
    .filter((row) => row.storm_date === date)
    .reduce((best, row) => (row.estimated_size_mm > best.estimated_size_mm ? row : best));

test.serial('GET /v1/hail/history returns the largest hail of each storm date, newest first', async (t) => {
  const answer = await ask(`${AT}&radius_km=100`);
  t.deepEqual(pluck(answer.events, 'storm_date'), [LAST, FIRST]);
  t.like(answer, { count: 2, detail: 'standard' });
  t.is(Date.parse(answer.data_timestamp as string), newest_ms);
});

test.serial('GET /v1/hail/history tells place, times, duration and confidence of that hail', async (t) => {
  const at = largestOf(FIRST);
  const [event] = (await ask(`lat=${at.lat}&lon=${at.lon}&radius_km=1&days=2`)).events.filter(
    ({ storm_date }) => storm_date === FIRST,
  );
  const own = rows.filter((row) => row.storm_date === FIRST);
  const place = [...new Set(own.filter((row) => row.geohash5 === at.geohash5).map((row) => row.scan_time))];
  const gaps = place.slice(1).map((scan, index) => Math.min(4, (scan - place[index]) / 60_000));
  t.deepEqual(event as unknown, {
    storm_date: FIRST,
    location: { lat: round(at.lat, 5), lon: round(at.lon, 5), geohash5: at.geohash5 },
    distance_km: 0,
    first_detected: time(place[0]),
    last_detected: time(place.at(-1) as number),
    duration_minutes: round(2 + gaps.reduce((sum, gap) => sum + gap, 0), 1),
    scan_count: place.length,
    hail: {
      estimated_size_mm: round(at.estimated_size_mm, 1),
      size_category: sizeCategory(at.estimated_size_mm),
      confidence: round(at.confidence, 3),
    },
  });
});

test.serial('GET /v1/hail/history counts the last storm dates, today included', async (t) => {
  const dates = async (days: number) =>
    (await ask(`${AT}&radius_km=100&days=${days}`)).events.map((event) => event.storm_date);
  t.deepEqual(await dates(1), [LAST]);
  t.deepEqual(await dates(2), [LAST, FIRST]);
});

test.serial('GET /v1/hail/history keeps the newest events of a limit', async (t) => {
  const { events, count } = await ask(`${AT}&radius_km=100&limit=1`);
  t.deepEqual([events[0]?.storm_date, count], [LAST, 1]);
});

test.serial(
  'GET /v1/hail/history without min_size_mm counts every detection, with it only larger hail, the bound included',
  async (t) => {
    const at = largestOf(FIRST);
    const near = `lat=${at.lat}&lon=${at.lon}&radius_km=100&days=2`;
    const first = async (min: string) => (await ask(near + min)).events.some(({ storm_date }) => storm_date === FIRST);
    t.true(await first(''));
    t.true(await first('&min_size_mm=1'));
    t.true(await first(`&min_size_mm=${at.estimated_size_mm}`));
    t.false(await first(`&min_size_mm=${at.estimated_size_mm + 0.1}`));
  },
);

test.serial('GET /v1/hail/history with detail=advanced adds radar and detection_quality', async (t) => {
  const { events, detail } = await ask(`${AT}&radius_km=100&detail=advanced`);
  t.is(detail, 'advanced');
  for (const { storm_date, hail, radar, detection_quality } of events) {
    const at = rows.find((row) => row.storm_date === storm_date && row.estimated_size_mm === hail.estimated_size_mm);
    t.is(radar?.mesh_mm, hail.estimated_size_mm);
    t.is(radar?.posh_pct, at?.posh_pct ?? undefined);
    t.true((detection_quality?.hdqi ?? 0) > 0.35);
    t.regex(detection_quality?.nearest_radar?.id ?? '', /^K/);
  }
  const standard = await ask(`${AT}&radius_km=100`);
  t.true(standard.events.every((event) => !('radar' in event) && !('detection_quality' in event)));
});

for (const [days, standard, advanced] of [
  [1, 15, 25],
  [30, 15, 25],
  [31, 25, 35],
  [90, 25, 35],
  [91, 40, 55],
  [180, 40, 55],
  [181, 60, 80],
  [365, 60, 80],
] as const)
  test.serial(
    `GET /v1/hail/history of ${days} days costs ${standard} credits, ${advanced} with detail=advanced`,
    async (t) => {
      const costs: number[] = [];
      for (const detail of ['standard', 'advanced']) {
        const before = await creditsUsed(service);
        await ask(`${AT}&days=${days}&detail=${detail}`);
        costs.push((await creditsUsed(service)) - before);
      }
      t.deepEqual(costs, [standard, advanced]);
    },
  );

test.serial('GET /v1/hail/history of a quiet place is an empty 200', async (t) => {
  t.like(await ask('lat=45&lon=-80'), { events: [], count: 0 });
  t.like(await ask('lat=-35&lon=170'), { events: [], count: 0 });
});

test.serial('GET /v1/hail/history has another ETag on another day, because days end today', async (t) => {
  const tagOf = async () => (await service.call(`${PATH}?${AT}&radius_km=100&days=1`)).headers.get('etag');
  const today = await tagOf();
  setClock(t, service, NOW_MS + 86_400_000);
  t.not(await tagOf(), today);
  t.deepEqual((await ask(`${AT}&radius_km=100&days=1`)).events, []);
});

for (const [query, parameter] of [
  ['lat=35', 'lon'],
  ['lat=35&lon=-97&radius_km=100.5', 'radius_km'],
  ['lat=35&lon=-97&radius_km=0', 'radius_km'],
  ['lat=35&lon=-97&days=0', 'days'],
  ['lat=35&lon=-97&days=366', 'days'],
  ['lat=35&lon=-97&days=24.5', 'days'],
  ['lat=35&lon=-97&limit=0', 'limit'],
  ['lat=35&lon=-97&limit=201', 'limit'],
  ['lat=35&lon=-97&min_size_mm=0', 'min_size_mm'],
  ['lat=35&lon=-97&min_size_mm=200.5', 'min_size_mm'],
  ['lat=35&lon=-97&detail=all', 'detail'],
] as const)
  test.serial(`GET /v1/hail/history?${query} is 400 invalid_parameter about ${parameter}`, async (t) =>
    isRefusedFor(t, service.call(`${PATH}?${query}`), parameter),
  );

test.serial('GET /v1/hail/history tells when radar did not see the point, as verification does', async (t) => {
  const { radar_gaps } = await ask(`${AT}&days=2`);
  const [lat, lon] = new URLSearchParams(AT).values().map(Number).toArray() as [number, number];
  const { engine, terrain, catalog } = service.services;
  const { verification } = await readVerification({ engine, terrain, storm_day_start_hour: 0 }, catalog.edition(), {
    ...{ lat, lon, date_start: FIRST, date_end: LAST },
  });
  t.deepEqual(radar_gaps, verification.radar_gaps);
  t.like(radar_gaps.dates_seen_in_part[0], { date: FIRST, share: 0.008 });
  t.is((await ask(`${AT}&days=4`)).radar_gaps.dates_without_data.join(), '2026-04-29,2026-04-30');
});

const DAY = '2026-05-01';
const QUIET = '2026-05-02';
const SMALL = '2026-05-03';
const SWATHS_NOW_MS = Date.parse('2026-05-10T00:00:00Z');
const SWATHS = '/v1/hail/swaths';

let swathsService: RunningService;

/** Two scans over Kansas from 40 N, 100 W, in tenths of a millimetre; the first row lies just north of Kansas, in Nebraska. */
const FIELD = drawTenths(
  [
    [0, 0, 200, 0, 0],
    [120, 200, 260, 190, 0],
    [0, 0, 390, 189, 60],
  ],
  { row0: 1499, col0: 3000 },
);
/** A pixel that was filled in between scans. */
const FILLED = { interpolated: true, first_detected: null, last_detected: null, detection_scans: 0 };
const SCANS = ['20:00', '20:02'].map((clock) => Date.parse(`${DAY}T${clock}:00Z`));

test.before(async () => {
  const hail = standingHail(DAY, FIELD, SCANS);
  const filled = dayMaxRow({ ...FILLED, row: 1500, col: 3004, max_mm: 45 });
  const small = standingHail(SMALL, drawTenths([[150]], { row0: 1500, col0: 3000 }), [
    Date.parse(`${SMALL}T20:00:00Z`),
  ]);
  const days = [
    ...(hasSharedData ? [realDay()] : []),
    { storm_date: DAY, rows: { ...hail, day_max: [...hail.day_max, filled] } },
    { storm_date: SMALL, rows: small },
  ];
  swathsService = await startService({ now_ms: SWATHS_NOW_MS });
  await publishDays(swathsService.data_root, days, 'observed', SWATHS_NOW_MS);
  await swathsService.services.catalog.refresh();
});
test.after.always((t) => closeWithoutFailures(t, swathsService));

const swaths = (query: string) => parsed(swathsService.call(`${SWATHS}?${query}`), Swaths);

async function refusal(query: string, at = swathsService, path = SWATHS): Promise<string> {
  const response = await at.call(`${path}?${query}`);
  const { error, message } = (await response.json()) as { error: string; message: string };
  return `${response.status} ${error}: ${message}`;
}

const bounds = ({ tiers }: Swaths) => tiers.map(({ threshold_mm }) => threshold_mm);

test('GET /v1/hail/swaths answers tiers, counts and the echo of its parameters with their defaults', async (t) => {
  const answer = await swaths(`date=${DAY}`);
  t.like(answer, {
    date: DAY,
    query: {
      bbox: { minLat: 24, maxLat: 50, minLon: -125, maxLon: -66 },
      state: null,
      min_size_mm: 19,
      simplify_m: 500,
    },
    active: true,
    n_detections: 2 * 5,
    max_size_mm: 39,
    data_as_of: '2026-05-01T23:59:59Z',
  });
  t.deepEqual(pluck(answer.tiers, 'threshold_mm'), [19, 25, 38]);
  t.deepEqual(pluck(answer.tiers, 'category'), ['nickel', 'quarter', 'golf_ball']);
  t.true(answer.geometry_validity_note.length > 20);
});

test('GET /v1/hail/swaths lets pixels that were filled in shape tiers, and never count them', async (t) => {
  const { tiers, n_detections, max_size_mm } = await swaths(`date=${DAY}&min_size_mm=38&simplify_m=0`);
  t.is(tiers.length, 1);
  t.is(tiers[0]?.geometry.coordinates.length, 2, 'the seen pixel of 39 mm and the filled one of 45 mm');
  t.is(n_detections, 2);
  t.is(max_size_mm, 39);
});

test('GET /v1/hail/swaths counts detections from min_size_mm on and draws the bounds from there', async (t) => {
  const counted = async (mm: number) => {
    const answer = await swaths(`date=${DAY}&min_size_mm=${mm}`);
    return [answer.n_detections, ...bounds(answer)];
  };
  t.deepEqual(await counted(5), [14, 19, 25, 38]);
  t.deepEqual(await counted(12), [14, 19, 25, 38]);
  t.deepEqual(await counted(18.9), [12, 19, 25, 38]);
  t.deepEqual(await counted(19), [10, 19, 25, 38]);
  t.deepEqual(await counted(25.5), [4, 38]);
  t.deepEqual(await counted(200), [0]);
});

test('GET /v1/hail/swaths is active between two bounds without a tier', async (t) => {
  t.like(await swaths(`date=${SMALL}&min_size_mm=12`), { active: true, n_detections: 1, max_size_mm: 15, tiers: [] });
});

test('GET /v1/hail/swaths answers a date without hail with nothing, and with the freshness of the newest scan', async (t) => {
  for (const [date, dates_without_data] of [
    [QUIET, [QUIET]],
    ['2019-07-01', ['2019-07-01']],
    ['2031-01-01', ['2031-01-01']],
  ] as const)
    t.like(await swaths(`date=${date}`), {
      dates_without_data,
      active: false,
      n_detections: 0,
      max_size_mm: null,
      tiers: [],
      data_as_of: '2026-05-03T23:59:59Z',
    });
});

test('GET /v1/hail/swaths takes pixels whose centre lies in the bbox', async (t) => {
  const answer = await swaths(`date=${DAY}&bbox=-100,39.98,-99.98,40`);
  t.is(answer.n_detections, 2 * 1, 'the pixel of 20 mm');
  t.deepEqual(answer.query.bbox, { minLat: 39.98, maxLat: 40, minLon: -100, maxLon: -99.98 });
  t.is((await swaths(`date=${DAY}&bbox=-99.984,39.98,-99.976,40`)).n_detections, 0, 'the box ends before a centre');
});

test('GET /v1/hail/swaths takes pixels of the state whose outline holds their centre', async (t) => {
  const [kansas, nebraska] = [await swaths(`date=${DAY}&state=KS`), await swaths(`date=${DAY}&state=NE`)];
  t.is(kansas.n_detections, 8);
  t.is(nebraska.n_detections, 2);
  t.is(nebraska.max_size_mm, 20);
  t.like(kansas.query, { state: 'KS' });
  t.is(kansas.query.bbox?.minLat.toFixed(1), '37.0');
});

/** What is said of a region without a part in CONUS: that nothing is found says nothing. */
const NOWHERE = {
  active: false,
  dates_without_data: [DAY],
  note: 'No part of the region lies in 24 to 50 N and 125 to 66 W, where regions are looked through.',
};

test('GET /v1/hail/swaths clips a bbox to CONUS, and answers one outside with nothing', async (t) => {
  const wide = await swaths(`date=${DAY}&bbox=-180,-90,180,90`);
  t.deepEqual(wide.query.bbox, { minLat: 24, maxLat: 50, minLon: -125, maxLon: -66 });
  t.is(wide.n_detections, 10);
  t.like(await swaths(`date=${DAY}&bbox=0,40,10,50`), { ...NOWHERE, query: { bbox: null } });
  const geojson = `${SWATHS}?date=${DAY}&bbox=0,40,10,50&format=geojson`;
  t.like(await swathsService.json(geojson), { features: [], note: NOWHERE.note });
});

for (const state of ['AK', 'HI', 'PR', 'GU', 'UM'])
  test(`GET /v1/hail/swaths answers ${state} with 200 and why there is nothing`, async (t) => {
    t.like(await swaths(`date=${DAY}&state=${state}`), { ...NOWHERE, tiers: [], query: { state, bbox: null } });
  });

for (const [asked, used] of [
  ['-5', 0],
  ['0', 0],
  ['5000', 5000],
  ['99999', 5000],
  ['250.5', 250.5],
] as const)
  test(`GET /v1/hail/swaths takes simplify_m ${asked} as ${used}`, async (t) => {
    t.is((await swaths(`date=${DAY}&simplify_m=${asked}`)).query.simplify_m, used);
  });

for (const [query, message] of [
  ['', /^400 invalid_parameter: date is required/],
  ['date=2026-02-30', /^400 invalid_parameter: date is '2026-02-30'/],
  [`date=${DAY}&bbox=-100,39,-99,40&state=KS`, /^400 invalid_parameter: bbox is given together with state/],
  [`date=${DAY}&bbox=-99,39,-100,40`, /^400 invalid_parameter: bbox is/],
  [`date=${DAY}&bbox=-100,39,-99`, /^400 invalid_parameter: bbox is/],
  [`date=${DAY}&state=XX`, /^400 invalid_parameter: state is 'XX'/],
  [`date=${DAY}&state=Kansas`, /^400 invalid_parameter: state is/],
  [`date=${DAY}&min_size_mm=0`, /^400 invalid_parameter: min_size_mm is '0', expected a number above 0/],
  [`date=${DAY}&min_size_mm=200.1`, /^400 invalid_parameter: min_size_mm is/],
  [`date=${DAY}&simplify_m=abc`, /^400 invalid_parameter: simplify_m is/],
  [`date=${DAY}&format=kml`, /^400 invalid_parameter: format is/],
  [`date=${DAY}&date=${DAY}`, /^400 invalid_parameter: date is given more than once/],
] as const)
  test(`GET /v1/hail/swaths refuses '${query}'`, async (t) => t.regex(await refusal(query), message));

test('GET /v1/hail/swaths as geojson is a FeatureCollection, smallest bound first', async (t) => {
  const response = await swathsService.call(`${SWATHS}?date=${DAY}&format=geojson&simplify_m=0`);
  t.is(response.headers.get('content-type'), 'application/geo+json');
  const collection = SwathCollection.parse(await response.json());
  t.deepEqual(pluck(collection.features, 'properties'), [
    { date: DAY, threshold_mm: 19, category: 'nickel', area_km2: 5.7, max_size_mm: 39, n_detections: 10 },
    { date: DAY, threshold_mm: 25, category: 'quarter', area_km2: 2.8, max_size_mm: 39, n_detections: 4 },
    { date: DAY, threshold_mm: 38, category: 'golf_ball', area_km2: 1.9, max_size_mm: 39, n_detections: 2 },
  ]);
  t.is(collection.data_as_of, '2026-05-01T23:59:59Z');
  t.is(collection.query.simplify_m, 0);
});

test('GET /v1/hail/swaths as geojson without hail is an empty FeatureCollection', async (t) => {
  const response = await swathsService.call(`${SWATHS}?date=${QUIET}&format=geojson`);
  t.deepEqual(SwathCollection.parse(await response.json()).features, []);
});

sharedTest('GET /v1/hail/swaths of the real day has the areas and counts measured independently', async (t) => {
  const answer = await swaths(`date=${REAL_DATE}`);
  t.like(answer, { n_detections: 2746, max_size_mm: 82.8 });
  t.deepEqual(pluck(answer.tiers, 'threshold_mm'), [19, 25, 38, 63, 69]);
  t.deepEqual(pluck(answer.tiers, 'area_km2'), [2554.3, 820.3, 85, 2.9, 1.8]);
  const illinois = await swaths(`date=${REAL_DATE}&bbox=-91.52,36.97,-87.01,42.51`);
  t.like(illinois, { n_detections: 2235, max_size_mm: 50.1 });
  t.deepEqual(pluck(illinois.tiers.slice(0, 3), 'area_km2'), [2069.6, 734.6, 69.4]);
});

sharedTest(
  'GET /v1/hail/swaths gives valid geometries at every simplification, fewer positions the coarser',
  async (t) => {
    const counts = [];
    for (const simplify_m of [0, 500, 5000]) {
      const { tiers } = await swaths(`date=${REAL_DATE}&simplify_m=${simplify_m}`);
      for (const { geometry } of tiers) t.is(isValidMultiPolygon(geometry.coordinates), null);
      counts.push(tiers.reduce((sum, { geometry }) => sum + geometry.coordinates.flat(2).length, 0));
    }
    t.deepEqual(
      counts,
      counts.toSorted((a, b) => b - a),
    );
  },
);

const EVENTS_FIRST = '2026-05-01';
const WEAK = '2026-05-02';
const SECOND = '2026-05-04';
const EVENTS_NOW_MS = Date.parse('2026-05-10T06:00:00Z');
const EVENTS = '/v1/events';
const TINY_DAYS = 'date_start=2026-05-01&date_end=2026-05-02';
const MAY = 'date_start=2026-05-01&date_end=2026-05-10';

let eventsService: RunningService;

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
  const hail = standingHail(EVENTS_FIRST, FIELD, at(EVENTS_FIRST, '20:00', '20:02'));
  const filled = dayMaxRow({ ...FILLED, row: 1600, col: 3100, max_mm: 60 });
  const seen = hail.detections.map((detection) => ({ ...detection, ...stormOf(detection) }));
  const days = [
    { storm_date: EVENTS_FIRST, rows: { ...hail, day_max: [...hail.day_max, filled], detections: seen } },
    {
      storm_date: WEAK,
      rows: standingHail(WEAK, drawTenths([[189, 180]], { row0: 1500, col0: 3000 }), at(WEAK, '20:00')),
    },
    {
      storm_date: SECOND,
      rows: standingHail(SECOND, drawTenths([[250]], { row0: 1500, col0: 3000 }), at(SECOND, '01:00')),
    },
  ];
  eventsService = await startService({ now_ms: EVENTS_NOW_MS });
  await publishDays(eventsService.data_root, days, 'simulated', EVENTS_NOW_MS);
  await eventsService.services.catalog.refresh();
});
test.after.always((t) => closeWithoutFailures(t, eventsService));

const askEvents = (query: string) => parsed(eventsService.call(`${EVENTS}?${query}`), Events);

const refusalOfEvents = (query: string) => refusal(query, eventsService, EVENTS);

test('GET /v1/events lists days with hail of at least 19 mm, oldest first, and no others', async (t) => {
  const answer = await askEvents(MAY);
  t.like(answer, {
    date_range: { start: '2026-05-01', end: '2026-05-10' },
    area_method: 'convex_hull',
    min_size_mm: 19,
    region: { bbox: { minLat: 24, maxLat: 50, minLon: -125, maxLon: -66 } },
    event_count: 2,
    data_as_of: '2026-05-04T23:59:59Z',
  });
  t.deepEqual(pluck(answer.events, 'event_date'), [EVENTS_FIRST, SECOND]);
});

test('GET /v1/events counts detections of at least 19 mm and their storms, never what was filled in between scans', async (t) => {
  const [first] = (await askEvents(MAY)).events as [EventDay];
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
  const [first, second] = (await askEvents(MAY)).events as [EventDay, EventDay];
  t.is(first.affected_area_km2, 6.6);
  t.deepEqual(first.centroid, { lat: 39.995, lon: -99.975 });
  t.is(second.affected_area_km2, 0.9);
  t.deepEqual(second.centroid, { lat: 39.995, lon: -99.995 });
});

test('GET /v1/events counts the storms whose hail fell in the region, however many and wherever their centres', async (t) => {
  const count = async (region: string) =>
    (await askEvents(`${MAY}${region}`)).events.map(({ cell_count }) => cell_count);
  t.deepEqual(await count('&bbox=-101,39,-99,41'), [3, 0], 'hail of no storm cell is hail of no storm');
  t.deepEqual(await count('&state=KS'), [2, 0]);
  t.deepEqual(await count('&bbox=-99.98,39.99,-99.97,40'), [1], 'the pixel of 26 mm alone');
  t.deepEqual(await count('&bbox=-91,30,-89,32'), [], 'no detection, no event');
});

test('GET /v1/events gives each pixel to the state whose outline holds its centre', async (t) => {
  const [kansas] = (await askEvents(`${MAY}&state=KS`)).events as [EventDay];
  const [nebraska] = (await askEvents(`${MAY}&state=NE`)).events as [EventDay];
  t.like(kansas, { n_detections: 8, max_size_mm: 39, swath_url: '/v1/hail/swaths?date=2026-05-01&state=KS' });
  t.like(nebraska, { n_detections: 2, max_size_mm: 20, cell_count: 1 });
});

test('GET /v1/events echoes the box of the state', async (t) => {
  const { minLat, maxLat, minLon, maxLon } = (await askEvents(`${MAY}&state=CO`)).region.bbox!;
  const edges = [minLat, maxLat, minLon, maxLon].map((edge) => Math.round(edge * 100) / 100);
  t.deepEqual(edges, [36.99, 41, -109.06, -102.04]);
});

test('GET /v1/events gives a swath_url that answers an active swath of the same hail', async (t) => {
  for (const region of ['', '&state=KS', '&bbox=-101,39,-99,41', '&bbox=-180,1e-7,-66,90'])
    await sameAsSwaths(t, eventsService, `${MAY}${region}`);
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
  const service = await serviceFor(t, { data_root: root, now_ms: MONTH_LATER_MS });
  const look = async () => {
    await service.services.catalog.refresh();
    const rows: EventDay[][] = [];
    for (const region of regions) rows.push(await sameAsSwaths(t, service, `${TINY_DAYS}${region}`));
    const { headers } = await service.call(`${EVENTS}?${TINY_DAYS}`);
    return { rows, etag: headers.get('etag') };
  };
  const running = await look();
  t.true(running.rows.every(({ length }) => length > 0));
  await onRoot(root, {}, async ({ root: opened }) => {
    for (const date of ['2026-05-01', '2026-05-02']) t.true(await compactDay(opened, date, MONTH_LATER_MS));
  });
  const closed = await look();
  t.deepEqual(closed.rows, running.rows);
  await onRoot(root, {}, async ({ root: opened }) => t.true(await compactMonth(opened, '2026-05', MONTH_LATER_MS)));
  t.deepEqual(await look(), closed, 'nor does the tag');
});

test('GET /v1/events takes one day, with both ends the same', async (t) => {
  t.is((await askEvents(`date_start=${EVENTS_FIRST}&date_end=${EVENTS_FIRST}`)).event_count, 1);
  t.is((await askEvents(`date_start=${WEAK}&date_end=${WEAK}`)).event_count, 0);
});

test('GET /v1/events of a range without data is empty and as fresh as the newest scan', async (t) => {
  t.like(await askEvents('date_start=2020-01-01&date_end=2020-12-30'), {
    events: [],
    event_count: 0,
    dates_without_data: Array.from({ length: 365 }, (_, day) => addDays('2020-01-01', day)),
    data_as_of: '2026-05-04T23:59:59Z',
  });
});

for (const region of ['&state=AK', '&state=PR', '&bbox=0,40,10,50'])
  test(`GET /v1/events${region} is empty, and says that nothing can be known there`, async (t) => {
    const { event_count, region: shown, dates_without_data, note } = await askEvents(`${MAY}${region}`);
    t.deepEqual([event_count, shown.bbox, note], [0, null, NOWHERE.note]);
    t.true(dates_without_data.includes(DAY));
  });

test('GET /v1/events takes 365 days and refuses 366', async (t) => {
  const range = (days: number) => `date_start=${addDays('2026-05-10', 1 - days)}&date_end=2026-05-10`;
  t.is((await askEvents(range(365))).event_count, 2);
  const tooLong = await refusalOfEvents(range(366));
  t.regex(tooLong, /^400 invalid_parameter: date_end is too far from date_start, expected at most 365 days/);
});

test('GET /v1/events takes date_end up to tomorrow and date_start up to today UTC', async (t) => {
  t.is((await askEvents('date_start=2026-05-10&date_end=2026-05-11')).event_count, 0);
  const ahead = await refusalOfEvents('date_start=2026-05-10&date_end=2026-05-12');
  t.regex(ahead, /^400 invalid_parameter: date_end is 2026-05-12/);
  const later = await refusalOfEvents('date_start=2026-05-11&date_end=2026-05-11');
  t.regex(later, /^400 invalid_parameter: date_start is 2026-05-11/);
});

for (const [query, message] of [
  ['', /^400 invalid_parameter: date_start is required/],
  ['date_start=2026-05-01', /^400 invalid_parameter: date_end is required/],
  ['date_start=2026-05-02&date_end=2026-05-01', /^400 invalid_parameter: date_end is before date_start/],
  ['date_start=2026-02-30&date_end=2026-05-01', /^400 invalid_parameter: date_start is '2026-02-30'/],
  [`${MAY}&state=KS&bbox=-101,39,-99,41`, /^400 invalid_parameter: bbox is given together with state/],
  [`${MAY}&state=ZZ`, /^400 invalid_parameter: state is 'ZZ'/],
] as const)
  test(`GET /v1/events refuses '${query}'`, async (t) => t.regex(await refusalOfEvents(query), message));
