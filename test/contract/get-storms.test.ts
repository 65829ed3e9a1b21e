import { mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import test from 'ava';
import { selectList } from '../../api/queries/select.ts';
import { stormsGet, stormsList } from '../../api/routes/storms.ts';
import { distanceKm } from '../../schemas/geo/distance.ts';
import { Storms, StormTrack } from '../../schemas/resources/storm.ts';
import { sizeCategory } from '../../schemas/size.ts';
import { type Cell, cells } from '../../schemas/tables/cells.ts';
import { type TrackPoint, tracks } from '../../schemas/tables/tracks.ts';
import { midnight, publish, SCRATCH } from '../support/data/world.ts';
import { creditsUsed } from '../support/service/portfolio.ts';
import { type RunningService, startService } from '../support/service/service.ts';

const PATH = '/v1/storms';
const MIDDLE = { lat: 35.2, lon: -97.0 };
const ALL = `lat=${MIDDLE.lat}&lon=${MIDDLE.lon}&radius_km=150`;
const NOW_MS = Date.parse('2026-05-02T00:20:30Z');
const data_root = mkdtempSync(join(SCRATCH, 'hail-storms-'));
let service: RunningService;
let rows: TrackPoint[];
let cellRows: Cell[];
let newest_ms: number;

test.before(async () => {
  const scans = await midnight();
  newest_ms = scans.at(-1)?.time_ms ?? 0;
  await publish(data_root, scans);
  service = await startService({ endpoints: [stormsList, stormsGet], data_root, now_ms: NOW_MS });
  const { catalog, engine } = service.services;
  const edition = catalog.edition();
  rows = await engine.rows<TrackPoint>(
    `SELECT ${selectList(tracks)} FROM read_parquet($1::VARCHAR[]) ORDER BY scan_time`,
    [edition.paths('tracks', edition.dates)],
  );
  cellRows = await engine.rows<Cell>(`SELECT ${selectList(cells)} FROM read_parquet($1::VARCHAR[])`, [
    edition.paths('cells', edition.dates),
  ]);
});
test.after.always(async (t) => {
  t.deepEqual(service.failures, []);
  await service.close();
  rmSync(data_root, { recursive: true, force: true });
});

async function ask(query = ALL, at: RunningService = service): Promise<Storms> {
  const response = await at.call(`${PATH}?${query}`);
  if (response.status !== 200) throw new Error(`storms answers ${response.status} ${await response.text()}`);
  return Storms.parse(await response.json());
}

const round = (value: number, decimals: number) => Math.round(value * 10 ** decimals) / 10 ** decimals;
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

test.serial(
  'GET /v1/storms lists the tracked storms in range as the newest scan saw them, nearest first',
  async (t) => {
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
        track: {
          duration_min: round(row.duration_min, 1),
          peak_estimated_size_mm: round(row.peak_estimated_size_mm, 1),
        },
      })),
    );
    t.deepEqual(answer.summary, {
      total_cells: slow.length,
      closest_cell_km: round(slow[0]?.km ?? 0, 2),
      max_size_category: sizeCategory(Math.max(...slow.map(({ row }) => row.estimated_size_mm))),
    });
    t.like(answer, { active: true, detail: 'standard' });
    t.is(Date.parse(answer.data_as_of as string), newest_ms);
  },
);

test.serial('GET /v1/storms echoes a radius of a metre as it was asked', async (t) => {
  t.is((await ask('lat=35.2&lon=-97&radius_km=0.001')).query.radius_km, 0.001);
});

test.serial('GET /v1/storms echoes the query with its defaults', async (t) => {
  const { query } = await ask('lat=35.2&lon=-97');
  t.deepEqual(query, { lat: 35.2, lon: -97, radius_km: 50, lookback_minutes: 30 });
});

test.serial('GET /v1/storms is inactive with nothing in range', async (t) => {
  const answer = await ask('lat=45&lon=-80');
  t.like(answer, { active: false });
  t.deepEqual(answer.cells, []);
  t.deepEqual(answer.summary, { total_cells: 0, closest_cell_km: null, max_size_category: null });
});

