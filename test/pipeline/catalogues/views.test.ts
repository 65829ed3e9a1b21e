import fs from 'node:fs/promises';
import { dirname, join } from 'node:path';
import test from 'ava';
import { cataloguesOf } from '../../../pipeline/catalogues/catalogues.ts';
import { shownHead, viewName, viewsSql } from '../../../pipeline/catalogues/views-sql.ts';
import { silent } from '../../../pipeline/log.ts';
import { listPartitions } from '../../../pipeline/publish/manifests.ts';
import { openRoot, type Root } from '../../../pipeline/publish/root.ts';
import { openSession } from '../../../pipeline/scans/session.ts';
import { columns } from '../../../schemas/columns.ts';
import type { Head } from '../../../schemas/head.ts';
import { TABLES } from '../../../schemas/tables/index.ts';
import { agePartition } from '../../support/data/older-files.ts';
import { copyFolder } from '../../support/data/prepared.ts';
import { midnight } from '../../support/data/small-world.ts';
import { headObjects, headRows, viewRows, viewTexts } from '../../support/data/view-rows.ts';
import { MONTH_LATER_MS, NOW_MS, publishedRoot, readPool, scratch } from '../../support/data/world.ts';
import { wholeRoot } from '../../support/service/whole-service.ts';

const [FIRST, SECOND, MONTH] = ['2026-05-01', '2026-05-02', 'month-2026-05'];
const DAY_MAX = 'day-max';
const others = TABLES.filter(({ name }) => name !== DAY_MAX);

async function withCatalogues<T>(path: string, now_ms: number, work: (root: Root) => Promise<T>): Promise<T> {
  const root = await openRoot(path, 'test', 0, now_ms, { catalogues: cataloguesOf([]) });
  try {
    return await work(root);
  } finally {
    await root.close();
  }
}

/** Sizes of the pixels that scans saw, by date and pixel: parts of a running date add up. */
function sizes(rows: readonly Readonly<Record<string, unknown>>[]): Record<string, number> {
  const found: Record<string, number> = {};
  for (const { storm_date, row, col, interpolated, max_mm } of rows) {
    if (interpolated === true) continue;
    const day = storm_date instanceof Date ? storm_date.toISOString().slice(0, 10) : String(storm_date);
    const key = `${day} ${row} ${col}`;
    found[key] = Math.max(Number(max_mm), found[key] ?? 0);
  }
  return found;
}

test('views show the rows that the heads list: open, closed, joined and rebuilt dates', async (t) => {
  const path = await publishedRoot(t, await midnight(), { each_scan: true });
  const names = TABLES.map(viewName);
  const check = async (state: string, dayMaxIn: readonly string[]) => {
    const { all } = await listPartitions(path);
    const shown = await viewRows(path, names);
    for (const table of others) t.deepEqual(shown[viewName(table)], await headRows(path, all, table.name), state);
    t.deepEqual(shown.day_max, await headRows(path, dayMaxIn, DAY_MAX), state);
    t.true((shown.day_max ?? []).length > 100, state);
  };
  const shownSizes = async () => {
    const rows = (await viewRows(path, ['(SELECT * FROM day_max)']))['(SELECT * FROM day_max)'] ?? [];
    const fields = rows.map((row) => Object.fromEntries(row.split(' ').map((part) => part.split('='))));
    const pixels = fields.filter(({ interpolated }) => interpolated === 'false');
    const found = Object.fromEntries(
      pixels.map(({ storm_date, row, col, max_mm }) => [
        `${new Date(Number(storm_date)).toISOString().slice(0, 10)} ${row} ${col}`,
        Number(max_mm),
      ]),
    );
    return { found, pixels: pixels.length };
  };
  await withCatalogues(path, NOW_MS, async () => {});
  // Running dates: several files of day maxima, and still one row for a pixel.
  const parts = await headObjects(path, [FIRST, SECOND], DAY_MAX);
  const running = await shownSizes();
  t.deepEqual(running.found, sizes(parts));
  t.is(running.pixels, Object.keys(running.found).length);
  t.true(parts.filter(({ interpolated }) => interpolated === false).length > running.pixels);

  await withCatalogues(path, MONTH_LATER_MS, async (root) => {
    await root.compactDay(FIRST, MONTH_LATER_MS);
    t.deepEqual((await shownSizes()).found, running.found, 'one date closed');
    await root.compactDay(SECOND, MONTH_LATER_MS);
    await check('closed', [FIRST, SECOND]);
    await root.compactMonth('2026-05', MONTH_LATER_MS);
    await check('joined', [MONTH]);
    const session = openSession(root, readPool, {
      storm_day_start_hour: 0,
      now: () => MONTH_LATER_MS,
      log: silent,
      move_raw: false,
      each_scan: false,
      raw_keep_days: null,
      reflectivity_keep_hours: 0,
    });
    await session.rebuild(FIRST);
    await session.finishDates();
    await check('rebuilt', [FIRST, SECOND]);
  });
});

test('views show static tables and collections, and tables without rows have typed columns', async (t) => {
  const path = await scratch(t);
  copyFolder(await wholeRoot(), path);
  await withCatalogues(path, NOW_MS, async () => {});
  const { all } = await listPartitions(path);
  const shown = await viewRows(path, others.map(viewName));
  for (const table of others) t.deepEqual(shown[viewName(table)], await headRows(path, all, table.name), table.name);
  for (const view of ['warnings', 'watches', 'spc_outlooks', 'forecast', 'outlook', 'climatology'])
    t.true((shown[view] ?? []).length > 0, view);
});

