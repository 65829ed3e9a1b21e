import { join } from 'node:path';
import test from 'ava';
import { PipelineError } from '../../../pipeline/error.ts';
import { pollFeed, publishPoll, readFeedStates } from '../../../pipeline/feeds/schedule.ts';
import { readHail, refreshClimatology, yearsOfData } from '../../../pipeline/forecast/climatology.ts';
import { climatologyFeed } from '../../../pipeline/forecast/publish-forecast.ts';
import { conusCells } from '../../../pipeline/forecast/risk-grid.ts';
import { silent } from '../../../pipeline/log.ts';
import { readNewest, tablePaths } from '../../../pipeline/publish/manifests.ts';
import type { Root } from '../../../pipeline/publish/root.ts';
import { readNotes, readRows } from '../../../pipeline/publish/tables.ts';
import { verifyRoot } from '../../../pipeline/publish/verify.ts';
import { distanceKm } from '../../../schemas/geo/distance.ts';
import { geohash } from '../../../schemas/geo/geohash.ts';
import type { Head } from '../../../schemas/head.ts';
import { layout } from '../../../schemas/layout.ts';
import { type ClimatologyCell, climatology } from '../../../schemas/tables/derived.ts';
import { type DayMax, dayMax } from '../../../schemas/tables/radar.ts';
import { addDays } from '../../../schemas/time.ts';
import { publishDays } from '../../support/data/published-days.ts';
import { dayMaxRow } from '../../support/data/rows.ts';
import { publishBlockage, raysOfKtlx } from '../../support/data/terrain.ts';
import {
  asObserved,
  deliver,
  filesOf,
  ingest,
  MONTH_LATER_MS,
  midnight,
  NOW_MS,
  onRoot,
  publishedRoot,
  type RawScan,
  scansBetween,
  scratch,
} from '../../support/data/world.ts';
import { writeYearOfLists } from '../../support/data/year-of-lists.ts';
import { ingestReport } from '../../support/kill/killed.ts';

const GRID = conusCells();

const refresh = (path: string) =>
  onRoot(path, { now_ms: MONTH_LATER_MS }, ({ root }) => refreshClimatology(root, MONTH_LATER_MS, silent));

/** Publishes scans long after their dates, which are closed by that. */
const closed = (path: string, scans: readonly RawScan[]) => ingest(path, scans, { now_ms: MONTH_LATER_MS });

async function rowsOf(path: string): Promise<ClimatologyCell[]> {
  const manifest = await readNewest(path, layout.staticPartition);
  if (manifest === null) throw new Error('no static table is published');
  return onRoot(path, {}, ({ root }) =>
    readRows<ClimatologyCell>(root.engine, climatology, tablePaths(path, manifest, climatology.name)),
  );
}

const faultsOf = (path: string) =>
  onRoot(path, {}, async ({ root }) => (await verifyRoot(root.engine, path, null, () => {})).faults);

/** Largest MESH of each date within 10 km of each cell, by a loop over every row and the distance along the geodesic. */
async function plainMaxima(root: Root): Promise<Map<string, number>> {
  const found = new Map<string, number>();
  const centres = new Map(GRID.cells.map((cell) => [cell.geohash4, cell]));
  for (const date of root.heads.keys()) {
    const manifest = await root.manifest(date);
    if (manifest === null) continue;
    for (const row of await readRows<DayMax>(root.engine, dayMax, tablePaths(root.path, manifest, dayMax.name))) {
      if (row.interpolated || row.max_mm < 19) continue;
      for (const name of new Set([-0.1, 0, 0.1].map((north) => geohash(row.lat + north, row.lon, 4)))) {
        const centre = centres.get(name);
        if (centre === undefined || distanceKm(centre, row) > 10) continue;
        found.set(`${date} ${name}`, Math.max(found.get(`${date} ${name}`) ?? 0, row.max_mm));
      }
    }
  }
  return found;
}