test.serial('GET /v1/storms with detail=advanced adds the radar products of the cell', async (t) => {
  const { cells: found, detail } = await ask(`${ALL}&detail=advanced`);
  t.is(detail, 'advanced');
  for (const { track_id, scan_time, hail, radar_signals } of found) {
    const { cell_index } = rows.find(
      (row) => row.track_id === track_id && row.scan_time === Date.parse(scan_time),
    ) as TrackPoint;
    const cell = cellRows.find((row) => row.scan_time === Date.parse(scan_time) && row.cell_index === cell_index);
    t.is(radar_signals?.mesh_mm, hail.estimated_size_mm);
    t.is(radar_signals?.posh_pct, cell?.posh_pct ?? undefined);
    t.is(radar_signals?.vil_kg_m2, round(cell?.vil_kg_m2 as number, 1));
    t.is(radar_signals?.echo_top_50_km, round(cell?.echo_top_50_km as number, 2));
  }
  t.true((await ask()).cells.every((cell) => !('radar_signals' in cell)));
});

test.serial('GET /v1/storms shows of each storm what its track answers for the last point and the whole', async (t) => {
  for (const cell of (await ask(`${ALL}&detail=advanced`)).cells) {
    const response = await service.call(`/v1/storms/${cell.track_id}?detail=advanced`);
    const { points, summary } = StormTrack.parse(await response.json());
    const { track_id: _, distance_km: __, track, ...state } = cell;
    t.deepEqual<unknown, unknown>(state, points.at(-1));
    t.deepEqual(track, {
      duration_min: summary.duration_min,
      peak_estimated_size_mm: summary.peak_estimated_size_mm,
    });
  }
});

test.serial('GET /v1/storms costs 15 credits, 25 with detail=advanced', async (t) => {
  const before = await creditsUsed(service);
  await ask();
  const between = await creditsUsed(service);
  await ask(`${ALL}&detail=advanced`);
  t.deepEqual([between - before, (await creditsUsed(service)) - between], [15, 25]);
});

test.serial('GET /v1/storms drops a storm 30 minutes after it was seen last', async (t) => {
  const at = async (now_ms: number) => {
    const late = await startService({ endpoints: [stormsList], data_root, now_ms });
    try {
      return (await ask(ALL, late)).cells.map(({ track_id }) => track_id);
    } finally {
      await late.close();
    }
  };
  const expected = slowly(newest_ms + 30 * 60_000).map(({ row }) => row.track_id);
  t.true(expected.length > 0);
  t.deepEqual(await at(newest_ms + 30 * 60_000), expected);
  t.deepEqual(await at(newest_ms + 30 * 60_000 + 1000), []);
});

test.serial('GET /v1/storms answers 304 to its ETag, and charges it', async (t) => {
  const tag = (await service.call(`${PATH}?${ALL}`)).headers.get('etag') as string;
  const before = await creditsUsed(service);
  const same = await service.call(`${PATH}?${ALL}`, { headers: { 'If-None-Match': tag } });
  t.is(same.status, 304);
  t.is((await creditsUsed(service)) - before, 15);
});

for (const [query, parameter] of [
  ['lat=35&lon=-97&radius_km=151', 'radius_km'],
  ['lat=35&lon=-97&radius_km=-1', 'radius_km'],
  ['lat=abc&lon=-97', 'lat'],
  ['lat=35&lon=-97&detail=', 'detail'],
] as const)
  test.serial(`GET /v1/storms?${query} is 400 invalid_parameter about ${parameter}`, async (t) => {
    const response = await service.call(`${PATH}?${query}`);
    t.is(response.status, 400);
    const { error, message } = (await response.json()) as { error: string; message: string };
    t.is(error, 'invalid_parameter');
    t.true(message.startsWith(parameter), message);
  });

test.serial('GET /v1/storms of an empty data root is inactive with a null data_as_of', async (t) => {
  const empty = await startService({ endpoints: [stormsList], now_ms: NOW_MS });
  t.teardown(() => empty.close());
  t.like(await ask(ALL, empty), { active: false, data_as_of: null });
});

test.serial('GET /v1/storms needs the scope storms:read', (t) => {
  t.is(stormsList.scope, 'storms:read');
});
