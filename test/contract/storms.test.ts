import anyTest, { type ExecutionContext } from 'ava';
import { selectList } from '../../api/queries/sql.ts';
import { getHailNowcast } from '../../api/routes/hail-nowcast.ts';
import { compactDay } from '../../pipeline/publish/compact.ts';
import { destination, distanceKm } from '../../schemas/geo/distance.ts';
import { NOWCAST_MODEL } from '../../schemas/reference/nowcast-model.ts';
import { NOWCAST_LEADS, Nowcast, SIMULATED_NOTE } from '../../schemas/resources/nowcast.ts';
import { Storms, StormTrack } from '../../schemas/resources/storm.ts';
import { sizeCategory } from '../../schemas/size.ts';
import { type Cell, cells, type TrackPoint, tracks } from '../../schemas/tables/radar.ts';
import { publishDays } from '../support/data/published-days.ts';
import { cell, trackPoint } from '../support/data/rows.ts';
import {
  asObserved,
  ingest,
  MONTH_LATER_MS,
  midnight,
  onRoot,
  preparedRoot,
  publish,
  scansBetween,
  scratch,
  NOW_MS as WORLD_NOW_MS,
} from '../support/data/world.ts';
import { creditsUsed } from '../support/service/portfolio.ts';
import { type RunningService, serviceFor, startService } from '../support/service/service.ts';
import { closeWithoutFailures } from '../support/service/test-with.ts';
import { isRefusedFor, parsed, setClock } from './answers.ts';

const test = anyTest.serial;

const PATH = '/v1/storms';
const MIDDLE = { lat: 35.2, lon: -97.0 };
const ALL = `lat=${MIDDLE.lat}&lon=${MIDDLE.lon}&radius_km=150`;
const NOW_MS = Date.parse('2026-05-02T00:20:30Z');
let service: RunningService;
let rows: TrackPoint[];
let cellRows: Cell[];
let newest_ms: number;
/** The storm with the largest hail, and so its neighbourhood. */
let storm: TrackPoint;

anyTest.before(async () => {
  const scans = await midnight();
  newest_ms = scans.at(-1)?.time_ms ?? 0;
  service = await startService({ data_root: await preparedRoot(scans), now_ms: NOW_MS });
  const { catalog, engine, live } = service.services;
  storm = live
    .snapshot()
    .stormsWithin(MIDDLE, 500, 0)
    .map(({ item }) => item.seen)
    .reduce((best, one) => (one.estimated_size_mm > best.estimated_size_mm ? one : best));
  const edition = catalog.edition();
  rows = await engine.rows<TrackPoint>(
    `SELECT ${selectList(tracks)} FROM read_parquet($1::VARCHAR[]) ORDER BY scan_time`,
    [edition.paths('tracks', edition.dates)],
  );
  cellRows = await engine.rows<Cell>(`SELECT ${selectList(cells)} FROM read_parquet($1::VARCHAR[])`, [
    edition.paths('cells', edition.dates),
  ]);
});
anyTest.after.always((t) => closeWithoutFailures(t, service));

const ask = (query = ALL, at: RunningService = service) => parsed(at.call(`${PATH}?${query}`), Storms);

/** Zero has no sign. */
const round = (value: number, decimals: number) => Math.round(value * 10 ** decimals) / 10 ** decimals + 0;
const orNull = (value: number | null, decimals: number) => (value === null ? null : round(value, decimals));

/** The slow and obvious list: last row that saw each track that was not merged or ended, seen twice, within 30 minutes. */
function slowly(now_ms: number) {
  return [...Map.groupBy(rows, (row) => row.track_id).values()]
    .filter((own) => !['merged', 'ended'].includes(own.at(-1)?.state ?? ''))
    .flatMap((own) => own.filter((row) => row.state === 'tracked').slice(-1))
    .filter((row) => row.scan_count > 1 && row.scan_time >= now_ms - 30 * 60_000)
    .map((row) => ({ row, km: distanceKm(MIDDLE, row) }))
    .filter(({ km }) => km <= 150)
    .sort((a, b) => a.km - b.km);
}