async function queriedMaxima(root: Root): Promise<Map<string, number>> {
  const found = new Map<string, number>();
  for await (const { maxima } of readHail(root, [...root.heads.values()]))
    for (const { storm_date, cell_row, cell_col, mm } of maxima) {
      const cell = GRID.cells[GRID.index[cell_row * GRID.cols + cell_col]];
      found.set(`${storm_date} ${cell.geohash4}`, mm);
    }
  return found;
}

test('the hail of every cell is what a loop over every pixel finds', async (t) => {
  const path = await publishedRoot(t, await midnight(), { now_ms: MONTH_LATER_MS });
  const [queried, plain] = await onRoot(path, { now_ms: MONTH_LATER_MS }, async ({ root }) => [
    await queriedMaxima(root),
    await plainMaxima(root),
  ]);
  t.true(plain.size > 3, `${plain.size} cells`);
  t.deepEqual([...queried].sort(), [...plain].sort());
});

test('without closed storm dates there is nothing to refresh, and nothing is published', async (t) => {
  const path = await scratch(t);
  t.is(await refresh(path), null);
  await ingest(path, await scansBetween('00:00', '00:04'));
  t.is(await onRoot(path, {}, ({ root }) => refreshClimatology(root, NOW_MS, silent)), null);
  t.is(await readNewest(path, layout.staticPartition), null);
});

test('an evening of simulated hail gives a table that says so: no year of data, nearly all of it built in', async (t) => {
  const path = await publishedRoot(t, await midnight(), { now_ms: MONTH_LATER_MS });
  const facts = { storm_dates: 2, first_date: '2026-05-01', last_date: '2026-05-02', years_of_data: 0 };
  t.like(await refresh(path), { source: 'simulated', ...facts });
  const rows = await rowsOf(path);
  t.is(rows.length, GRID.cells.length);
  for (const row of rows)
    if (
      row.years_of_data !== 0 ||
      row.data_source !== 'simulated' ||
      !(row.prior_share > 0.9) ||
      row.risk_tier !== null
    )
      t.fail(JSON.stringify(row));
  const [file] = (await readNewest(path, layout.staticPartition))?.files ?? [];
  const notes = await onRoot(path, {}, ({ root }) => readNotes(root.engine, join(path, file?.path ?? '')));
  t.is(notes.get('source'), 'simulated');
  t.deepEqual(await faultsOf(path), []);
});

test('the table is made once, and again only after a week of storm dates', async (t) => {
  const path = await publishedRoot(t, await midnight(), { now_ms: MONTH_LATER_MS });
  t.true((await refresh(path))?.changed);
  t.is(await refresh(path), null);
  const day = (storm_date: string) => ({
    storm_date,
    rows: { day_max: [dayMaxRow({ storm_date })], detections: [], cells: [] },
  });
  await publishDays(path, [day('2026-05-08')], 'simulated', MONTH_LATER_MS);
  t.is(await refresh(path), null);
  await publishDays(path, [day('2026-05-09')], 'simulated', MONTH_LATER_MS);
  t.like(await refresh(path), { storm_dates: 4, last_date: '2026-05-09', changed: true });
  await publishDays(
    path,
    Array.from({ length: 7 }, (_, n) => day(addDays('2025-05-01', n))),
    'simulated',
    MONTH_LATER_MS,
  );
  t.like(await refresh(path), { storm_dates: 11, first_date: '2025-05-01' });
});