test('files of earlier releases have the columns and the types of today in the views, beside files of today', async (t) => {
  const path = await publishedRoot(t, await midnight());
  const rows = async () => {
    await fs.rm(join(path, 'views.sql'), { force: true });
    await withCatalogues(path, NOW_MS, async () => {});
    return (await viewTexts(path, TABLES)).texts;
  };
  const before = await rows();
  await agePartition(path, FIRST ?? '', 'before-signed-rows');
  t.deepEqual(await rows(), before, 'unsigned rows and columns');
  // The evening has no optional product: what older files lack was null.
  await agePartition(path, SECOND ?? '', 'before-added-columns');
  t.deepEqual((await rows()).get('detections'), before.get('detections'), 'columns that were added since');
  const types =
    "(SELECT data_type AS d FROM duckdb_columns() WHERE column_name IN ('row', 'col') AND table_name = 'detections')";
  t.deepEqual((await viewRows(path, [types]))[types], ['d=INTEGER', 'd=INTEGER']);
});

test('the columns of every view are those of its table, with their types and comments', async (t) => {
  const path = await publishedRoot(t, await midnight());
  await withCatalogues(path, NOW_MS, async () => {});
  const asked =
    "(SELECT table_name || '.' || column_name AS n, data_type AS d, comment IS NOT NULL AS c FROM duckdb_columns() WHERE NOT internal AND table_name <> 'edition')";
  const found = (await viewRows(path, [asked]))[asked];
  const expected = TABLES.flatMap((table) =>
    columns(table).map(({ name, type }) => `c=true d=${type} n=${viewName(table)}.${name}`),
  );
  t.deepEqual(found?.map((line) => line.replace("('OGC:CRS84')", '')).sort(), expected.sort());
});

test('a folder name with quotes and letters of any script is found from any working directory', async (t) => {
  const given = await publishedRoot(t, await midnight());
  for (const name of ["o'brien's", 'Grêle [été] *', '氷"雹']) {
    const path = join(dirname(given), name);
    copyFolder(given, path);
    await withCatalogues(path, NOW_MS, async () => {});
    const { detections } = await viewRows(path, ['detections']);
    t.true((detections ?? []).length > 100, name);
  }
});

test('views that were deleted, or left behind by a kill after a commit, are written at the next start', async (t) => {
  const path = await publishedRoot(t, await midnight());
  await withCatalogues(path, NOW_MS, async () => {});
  const file = join(path, 'views.sql');
  const before = await fs.readFile(file, 'utf8');
  await fs.rm(file);
  await withCatalogues(path, NOW_MS, async () => {});
  t.is(await fs.readFile(file, 'utf8'), before);
  // Without catalogues a commit leaves what a kill right after it leaves.
  const root = await openRoot(path, 'test', 0, MONTH_LATER_MS);
  await root.compactDay(FIRST, MONTH_LATER_MS);
  await root.close();
  t.is(await fs.readFile(file, 'utf8'), before);
  await withCatalogues(path, MONTH_LATER_MS, async () => {});
  const after = await fs.readFile(file, 'utf8');
  t.not(after, before);
  t.deepEqual((await viewRows(path, ['detections'])).detections, await headRows(path, [FIRST, SECOND], 'detections'));
});

test('a memory that is no file costs its own catalogue one making, and no other', async (t) => {
  const path = await publishedRoot(t, await midnight());
  await withCatalogues(path, NOW_MS, async () => {});
  const memory = join(path, 'catalogues/views.json');
  const before = await fs.readFile(memory, 'utf8');
  await fs.rm(memory);
  await fs.mkdir(join(memory, 'folder'), { recursive: true });
  await fs.rm(join(path, 'views.sql'));
  await withCatalogues(path, NOW_MS, async () => {});
  t.is(await fs.readFile(memory, 'utf8'), before);
  t.true(((await viewRows(path, ['detections'])).detections ?? []).length > 100);
});

test('an empty data root has views of every table, without rows', async (t) => {
  const path = await scratch(t);
  const file = (file: Partial<Head['files'][number]>): Head => ({
    manifest_version: 1,
    partition: FIRST ?? '',
    commit: 1,
    source: 'simulated',
    storm_day_start_hour: 0,
    committed_at: '2026-05-02T00:00:00Z',
    closed: true,
    table_commits: {},
    feeds: {},
    dates: null,
    scans: { count: 0, last: null, inputs: '' },
    files: [
      {
        path: '',
        kind: 'table',
        table: 'cells',
        segment: 'day',
        rows: 1,
        bytes: 1,
        sha256: '',
        schema_version: 1,
        first_scan: null,
        last_scan: null,
        bbox: null,
        max_size_mm: null,
        ...file,
      },
    ],
  });
  await fs.mkdir(path, { recursive: true });
  await fs.writeFile(join(path, 'views.sql'), viewsSql([], path));
  const shown = await viewRows(path, [...TABLES.map(viewName), 'edition']);
  for (const table of TABLES) t.deepEqual(shown[viewName(table)], [], table.name);
  t.regex(shown.edition?.join() ?? '', /source=null/);
  for (const name of [
    "tables/cells/date=2026-05-01/x'); COPY (SELECT 1) TO 'evil'; --.parquet",
    'tables/cells/../../../etc/passwd.parquet',
    '/etc/passwd',
    'tables/cells/two names.parquet',
  ])
    t.throws(() => shownHead(file({ path: name })), { message: /^views manifests\/2026-05-01\/head\.json: lists '/ });
});
