import fs from 'node:fs/promises';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { openEngine } from '../../pipeline/duckdb.ts';
import { readNewest } from '../../pipeline/publish/manifests.ts';
import { sweep } from '../../pipeline/publish/sweep.ts';
import { readBlockage } from '../../pipeline/publish/tables.ts';
import { beamAt, partialBlockage } from '../../schemas/geo/beam.ts';
import { layout } from '../../schemas/layout.ts';
import type { Manifest } from '../../schemas/manifest.ts';
import { groundM } from '../../schemas/reference/terrain.ts';
import { type DemFile, demFile, KEY } from '../support/data/dem.ts';
import { PLAIN, WALL } from '../support/data/terrain.ts';
import { copyOf, ingest, publishedRoot, scansBetween, scratch } from '../support/data/world.ts';
import { command, faultsOf, killEach, pointsOf } from '../support/kill/killed.ts';

async function written(t: ExecutionContext, dem: DemFile, name = 'wall.tif'): Promise<string> {
  const folder = await scratch(t, 'dem');
  await fs.mkdir(folder);
  await fs.writeFile(join(folder, name), demFile(dem));
  return join(folder, name);
}

const argsOf = (dem: string) => ['derive', 'blockage', '--dem', dem];
const headOf = async (root: string) => (await readNewest(root, layout.staticPartition)) as Manifest;

async function derived(t: ExecutionContext, root: string, dem: DemFile) {
  const run = await command(root, [...argsOf(await written(t, dem)), '--json']);
  t.is(run.code, 0, run.stderr);
  return JSON.parse(run.stdout);
}

async function blockageOn(root: string) {
  const engine = await openEngine();
  try {
    return await readBlockage(engine, root);
  } finally {
    engine.close();
  }
}

test('a wall 20 km west of a radar blocks what lies behind it, and nothing else', async (t) => {
  const root = await scratch(t);
  const { radars, radars_outside, terrain, changed } = await derived(t, root, WALL);
  t.deepEqual([radars.length, radars[0].id, radars_outside, changed, terrain.file], [1, 'KTLX', 159, true, 'wall.tif']);
  const table = await blockageOn(root);
  const at = (azimuth: number, km: number, tilt = 0.5) => table?.blocked('KTLX', azimuth, km, tilt);
  for (const tilt of [0.5, 0.9, 2.4, 4.0]) {
    t.is(at(270, 19, tilt), 0, `${tilt} before the wall`);
    t.is(at(270, 21.5, tilt), 1, `${tilt} behind it`);
    t.is(at(270, 230, tilt), 1, `${tilt} far behind it`);
  }
  for (const azimuth of [0, 90, 180, 255, 285]) t.is(at(azimuth, 230), 0, `${azimuth}`);
  // 22 km away the wall's crest is 2 km above the antenna: that is within the 5.1 degree beam, and below the one of 6.4.
  t.is(at(270, 230, 6.4), 0);
  // The model's cells blur its face over half a kilometre.
  const crest = (km: number) => {
    const { centre_km, width_km } = beamAt(km, 5.1);
    return partialBlockage(2000 - 1000 * centre_km, 500 * width_km);
  };
  const share = at(270, 230, 5.1) ?? 0;
  t.true(share <= crest(20) && share >= crest(20.75) && crest(20.75) > 0.7, `${share}`);
  t.deepEqual(await faultsOf(root), []);
});

test('the ground of a place is the mean of the model around it; where the model has none, that of the coarse model', async (t) => {
  const root = await scratch(t);
  const valley = (lat: number, lon: number) => (lat < 35.2 && lat > 35.1 && lon > -97.6 && lon < -97.5 ? 300 : 1500);
  await derived(t, root, { ...PLAIN, height: valley });
  const table = await blockageOn(root);
  for (const [lat, lon, ground_m] of [
    [35.15, -97.55, 300],
    [35.199, -97.501, 300],
    [35.201, -97.501, 1500],
    [35.15, -97.45, 1500],
  ] as const)
    t.is(groundM({ lat, lon }, table), ground_m, `${lat} ${lon}`);
  const outside = { lat: 39.06, lon: -108.55 };
  t.is(groundM(outside, table), groundM(outside, null));
});

test('sea level blocks nothing, and the radar is known to be free', async (t) => {
  const root = await scratch(t);
  const { rows, radars } = await derived(t, root, PLAIN);
  t.is(rows, 360);
  t.is(radars[0].shadowed_pct, 0);
  const table = await blockageOn(root);
  t.deepEqual([...(table?.radars ?? [])], ['KTLX']);
});

