import { mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { selectList } from '../../api/queries/select.ts';
import { stormsGet } from '../../api/routes/storms.ts';
import { StormTrack } from '../../schemas/resources/storm.ts';
import { sizeCategory } from '../../schemas/size.ts';
import { type TrackPoint, tracks } from '../../schemas/tables/tracks.ts';
import { publishDays } from '../support/data/published-days.ts';
import { cell, trackPoint } from '../support/data/rows.ts';
import { MONTH_LATER_MS, midnight, NOW_MS, onRoot, publish, publishedRoot, SCRATCH } from '../support/data/world.ts';
import { creditsUsed } from '../support/service/portfolio.ts';
import { type RunningService, startService } from '../support/service/service.ts';

const [FIRST, LAST] = ['2026-05-01', '2026-05-02'];
const NO_HAIL = { day_max: [], detections: [], cells: [] };
const data_root = mkdtempSync(join(SCRATCH, 'hail-track-'));
let service: RunningService;
let rows: TrackPoint[];

test.before(async () => {
  await publish(data_root, await midnight());
  service = await startService({ endpoints: [stormsGet], data_root, now_ms: NOW_MS });
  const { catalog, engine } = service.services;
  const edition = catalog.edition();
  rows = await engine.rows<TrackPoint>(
    `SELECT ${selectList(tracks)} FROM read_parquet($1::VARCHAR[]) ORDER BY scan_time`,
    [edition.paths('tracks', edition.dates)],
  );
});
test.after.always(async (t) => {
  t.deepEqual(service.failures, []);
  await service.close();
  rmSync(data_root, { recursive: true, force: true });
});

const seen = (track_id: string) => rows.filter((row) => row.track_id === track_id && row.state === 'tracked');
const idsWhere = (holds: (own: readonly TrackPoint[]) => boolean) =>
  [...new Set(rows.map((row) => row.track_id))].filter((id) => holds(seen(id)));
const datesOf = (own: readonly TrackPoint[]) => new Set(own.map((row) => row.storm_date));

/** Seen on both sides of midnight. */
const overMidnight = () => idsWhere((own) => datesOf(own).size === 2)[0] as string;

async function ask(track_id: string, query = '', at: RunningService = service): Promise<StormTrack> {
  const response = await at.call(`/v1/storms/${track_id}${query}`);
  if (response.status !== 200) throw new Error(`storm answers ${response.status} ${await response.text()}`);
  return StormTrack.parse(await response.json());
}

const round = (value: number, decimals: number) => Math.round(value * 10 ** decimals) / 10 ** decimals;

test.serial('GET /v1/storms/{track_id} answers the whole track, oldest first, across midnight', async (t) => {
  const track_id = overMidnight();
  const own = seen(track_id);
  const answer = await ask(track_id);
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

test.serial('GET /v1/storms/{track_id} answers the same points whichever of its dates selects it', async (t) => {
  const track_id = overMidnight();
  const [first, last] = [await ask(track_id, `?date=${FIRST}`), await ask(track_id, `?date=${LAST}`)];
  t.deepEqual(first.points, last.points);
  t.deepEqual([first.date, last.date], [FIRST, LAST]);
});

/** A service on made rows: a storm of one date, and one over a midnight whose cell another shares. */
async function onMadeRows(t: ExecutionContext, now_ms: number): Promise<RunningService> {
  const made = mkdtempSync(join(SCRATCH, 'hail-track-'));
  const before = Date.parse(`${LAST}T00:00:00Z`) - 60_000;
  const after = before + 120_000;
  const life = { first_detected: before, duration_min: 2 };
  const over = { ...life, track_id: '20260501-over', estimated_size_mm: 50 };
  const part = { ...life, track_id: '20260501-part', estimated_size_mm: 20 };
  const short = { track_id: '20260501-short', cell_index: 1, first_detected: before - 120_000 };
  const shared = { track_id: over.track_id, estimated_size_mm: 50, posh_pct: 80 };
  await publishDays(
    made,
    [
      {
        storm_date: FIRST,
        rows: {
          ...NO_HAIL,
          cells: [cell({ ...shared, storm_date: FIRST, scan_time: before })],
          tracks: [
            trackPoint({ ...short, storm_date: FIRST, scan_time: before - 120_000 }),
            ...[over, part, short].map((own) => trackPoint({ ...own, storm_date: FIRST, scan_time: before })),
          ],
        },
      },
      {
        storm_date: LAST,
        rows: {
          ...NO_HAIL,
          cells: [cell({ ...shared, storm_date: LAST, scan_time: after })],
          tracks: [over, part].map((own) => trackPoint({ ...own, storm_date: LAST, scan_time: after })),
        },
      },
    ],
    'simulated',
    now_ms,
  );
  const other = await startService({ endpoints: [stormsGet], data_root: made, now_ms });
  t.teardown(async () => {
    await other.close();
    rmSync(made, { recursive: true, force: true });
  });
  return other;
}

test.serial(
  'GET /v1/storms/{track_id} without a date answers the newest date on which the track has a point',
  async (t) => {
    const other = await onMadeRows(t, Date.parse('2026-05-03T00:00:30Z'));
    t.is((await ask('20260501-short', '', other)).date, FIRST);
    const over = await ask('20260501-over', '', other);
    t.is(over.date, LAST);
    t.deepEqual(over.points, (await ask('20260501-over', `?date=${FIRST}`, other)).points);
    t.is(over.points.length, 2);
  },
);

test.serial(
  'GET /v1/storms/{track_id} gives radar_signals the size of its own part of a cell that tracks share',
  async (t) => {
    const other = await onMadeRows(t, NOW_MS);
    for (const [track_id, mm] of [
      ['20260501-over', 50],
      ['20260501-part', 20],
    ] as const) {
      const { points } = await ask(track_id, '?detail=advanced', other);
      t.deepEqual(
        points.map(({ radar_signals }) => radar_signals?.mesh_mm),
        [mm, mm],
      );
      t.deepEqual(
        points.map(({ radar_signals }) => [radar_signals?.vil_kg_m2, radar_signals?.max_reflectivity_dbz]),
        Array(points.length).fill([null, null]),
        'products of the whole cell are those of neither part',
      );
    }
  },
);

test.serial('GET /v1/storms/{track_id} answers the same once its dates are closed', async (t) => {
  const closed = mkdtempSync(join(SCRATCH, 'hail-track-'));
  await publish(closed, await midnight());
  await onRoot(closed, { now_ms: MONTH_LATER_MS }, async ({ root }) => {
    for (const date of [FIRST, LAST]) await root.compactDay(date, MONTH_LATER_MS);
  });
  const other = await startService({ endpoints: [stormsGet], data_root: closed, now_ms: MONTH_LATER_MS });
  t.teardown(async () => {
    await other.close();
    rmSync(closed, { recursive: true, force: true });
  });
  const track_id = overMidnight();
  for (const query of [`?date=${FIRST}`, `?date=${LAST}&detail=advanced`])
    t.deepEqual(await ask(track_id, query, other), await ask(track_id, query));
});

test.serial('GET /v1/storms/{track_id} tells the freshness of the dates that it read', async (t) => {
  const onlyFirst = idsWhere((own) => own.length > 1 && datesOf(own).size === 1 && own[0]?.storm_date === FIRST)[0];
  const lastOf = (date: string) =>
    Math.max(...rows.filter((row) => row.storm_date === date).map((row) => row.scan_time));
  t.is(Date.parse((await ask(overMidnight())).data_as_of as string), lastOf(LAST));
  if (onlyFirst !== undefined)
    t.is(Date.parse((await ask(onlyFirst, `?date=${FIRST}`)).data_as_of as string), lastOf(FIRST));
});

test.serial('GET /v1/storms/{track_id} with detail=advanced adds radar_signals to every point', async (t) => {
  const { points, detail } = await ask(overMidnight(), '?detail=advanced');
  t.is(detail, 'advanced');
  for (const { hail, radar_signals } of points) {
    t.is(radar_signals?.shi, round((hail.estimated_size_mm / 2.54) ** 2, 1));
    t.true((radar_signals?.posh_pct ?? -1) >= 0);
  }
  t.true((await ask(overMidnight())).points.every((point) => !('radar_signals' in point)));
});

test.serial(
  'GET /v1/storms/{track_id} costs 10 credits, 18 with detail=advanced, nothing when it is not found',
  async (t) => {
    const costs: number[] = [];
    for (const path of [overMidnight(), `${overMidnight()}?detail=advanced`, 'nobody']) {
      const before = await creditsUsed(service);
      await service.call(`/v1/storms/${path}`);
      costs.push((await creditsUsed(service)) - before);
    }
    t.deepEqual(costs, [10, 18, 0]);
  },
);

test.serial('GET /v1/storms/{track_id} of a track that one scan saw is 404: it was never published', async (t) => {
  const [first] = await midnight();
  if (first === undefined) return t.fail('the tiny world has no scans');
  const at = await startService({ endpoints: [stormsGet], data_root: await publishedRoot(t, [first]), now_ms: NOW_MS });
  try {
    const { catalog, engine } = at.services;
    const edition = catalog.edition();
    const once = await engine.rows<{ track_id: string }>('SELECT track_id FROM read_parquet($1::VARCHAR[])', [
      edition.paths('tracks', edition.dates),
    ]);
    t.true(once.length > 0);
    for (const { track_id } of once) t.is((await at.call(`/v1/storms/${track_id}?date=${FIRST}`)).status, 404);
  } finally {
    await at.close();
  }
});

test.serial('GET /v1/storms/{track_id} on a date without a point of the track is 404', async (t) => {
  for (const date of ['2026-04-30', '2026-05-03', '2031-01-01'])
    t.is((await service.call(`/v1/storms/${overMidnight()}?date=${date}`)).status, 404);
});

for (const track_id of ['nobody', 'a'.repeat(64), 'a'.repeat(65), `x'%20OR%20'1'='1`, '%24%24', 'caf%C3%A9', '%00'])
  test.serial(`GET /v1/storms/${track_id} is 404`, async (t) => {
    const response = await service.call(`/v1/storms/${track_id}`);
    t.is(response.status, 404);
    t.is(((await response.json()) as { error: string }).error, 'not_found');
  });

for (const date of ['2026-02-30', '20260501', 'today', ''])
  test.serial(`GET /v1/storms/{track_id}?date=${date} is 400 invalid_parameter`, async (t) => {
    const response = await service.call(`/v1/storms/${overMidnight()}?date=${date}`);
    t.is(response.status, 400);
    t.regex(((await response.json()) as { message: string }).message, /^date /);
  });

test.serial('GET /v1/storms/{track_id} answers 304 to its ETag, and charges it', async (t) => {
  const path = `/v1/storms/${overMidnight()}`;
  const tag = (await service.call(path)).headers.get('etag') as string;
  const before = await creditsUsed(service);
  t.is((await service.call(path, { headers: { 'If-None-Match': tag } })).status, 304);
  t.is((await creditsUsed(service)) - before, 10);
});

test.serial('GET /v1/storms/{track_id} needs the scope storms:read', (t) => {
  t.is(stormsGet.scope, 'storms:read');
});