test('GET /v1/storms lists the tracked storms in range as the newest scan saw them, nearest first', async (t) => {
  const answer = await ask();
  const slow = slowly(NOW_MS);
  t.true(slow.length > 0);
  t.deepEqual(
    answer.cells as unknown,
    slow.map(({ row, km }) => ({
      track_id: row.track_id,
      distance_km: round(km, 2),
      scan_time: new Date(row.scan_time).toISOString().replace('.000', ''),
      lat: round(row.lat, 5),
      lon: round(row.lon, 5),
      motion: {
        speed_kmh: orNull(row.speed_kmh, 1),
        direction_deg: row.direction_deg === null ? null : round(row.direction_deg, 0) % 360,
      },
      hail: {
        estimated_size_mm: round(row.estimated_size_mm, 1),
        size_category: sizeCategory(row.estimated_size_mm),
        ml_probability: round(row.ml_probability, 3),
      },
      trend: row.trend,
      growth: { size_growth_rate_mm_per_min: orNull(row.size_growth_rate_mm_per_min, 2) },
      track: { duration_min: round(row.duration_min, 1), peak_estimated_size_mm: round(row.peak_estimated_size_mm, 1) },
    })),
  );
  t.deepEqual(answer.summary, {
    total_cells: slow.length,
    closest_cell_km: round(slow[0]?.km ?? 0, 2),
    max_size_category: sizeCategory(Math.max(...slow.map(({ row }) => row.estimated_size_mm))),
  });
  t.like(answer, { active: true, detail: 'standard' });
  t.is(Date.parse(answer.data_as_of as string), newest_ms);
});

test('GET /v1/storms echoes the query with its defaults', async (t) => {
  const { query } = await ask('lat=35.2&lon=-97');
  t.deepEqual(query, { lat: 35.2, lon: -97, radius_km: 50, lookback_minutes: 30 });
});

test('GET /v1/storms is inactive with nothing in range', async (t) => {
  const answer = await ask('lat=45&lon=-80');
  t.like(answer, { active: false });
  t.deepEqual(answer.cells, []);
  t.deepEqual(answer.summary, { total_cells: 0, closest_cell_km: null, max_size_category: null });
});

test('GET /v1/storms with detail=advanced adds the radar products of the cell', async (t) => {
  const { cells: found, detail } = await ask(`${ALL}&detail=advanced`);
  t.is(detail, 'advanced');
  let products = 0;
  for (const { track_id, scan_time, hail, radar_signals } of found) {
    const { cell_index } = rows.find(
      (row) => row.track_id === track_id && row.scan_time === Date.parse(scan_time),
    ) as TrackPoint;
    const isOfCell = (row: { readonly scan_time: number; readonly cell_index: number | null }) =>
      row.scan_time === Date.parse(scan_time) && row.cell_index === cell_index;
    if (rows.filter(isOfCell).length > 1) continue; // a cell that several storms share belongs to none of them
    const cell = cellRows.find(isOfCell);
    products += 1;
    t.is(radar_signals?.mesh_mm, hail.estimated_size_mm);
    t.is(radar_signals?.posh_pct, cell?.posh_pct ?? undefined);
    t.is(radar_signals?.vil_kg_m2, round(cell?.vil_kg_m2 as number, 1));
    t.is(radar_signals?.echo_top_50_km, round(cell?.echo_top_50_km as number, 2));
  }
  t.true(products > 0);
  t.true((await ask()).cells.every((cell) => !('radar_signals' in cell)));
});

test('GET /v1/storms shows of each storm what its track answers for the last point and the whole', async (t) => {
  for (const cell of (await ask(`${ALL}&detail=advanced`)).cells) {
    const response = await service.call(`/v1/storms/${cell.track_id}?detail=advanced`);
    const { points, summary } = StormTrack.parse(await response.json());
    const { track_id: _, distance_km: __, track, ...state } = cell;
    t.deepEqual<unknown, unknown>(state, points.at(-1));
    t.deepEqual(track, { duration_min: summary.duration_min, peak_estimated_size_mm: summary.peak_estimated_size_mm });
  }
});

test('GET /v1/storms drops a storm 30 minutes after it was seen last', async (t) => {
  const at = async (now_ms: number) => {
    setClock(t, service, now_ms);
    return (await ask()).cells.map(({ track_id }) => track_id);
  };
  const expected = slowly(newest_ms + 30 * 60_000).map(({ row }) => row.track_id);
  t.true(expected.length > 0);
  t.deepEqual(await at(newest_ms + 30 * 60_000), expected);
  t.deepEqual(await at(newest_ms + 30 * 60_000 + 1000), []);
});