test('a date whose hail has gone is told, not counted as a date without hail, and costs the climatology only', async (t) => {
  const path = await scratch(t);
  await onRoot(path, {}, async () => {});
  await writeYearOfLists(path, '2026-04-30', 2);
  const told = /^derive published hail: cannot be read \(.*No files found.*expected what its list names/;
  await t.throwsAsync(refresh(path), { instanceOf: PipelineError, message: told });
  const [scan] = await scansBetween('00:00', '00:04');
  const from = await deliver(await scratch(t, 'from'), filesOf([scan]));
  const report = await ingestReport(path, ['--from', from], NOW_MS);
  t.is(report.run.scans, 1);
  t.regex(report.climatology_failure ?? '', told);
  const look = await pollFeed(climatologyFeed(silent), NOW_MS);
  const outcome = await onRoot(path, {}, ({ root }) => publishPoll(root, look, silent));
  t.regex(outcome.failure ?? '', told);
});

test('a look at a root without closed dates fails, and its climatology is made once there is one', async (t) => {
  const path = await scratch(t);
  const feed = climatologyFeed(silent);
  const look = () =>
    onRoot(path, {}, async ({ root }) => publishPoll(root, await pollFeed(feed, MONTH_LATER_MS), silent));
  const failure = 'climatology: no storm date is closed, expected at least one';
  t.deepEqual(await look(), { failure, files: [], changed: [] });
  t.is((await readFeedStates(path)).get('climatology')?.last_success_at, null);
  await closed(path, await scansBetween('00:00', '00:04'));
  t.deepEqual(await look(), { failure: null, files: [], changed: ['climatology'] });
});

test('observed dates take over at once and alone: not one simulated storm is counted among them', async (t) => {
  const path = await publishedRoot(t, await scansBetween('23:50', '00:00'), { now_ms: MONTH_LATER_MS });
  t.is((await refresh(path))?.source, 'simulated');
  await closed(path, await asObserved(t, await scansBetween('00:00', '00:10')));
  const dates = { storm_dates: 1, first_date: '2026-05-02', last_date: '2026-05-02' };
  t.like(await refresh(path), { source: 'observed', ...dates });
  t.true((await rowsOf(path)).every(({ data_source }) => data_source === 'observed'));
});

test('the list of static tables says that it holds both kinds, where a terrain model stands beside simulated hail', async (t) => {
  const path = await publishedRoot(t, await midnight(), { now_ms: MONTH_LATER_MS });
  await refresh(path);
  t.is((await readNewest(path, layout.staticPartition))?.source, 'simulated');
  await publishBlockage(path, raysOfKtlx([{ tilt_deg: 0.5, distance_km: 20, blocked: 0.5 }], 90, 90));
  const manifest = await readNewest(path, layout.staticPartition);
  t.is(manifest?.source, 'mixed');
  t.deepEqual(
    manifest?.files.map(({ table }) => table),
    ['climatology', 'blockage'],
  );
  t.regex(JSON.stringify(await faultsOf(path)), /table climatology was made from commit 0 of blockage, expected 2"/);
  t.not(await refresh(path), null, 'the availability of radar follows from the blockage');
  t.deepEqual(await faultsOf(path), []);
  t.is(await refresh(path), null);
});

const head = (partition: string, count: number, closed = true): Head => ({
  manifest_version: 1,
  partition,
  commit: 1,
  source: 'observed',
  storm_day_start_hour: 0,
  committed_at: '2026-05-02T00:00:00Z',
  closed,
  table_commits: {},
  scans: { count, last: null, inputs: '' },
  feeds: {},
  files: [],
  dates: null,
});
const dates = (count: number, scans: number, last = '2026-05-01') =>
  Array.from({ length: count }, (_, n) => head(addDays(last, n + 1 - count), scans));

for (const [what, years, heads] of [
  ['no date', 0, []],
  ['one evening', 0, [head('2026-05-01', 90, false)]],
  ['364 whole days', 1, dates(364, 720)],
  ['328 whole days, less than 90 %', 0, dates(328, 720)],
  ['329 whole days, at least 90 %', 1, dates(329, 720)],
  ['two years of nine scans in ten', 2, dates(730, 650)],
  ['two years of eight scans in ten', 0, dates(730, 576)],
  ['ten years of sums of whole days', 10, dates(3650, 0)],
] as const)
  test(`${what}: ${years} years of data`, (t) => t.is(yearsOfData(heads), years));

test('a year that is missing in between is not counted', (t) => {
  t.is(yearsOfData([...dates(365, 720, addDays('2026-05-01', -730)), ...dates(365, 720)]), 2);
});