test('the same model again is nothing to do; another one takes its place, and the old table is swept', async (t) => {
  const root = await publishedRoot(t, await scansBetween('00:00', '00:05'));
  const wall = await written(t, WALL);
  const first = await command(root, argsOf(wall));
  t.regex(first.stdout, /^Blockage of 1 radar from wall\.tif \(18 arc-seconds\): [\d,]+ rows, /);
  t.regex(first.stdout, /More than half of the lowest beam is blocked in some directions of 1 radar\./);
  t.regex(first.stdout, /Heights are not known everywhere, and block nothing there, around 1 radar\./);
  t.regex(first.stdout, /159 radars outside the model/);
  t.regex(first.stdout, /\nGround of 165 cells of 0\.1 degrees\.\n/);
  const head = await headOf(root);
  const again = await command(root, argsOf(wall));
  t.deepEqual([again.code, again.stdout.startsWith('Nothing to do: ')], [0, true]);
  t.deepEqual(await headOf(root), head);
  const { path, changed } = await derived(t, root, PLAIN);
  t.true(changed);
  const next = await headOf(root);
  t.deepEqual([next.commit, next.table_commits], [2, { blockage: 2, ground: 2 }]);
  t.deepEqual([next.files.length, next.files[0]?.path], [2, path]);
  t.deepEqual(await faultsOf(root), []);
  const later_ms = Date.now() + 3 * 3_600_000;
  // A catalogue keeps the files that it names.
  await fs.rm(join(root, layout.catalogues), { recursive: true });
  await sweep(root, later_ms);
  t.deepEqual(await fs.readdir(join(root, layout.staticTable('blockage'))), [path.split('/').at(-1)]);
  t.deepEqual((await fs.readdir(join(root, layout.manifestFolder(layout.staticPartition)))).sort(), [
    '000002.json',
    'head.json',
  ]);
  t.deepEqual(await faultsOf(root), []);
});

test('a table without any scan is in order, and a first scan can join it', async (t) => {
  const root = await scratch(t);
  await derived(t, root, PLAIN);
  await derived(t, root, WALL);
  t.deepEqual(await faultsOf(root), []);
  await ingest(root, await scansBetween('00:00', '00:03'));
  t.deepEqual(await faultsOf(root), []);
  t.is((await command(root, ['verify', '--json'])).code, 0);
});

test('killed half-way or near its end, the table is the old one or the new one, and a rerun makes it the new one', async (t) => {
  const before = await scratch(t, 'before');
  await derived(t, before, PLAIN);
  const args = argsOf(await written(t, WALL));
  const points = await pointsOf(t, await copyOf(t, before), args);
  t.true(points.length >= 8, points.join());
  const isTable = (shares: unknown) => shares === 0 || shares === 1;
  const tried = [Math.round(points.length / 2), points.length - 2];
  await killEach(t, { prepared: before, args, points }, tried, async (root, where) => {
    t.deepEqual(await faultsOf(root), [], where);
    t.true(isTable((await blockageOn(root))?.blocked('KTLX', 270, 100, 0.5)), where);
    t.is((await command(root, args)).code, 0);
    t.deepEqual(await faultsOf(root), []);
    t.is((await blockageOn(root))?.blocked('KTLX', 270, 100, 0.5), 1);
  });
});

const AT_SEA = { ...PLAIN, west: -60, north: 40 };
const UNPROJECTED = { ...PLAIN, keys: { [KEY.model]: 1, [KEY.geographic]: null, [KEY.projected]: 32614 } };
for (const [title, dem, args, code, reason] of [
  [
    'a model that covers no radar',
    AT_SEA,
    [],
    1,
    /covers no WSR-88D radar, expected a model in which at least one stands/,
  ],
  ['a model that cannot be read', UNPROJECTED, [], 1, /projected coordinate system/],
  ['a file that is not there', null, argsOf('/nowhere/dem.tif'), 3, /dem\.tif: no such file/],
  ['no file at all', null, ['derive', 'blockage'], 2, /required option '--dem <file>'/],
  ['a table that cannot be derived', null, ['derive', 'gravity'], 2, /unknown command 'gravity'|too many arguments/],
] as const)
  test(`${title} ends with exit code ${code}, and nothing is published`, async (t) => {
    const root = await scratch(t);
    const run = await command(root, dem === null ? args : argsOf(await written(t, dem)));
    t.is(run.code, code, run.stdout);
    t.regex(run.stderr, reason);
    t.is(await readNewest(root, layout.staticPartition), null);
  });