for (const [query, parameter] of [
  ['lat=35&lon=-97&radius_km=151', 'radius_km'],
  ['lat=35&lon=-97&radius_km=-1', 'radius_km'],
  ['lat=abc&lon=-97', 'lat'],
  ['lat=35&lon=-97&detail=', 'detail'],
] as const)
  test(`GET /v1/storms?${query} is 400 invalid_parameter about ${parameter}`, async (t) =>
    isRefusedFor(t, service.call(`${PATH}?${query}`), parameter));

const [FIRST, LAST] = ['2026-05-01', '2026-05-02'];
const NO_HAIL = { day_max: [], detections: [], cells: [] };

const seen = (track_id: string) => rows.filter((row) => row.track_id === track_id && row.state === 'tracked');
const idsWhere = (holds: (own: readonly TrackPoint[]) => boolean) =>
  [...new Set(rows.map((row) => row.track_id))].filter((id) => holds(seen(id)));
const datesOf = (own: readonly TrackPoint[]) => new Set(own.map((row) => row.storm_date));

/** Seen on both sides of midnight. */
const overMidnight = () => idsWhere((own) => datesOf(own).size === 2)[0] as string;

const askTrack = (track_id: string, query = '', at: RunningService = service) =>
  parsed(at.call(`/v1/storms/${track_id}${query}`), StormTrack);

test('GET /v1/storms/{track_id} answers the whole track, oldest first, across midnight', async (t) => {
  const track_id = overMidnight();
  const own = seen(track_id);
  const answer = await askTrack(track_id);
  t.like(answer, { track_id, date: LAST, detail: 'standard' });
  t.deepEqual(
    answer.points.map(({ scan_time, lat, lon, hail, trend }) => [scan_time, lat, lon, hail.estimated_size_mm, trend]),
    own.map((row) => [
      new Date(row.scan_time).toISOString().replace('.000', ''),
      round(row.lat, 5),
      round(row.lon, 5),
      round(row.estimated_size_mm, 1),
      row.trend,
    ]),
  );
  const peak = Math.max(...own.map((row) => row.estimated_size_mm));
  t.deepEqual(answer.summary as unknown, {
    scan_count: own.length,
    first_detected: answer.points[0]?.scan_time,
    last_detected: answer.points.at(-1)?.scan_time,
    duration_min: round(((own.at(-1)?.scan_time ?? 0) - (own[0]?.scan_time ?? 0)) / 60_000, 1),
    peak_estimated_size_mm: round(peak, 1),
    peak_size_category: sizeCategory(peak),
    peak_ml_probability: round(Math.max(...own.map((row) => row.ml_probability)), 3),
    size_km2: round(Math.max(...own.map((row) => row.area_km2)), 1),
  });
});

test('GET /v1/storms/{track_id} answers the same points whichever of its dates selects it', async (t) => {
  const track_id = overMidnight();
  const [first, last] = [await askTrack(track_id, `?date=${FIRST}`), await askTrack(track_id, `?date=${LAST}`)];
  t.deepEqual(first.points, last.points);
  t.deepEqual([first.date, last.date], [FIRST, LAST]);
});

/** A service on made rows: a storm of one date, and one over a midnight whose cell another shares. */
async function onMadeRows(t: ExecutionContext, now_ms: number): Promise<RunningService> {
  const made = await scratch(t);
  const before = Date.parse(`${LAST}T00:00:00Z`) - 60_000;
  const after = before + 120_000;
  const life = { first_detected: before, duration_min: 2 };
  const over = { ...life, track_id: '20260501-over', estimated_size_mm: 50 };
  const part = { ...life, track_id: '20260501-part', estimated_size_mm: 20 };
  const short = { track_id: '20260501-short', cell_index: 1, first_detected: before - 120_000 };
  const shared = { track_id: over.track_id, estimated_size_mm: 50, posh_pct: 80 };
  const day = (storm_date: string, scan_time: number, points: readonly Parameters<typeof trackPoint>[0][]) => ({
    storm_date,
    rows: {
      ...NO_HAIL,
      cells: [cell({ ...shared, storm_date, scan_time })],
      tracks: points.map((own) => trackPoint({ scan_time, ...own, storm_date })),
    },
  });
  const first = day(FIRST, before, [{ ...short, scan_time: before - 120_000 }, over, part, short]);
  await publishDays(made, [first, day(LAST, after, [over, part])], 'simulated', now_ms);
  return serviceFor(t, { data_root: made, now_ms });
}

