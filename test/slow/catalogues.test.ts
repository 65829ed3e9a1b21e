import { existsSync, readdirSync, readFileSync } from 'node:fs';
import fs from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import test, { type ExecutionContext } from 'ava';
import { icebergRead } from 'icebird';
import { clearDate } from '../../pipeline/publish/commit-dates.ts';
import { compactDay, compactMonth } from '../../pipeline/publish/compact.ts';
import { sweepRoot } from '../../pipeline/publish/sweep.ts';
import { detections } from '../../schemas/tables/radar.ts';
import { copyFolder } from '../support/data/prepared.ts';
import { aroundMidnight, midnight } from '../support/data/small-world.ts';
import { assetsOf, itemsOf, walkStac } from '../support/data/stac-walk.ts';
import {
  catalogue,
  icebergRows,
  liveFiles,
  manifestRows,
  metadataOf,
  sameAsManifests,
  serveFiles,
  tableUrl,
  viewTexts,
} from '../support/data/table-reading.ts';
import { copyOf, ingest, MONTH_LATER_MS, onRoot, publishedRoot, scratch } from '../support/data/world.ts';
import { commandHere } from '../support/kill/command-here.ts';
import { command, killedAt, pointsOf } from '../support/kill/killed.ts';

serveFiles();

const SETTINGS = { now_ms: MONTH_LATER_MS };
const POINTS = 8;

/** Every reader finds the same rows of detections, whichever edition it meets, and no missing file. */
async function isWhole(t: ExecutionContext, root: string, rows: readonly string[], point: string): Promise<void> {
  t.deepEqual((await viewTexts(root, [detections])).get('detections'), rows, point);
  t.deepEqual(await icebergRows(root, detections), rows, point);
  for (const { path } of itemsOf(walkStac(root)).flatMap(assetsOf)) t.true(existsSync(path), `${point}: ${path}`);
}

test('kill -9 while a catalogue is written leaves the one before, whole; the next one is written', async (t) => {
  const prepared = await scratch(t, 'prepared');
  await ingest(prepared, await aroundMidnight());
  t.is((await command(prepared, ['catalogue'], SETTINGS)).code, 0);
  const rows = await manifestRows(prepared, detections);
  const copied = async () => {
    const root = await copyOf(t, prepared);
    t.is((await command(root, ['catalogue'], SETTINGS)).code, 0);
    return root;
  };
  const points = await pointsOf(t, await copied(), ['catalogue'], SETTINGS);
  t.true(points.length > POINTS, points.join('\n'));
  for (let k = 0; k < POINTS; k++) {
    const point = 1 + Math.round((k * (points.length - 1)) / (POINTS - 1));
    const root = await copied();
    t.is((await killedAt(root, ['catalogue'], point, SETTINGS)).signal, 'SIGKILL');
    await isWhole(t, root, rows, points[point - 1] ?? '');
    t.is((await command(root, ['catalogue'], SETTINGS)).code, 0);
    await isWhole(t, root, rows, `after ${points[point - 1]}`);
    t.true(JSON.parse(readFileSync(join(root, 'catalogue.json'), 'utf8')).number >= 3);
  }
});

const DATES = ['2026-05-01', '2026-05-02'] as const;

/** A root with two open dates and their catalogue. */
async function openDates(t: ExecutionContext): Promise<string> {
  const root = await publishedRoot(t, await aroundMidnight());
  await catalogue(root);
  return root;
}

