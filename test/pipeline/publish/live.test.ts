import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { KEPT_MS, KEPT_SNAPSHOTS, retireSnapshots } from '../../../pipeline/publish/live.ts';
import { layout } from '../../../schemas/layout.ts';
import { scanId } from '../../../schemas/time.ts';
import { scratch } from '../../support/data/world.ts';

const TABLES = ['cells', 'detections', 'tracks'];
const SECONDS_10 = 10_000;

/** A folder of live files, and a clock that stands until it is moved. */
async function liveFolder(t: ExecutionContext) {
  const root = await scratch(t, 'live "root"');
  mkdirSync(join(root, layout.live), { recursive: true });
  const clock = { ms: 0 };
  /** Writes the files of one snapshot; their paths. */
  const write = (n: number, hash = '00000000') => {
    const paths = TABLES.map((table) => `${layout.live}/${scanId(n * SECONDS_10)}-${hash}.${table}.arrow`);
    for (const path of paths) writeFileSync(join(root, path), '');
    return paths;
  };
  const live = { scans: [], snapshots: [] };
  const retire = (paths: readonly string[]) => retireSnapshots({ path: root, live }, paths, clock.ms);
  const count = () => readdirSync(join(root, layout.live)).length;
  return { root, clock, write, retire, count };
}

test('the newest snapshots stay, and older ones are deleted, however quickly scans come', async (t) => {
  const { root, clock, write, retire, count } = await liveFolder(t);
  for (let n = 0; n < 3 * KEPT_SNAPSHOTS; n++) {
    clock.ms += SECONDS_10;
    await retire(write(n));
  }
  t.is(count(), KEPT_SNAPSHOTS * TABLES.length);
  t.true(write(3 * KEPT_SNAPSHOTS - 1).every((path) => existsSync(join(root, path))));
});

test('a snapshot that was replaced a moment ago stays, however many came after it', async (t) => {
  const { clock, write, retire, count } = await liveFolder(t);
  for (let n = 0; n < 2 * KEPT_SNAPSHOTS; n++) await retire(write(n));
  t.is(count(), 2 * KEPT_SNAPSHOTS * TABLES.length);
  clock.ms += KEPT_MS;
  await retire(write(2 * KEPT_SNAPSHOTS));
  t.is(count(), KEPT_SNAPSHOTS * TABLES.length);
});

test('a snapshot that is published again stays', async (t) => {
  const { root, clock, write, retire } = await liveFolder(t);
  const first = write(0);
  await retire(first);
  for (let n = 1; n < KEPT_SNAPSHOTS; n++) await retire(write(n));
  await retire(first);
  clock.ms += KEPT_MS;
  await retire(write(KEPT_SNAPSHOTS));
  t.true(first.every((path) => existsSync(join(root, path))));
});

test('a file that is gone already stops nothing', async (t) => {
  const { clock, write, retire } = await liveFolder(t);
  for (let n = 0; n < KEPT_SNAPSHOTS; n++) await retire(write(n).map((path) => `${path} gone`));
  clock.ms += KEPT_MS;
  await t.notThrowsAsync(retire(write(KEPT_SNAPSHOTS)));
});