test('GET /v1/storms/{track_id} without a date answers the newest date on which the track has a point', async (t) => {
  const other = await onMadeRows(t, Date.parse('2026-05-03T00:00:30Z'));
  t.is((await askTrack('20260501-short', '', other)).date, FIRST);
  const over = await askTrack('20260501-over', '', other);
  t.is(over.date, LAST);
  t.deepEqual(over.points, (await askTrack('20260501-over', `?date=${FIRST}`, other)).points);
  t.is(over.points.length, 2);
});

test('GET /v1/storms/{track_id} gives radar_signals the size of its own part of a cell that tracks share', async (t) => {
  const other = await onMadeRows(t, WORLD_NOW_MS);
  for (const [track_id, mm] of [
    ['20260501-over', 50],
    ['20260501-part', 20],
  ] as const) {
    const { points } = await askTrack(track_id, '?detail=advanced', other);
    const sizes_mm = points.map(({ radar_signals }) => radar_signals?.mesh_mm);
    t.deepEqual(sizes_mm, [mm, mm]);
    t.deepEqual(
      points.map(({ radar_signals }) => [radar_signals?.vil_kg_m2, radar_signals?.max_reflectivity_dbz]),
      Array(points.length).fill([null, null]),
      'products of the whole cell are those of neither part',
    );
  }
});

test('GET /v1/storms/{track_id} answers the same once its dates are closed', async (t) => {
  const closed = await scratch(t);
  await publish(closed, await midnight());
  await onRoot(closed, { now_ms: MONTH_LATER_MS }, async ({ root }) => {
    for (const date of [FIRST, LAST]) await compactDay(root, date, MONTH_LATER_MS);
  });
  const other = await serviceFor(t, { data_root: closed, now_ms: MONTH_LATER_MS });
  const track_id = overMidnight();
  for (const query of [`?date=${FIRST}`, `?date=${LAST}&detail=advanced`])
    t.deepEqual(await askTrack(track_id, query, other), await askTrack(track_id, query));
});

test('GET /v1/storms/{track_id} tells the freshness of the dates that it read', async (t) => {
  const onlyFirst = idsWhere((own) => own.length > 1 && datesOf(own).size === 1 && own[0]?.storm_date === FIRST)[0];
  const lastOf = (date: string) =>
    Math.max(...rows.filter((row) => row.storm_date === date).map((row) => row.scan_time));
  t.is(Date.parse((await askTrack(overMidnight())).data_as_of as string), lastOf(LAST));
  if (onlyFirst !== undefined)
    t.is(Date.parse((await askTrack(onlyFirst, `?date=${FIRST}`)).data_as_of as string), lastOf(FIRST));
});

test('GET /v1/storms/{track_id} with detail=advanced adds radar_signals to every point', async (t) => {
  const { points, detail } = await askTrack(overMidnight(), '?detail=advanced');
  t.is(detail, 'advanced');
  for (const { hail, radar_signals } of points) {
    t.is(radar_signals?.shi, round((hail.estimated_size_mm / 2.54) ** 2, 1));
    t.true((radar_signals?.posh_pct ?? -1) >= 0);
  }
  t.true((await askTrack(overMidnight())).points.every((point) => !('radar_signals' in point)));
});

test('GET /v1/storms/{track_id} costs 10 credits, 18 with detail=advanced, nothing when it is not found', async (t) => {
  const costs: number[] = [];
  for (const path of [overMidnight(), `${overMidnight()}?detail=advanced`, 'nobody']) {
    const before = await creditsUsed(service);
    await service.call(`/v1/storms/${path}`);
    costs.push((await creditsUsed(service)) - before);
  }
  t.deepEqual(costs, [10, 18, 0]);
});

test('GET /v1/storms/{track_id} of a track that one scan saw is 404: it was never published', async (t) => {
  const [first] = await midnight();
  if (first === undefined) return t.fail('the tiny world has no scans');
  const at = await serviceFor(t, { data_root: await preparedRoot([first]), now_ms: WORLD_NOW_MS });
  const { catalog, engine } = at.services;
  const edition = catalog.edition();
  const once = await engine.rows<{ track_id: string }>('SELECT track_id FROM read_parquet($1::VARCHAR[])', [
    edition.paths('tracks', edition.dates),
  ]);
  t.true(once.length > 0);
  for (const { track_id } of once) t.is((await at.call(`/v1/storms/${track_id}?date=${FIRST}`)).status, 404);
});

test('GET /v1/storms/{track_id} on a date without a point of the track is 404', async (t) => {
  for (const date of ['2026-04-30', '2026-05-03', '2031-01-01'])
    t.is((await service.call(`/v1/storms/${overMidnight()}?date=${date}`)).status, 404);
});