test('views, Iceberg and STAC give the rows of open, closed, joined, rebuilt and cleared dates', async (t) => {
  const root = await openDates(t);
  await sameAsManifests(t, root, 'open');
  await onRoot(root, { now_ms: MONTH_LATER_MS }, async ({ root: open, session }) => {
    const after = async (state: string) => {
      await catalogue(root);
      await sameAsManifests(t, root, state);
    };
    await compactDay(open, DATES[0], MONTH_LATER_MS);
    await after('one closed');
    await compactDay(open, DATES[1], MONTH_LATER_MS);
    await compactMonth(open, '2026-05', MONTH_LATER_MS);
    await after('joined');
    const paths = (await liveFiles(root, 'day-max')).map(({ data_file }) => data_file.file_path);
    t.true(paths.every((path) => path.includes('/month=2026-05/')));
    await session.rebuild(DATES[0]);
    await session.finishDates();
    await after('rebuilt');
    await clearDate(open, DATES[0], MONTH_LATER_MS);
    await after('cleared');
  });
});

test('a root whose name has quotes, signs and letters of any script is read', async (t) => {
  const given = await publishedRoot(t, await midnight());
  const rows = await manifestRows(given, detections);
  for (const name of ["o'brien's", 'Grêle {été} #50%', '氷"雹, größer]']) {
    const root = join(dirname(given), name);
    copyFolder(given, root);
    await catalogue(root);
    t.deepEqual((await viewTexts(root, [detections])).get('detections'), rows, name);
    t.deepEqual(await icebergRows(root, detections), rows, name);
  }
});

test('after views.sql a relative file of the user is found, and a copied root reads the copy once its catalogue is written', async (t) => {
  const root = await openDates(t);
  const copy = await scratch(t, 'copy');
  copyFolder(root, copy);
  t.regex(readFileSync(join(copy, 'views.sql'), 'utf8'), /In a copied or moved data root.*hail-pipeline catalogue/);
  t.is((await commandHere(copy, ['catalogue'])).code, 0);
  await fs.rm(root, { recursive: true });
  const mine = await scratch(t, 'mine');
  await fs.mkdir(mine);
  await fs.writeFile(join(mine, 'mine-1.csv'), 'place,mm\nhome,12\n');
  const before = process.cwd();
  process.chdir(mine);
  t.teardown(() => process.chdir(before));
  const connection = await (await DuckDBInstance.create()).connect();
  await connection.run(readFileSync(join(copy, 'views.sql'), 'utf8'));
  const rows = async (sql: string) => (await connection.runAndReadAll(sql)).getRowObjectsJson();
  t.deepEqual(await rows("SELECT place, mm::INTEGER AS mm FROM 'mine*.csv'"), [{ place: 'home', mm: 12 }]);
  t.true(Number((await rows('SELECT count(*) AS n FROM detections'))[0]?.n) > 100);
});

test('the sweep keeps what a catalogue names until the one after it is older than a reader', async (t) => {
  const root = await openDates(t);
  const paths = (await liveFiles(root, 'detections')).map(({ data_file }) =>
    data_file.file_path.slice('file://'.length),
  );
  const metadata = await metadataOf(root, 'detections');
  const rows = await icebergRows(root, detections);
  const age = async () => {
    const old_s = (Date.now() - 86_400_000) / 1000;
    for (const name of await fs.readdir(root, { recursive: true })) await fs.utimes(join(root, name), old_s, old_s);
  };
  const sweep = () => onRoot(root, { now_ms: MONTH_LATER_MS }, ({ root: open }) => sweepRoot(open, Date.now(), null));
  await onRoot(root, { now_ms: MONTH_LATER_MS }, async ({ root: open }) => {
    for (const date of DATES) await compactDay(open, date, MONTH_LATER_MS);
  });
  await age();
  await sweep();
  t.true(paths.every((path) => existsSync(path)));
  t.deepEqual((await viewTexts(root, [detections])).get('detections'), rows);
  await catalogue(root);
  await sweep();
  const read = await icebergRead({ tableUrl: tableUrl(root, 'detections'), metadata });
  t.is(read.length, rows.length, 'a reader of the catalogue before');
  await age();
  await catalogue(root);
  await sweep();
  t.false(paths.some((path) => existsSync(path)));
  t.deepEqual(readdirSync(join(root, 'catalogues')), ['000002', '000003']);
  await sameAsManifests(t, root, 'swept');
});