for (const track_id of ['nobody', 'a'.repeat(64), 'a'.repeat(65), `x'%20OR%20'1'='1`, '%24%24', 'caf%C3%A9', '%00'])
  test(`GET /v1/storms/${track_id} is 404`, async (t) => {
    const response = await service.call(`/v1/storms/${track_id}`);
    t.is(response.status, 404);
    t.is(((await response.json()) as { error: string }).error, 'not_found');
  });

for (const date of ['2026-02-30', '20260501', 'today', ''])
  test(`GET /v1/storms/{track_id}?date=${date} is 400 invalid_parameter`, async (t) => {
    const response = await service.call(`/v1/storms/${overMidnight()}?date=${date}`);
    t.is(response.status, 400);
    t.regex(((await response.json()) as { message: string }).message, /^date /);
  });

const NOWCAST_PATH = '/v1/hail/nowcast';

const askNowcast = (query: string, at: RunningService = service) =>
  parsed(at.call(`${NOWCAST_PATH}?${query}`), Nowcast);

const at = ({ lat, lon }: { lat: number; lon: number }) => `lat=${lat}&lon=${lon}`;

test('GET /v1/hail/nowcast where the largest storm has moved to since is active and likely', async (t) => {
  const { speed_kmh, direction_deg, scan_time } = storm;
  const answer = await askNowcast(
    at(destination(storm, direction_deg ?? 0, ((speed_kmh ?? 0) * (NOW_MS - scan_time)) / 3_600_000)),
  );
  t.true(answer.active);
  // Nine minutes after its scan less than six tenths of hail is still there, and not every future brings it here.
  t.true((answer.nowcast?.t15.probability ?? 0) > 0.25);
  const behind = await askNowcast(at(destination(storm, (direction_deg ?? 0) + 180, 12)));
  t.true((behind.nowcast?.t15.probability ?? 1) < 0.03);
  t.is(answer.model_version, NOWCAST_MODEL.simulated.version);
  t.is(Date.parse(answer.data_timestamp as string), newest_ms);
});

/** Quality and note of every lead, as its evenings say; of simulated storms they say nothing. */
const leadsWith = (simulated: boolean) =>
  Object.fromEntries(
    NOWCAST_LEADS.map(({ key, minutes, quality, note }) => [
      key,
      { minutes, quality, note: simulated ? SIMULATED_NOTE : note },
    ]),
  );

/** A service over another data root of the same evening. */
async function serviceOver(t: ExecutionContext, publishInto: (root: string) => Promise<void>): Promise<RunningService> {
  const root = await scratch(t);
  await publishInto(root);
  const other = await serviceFor(t, { data_root: root, now_ms: NOW_MS });
  return other;
}

test('GET /v1/hail/nowcast of observed data goes by weights of real radar, and each lead says how far it may be trusted', async (t) => {
  const observed = await serviceOver(t, async (root) => publish(root, await asObserved(t, await midnight())));
  const point = at(destination(storm, 60, 4));
  const [real, simulated] = [await askNowcast(point, observed), await askNowcast(point)];
  t.is(real.model_version, NOWCAST_MODEL.observed.version);
  t.is(simulated.model_version, NOWCAST_MODEL.simulated.version);
  t.deepEqual(real.nearest_storm, simulated.nearest_storm);
  t.like(real.nowcast, leadsWith(false));
  t.like(simulated.nowcast, leadsWith(true));
  t.not(real.nowcast?.t15.probability, simulated.nowcast?.t15.probability);
});

test('GET /v1/hail/nowcast of simulated storms beside an observed date goes by simulated weights', async (t) => {
  const mixed = await serviceOver(t, async (root) => {
    await publish(root, await asObserved(t, await scansBetween('23:48', '00:00')));
    await ingest(root, await scansBetween('00:00', '00:12'));
  });
  t.is((await askNowcast(at(storm), mixed)).model_version, NOWCAST_MODEL.simulated.version);
});

test('GET /v1/hail/nowcast of observed storms beside a simulated date never goes by simulated weights', async (t) => {
  const mixed = await serviceOver(t, async (root) => {
    await publish(root, await scansBetween('23:48', '00:00'));
    await ingest(root, await asObserved(t, await scansBetween('00:00', '00:12')));
  });
  t.is((await askNowcast(at(storm), mixed)).model_version, NOWCAST_MODEL.observed.version);
});

test('the description of GET /v1/hail/nowcast says what the weights of either kind of data were fitted on', (t) => {
  for (const { version, material } of [NOWCAST_MODEL.observed, NOWCAST_MODEL.simulated])
    t.true(getHailNowcast.description.includes(version) && getHailNowcast.description.includes(material.source));
});

test('GET /v1/hail/nowcast never falls from lead to lead, wherever the point', async (t) => {
  for (let bearing = 0; bearing < 360; bearing += 60)
    for (const km of [1, 5, 14]) {
      const { nowcast } = await askNowcast(at(destination(storm, bearing, km)));
      const { t15, t30, t45 } = nowcast as NonNullable<Nowcast['nowcast']>;
      t.true(t15.probability <= t30.probability && t30.probability <= t45.probability);
    }
});

test('GET /v1/hail/nowcast names the nearest tracked storm and how it moves', async (t) => {
  const point = destination(storm, 200, 3);
  const { nearest_storm } = await askNowcast(at(point));
  const [nearest] = service.services.live
    .snapshot()
    .stormsWithin(point, 500, 0)
    .map(({ item }) => item.seen)
    .sort((a, b) => distanceKm(point, a) - distanceKm(point, b)) as [TrackPoint];
  t.like(nearest_storm, {
    track_id: nearest.track_id,
    distance_km: Math.round(100 * distanceKm(point, nearest)) / 100,
    current_probability: Math.round(1000 * nearest.ml_probability) / 1000,
    data_timestamp: new Date(nearest.scan_time).toISOString().replace('.000', ''),
  });
  t.is(nearest_storm?.motion.speed_kmh, nearest.speed_kmh === null ? null : Math.round(10 * nearest.speed_kmh) / 10);
});

test('GET /v1/hail/nowcast without a storm in range is a billed 200 with nulls, not zeros', async (t) => {
  const before = await creditsUsed(service);
  const answer = await askNowcast('lat=45&lon=-80');
  t.deepEqual(answer, {
    active: false,
    location: { lat: 45, lon: -80 },
    nearest_storm: null,
    nowcast: null,
    note: null,
    model_version: NOWCAST_MODEL.simulated.version,
    data_timestamp: new Date(newest_ms).toISOString().replace('.000', ''),
  });
  t.is((await creditsUsed(service)) - before, 10);
});

test('GET /v1/hail/nowcast takes a storm at exactly radius_km as in range, 15 km by default', async (t) => {
  const point = destination(storm, 180, 14.5);
  const nearest_km = service.services.live.snapshot().stormsWithin(point, 500, 0)[0]?.distance_km as number;
  t.not((await askNowcast(`${at(point)}&radius_km=${nearest_km}`)).nearest_storm, null);
  t.like(await askNowcast(`${at(point)}&radius_km=${nearest_km - 1e-9}`), {
    active: true,
    nearest_storm: null,
    note: 'Hail in range belongs to a tracked storm whose position is beyond the radius.',
  });
  t.not((await askNowcast(at(point))).nearest_storm, null);
});

test('GET /v1/hail/nowcast of storms older than 30 minutes is inactive', async (t) => {
  setClock(t, service, newest_ms + 31 * 60_000);
  t.like(await askNowcast(at(storm)), { active: false, nowcast: null });
});

test('GET /v1/hail/nowcast answers the same for a minute, so that its ETag holds', async (t) => {
  const path = `${NOWCAST_PATH}?${at(destination(storm, storm.direction_deg ?? 0, 10))}`;
  const tags: (string | null)[] = [];
  for (const later_s of [0, 20, 600]) {
    setClock(t, service, NOW_MS + later_s * 1000);
    tags.push((await service.call(path)).headers.get('etag'));
  }
  setClock(t, service, NOW_MS);
  t.is(tags[0], tags[1]);
  t.not(tags[0], tags[2]);
  const before = await creditsUsed(service);
  t.is((await service.call(path, { headers: { 'If-None-Match': tags[0] as string } })).status, 304);
  t.is((await creditsUsed(service)) - before, 10);
});

for (const [query, parameter] of [
  ['lon=-97', 'lat'],
  ['lat=35&lon=-97&radius_km=50.1', 'radius_km'],
  ['lat=35&lon=-97&radius_km=0', 'radius_km'],
] as const)
  test(`GET /v1/hail/nowcast?${query} is 400 invalid_parameter about ${parameter}`, async (t) =>
    isRefusedFor(t, service.call(`${NOWCAST_PATH}?${query}`), parameter));
