import { createHash } from 'node:crypto';
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmdirSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import fs from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { setImmediate, setTimeout as sleep } from 'node:timers/promises';
import test, { type ExecutionContext } from 'ava';
import { type FileCache, openFileCache } from '../../../api/cache/file-cache.ts';
import type { ImmutableFile } from '../../../api/data-root.ts';
import { scratch } from '../../support/data/world.ts';

/** A file of `bytes` bytes; its content is its name, repeated. */
function file(name: string, bytes = 100): ImmutableFile {
  return { path: `tables/${name}`, bytes, sha256: createHash('sha256').update(contentOf(name, bytes)).digest('hex') };
}

function contentOf(name: string, bytes: number): Buffer {
  return Buffer.alloc(bytes, name);
}

interface Opened {
  readonly cache: FileCache;
  readonly folder: string;
  /** Paths of the files that were fetched. */
  readonly fetched: string[];
  /** Names of the files in the folder. */
  readonly names: () => string[];
}

interface Settings {
  readonly bytes_max?: number;
  readonly wait_ms?: number;
  readonly folder?: string;
  readonly before?: (path: string) => Promise<void>;
}

async function open(t: ExecutionContext, settings: Settings = {}): Promise<Opened> {
  const { bytes_max = 300, wait_ms = 20, before = async () => {} } = settings;
  const folder = settings.folder ?? (await scratch(t, 'cache'));
  const fetched: string[] = [];
  const cache = await openFileCache({
    folder,
    bytes_max,
    wait_ms,
    fetch: async ({ path, bytes }, to) => {
      await before(path);
      fetched.push(path.slice('tables/'.length));
      mkdirSync(dirname(to), { recursive: true });
      writeFileSync(to, contentOf(path.slice('tables/'.length), bytes));
    },
  });
  const names = () => (existsSync(join(folder, 'tables')) ? readdirSync(join(folder, 'tables')).sort() : []);
  return { cache, folder, fetched, names };
}

test('a file is fetched once, for questions of the same moment too', async (t) => {
  const { cache, fetched } = await open(t);
  const releases = await Promise.all([cache.hold([file('a')]), cache.hold([file('a'), file('a')]), cache.hold([])]);
  for (const release of releases) release();
  (await cache.hold([file('a')]))();
  t.deepEqual(fetched, ['a']);
  t.deepEqual(cache.load(), { bytes: 100, held_bytes: 0 });
});

test('the least recently used files go first, and none that is held', async (t) => {
  const { cache, names } = await open(t);
  for (const name of ['a', 'b', 'c']) (await cache.hold([file(name)]))();
  const release = await cache.hold([file('a')]);
  (await cache.hold([file('d')]))();
  t.deepEqual(names(), ['a', 'c', 'd']);
  (await cache.hold([file('e', 200)]))();
  t.deepEqual(names(), ['a', 'e']);
  release();
});

test('thirty questions that need more than fits are answered one after the other, and every file is there meanwhile', async (t) => {
  const { cache, folder } = await open(t, { wait_ms: 10_000 });
  let most = 0;
  const ask = async (n: number) => {
    const files = [n, n + 1].map((k) => file(`f${k % 10}`));
    const release = await cache.hold(files);
    most = Math.max(most, cache.load().held_bytes);
    for (let look = 0; look < 3; look++) {
      for (const { path, bytes } of files) t.is(readFileSync(join(folder, path)).length, bytes);
      await setImmediate();
    }
    release();
  };
  await Promise.all(Array.from({ length: 30 }, (_, n) => ask(n)));
  t.true(most <= 300 && most > 100, `${most} bytes were held`);
  t.true(cache.load().bytes <= 300);
});

test('a question that waits too long for room is refused as overloaded, those behind it go on, and an edition waits for none', async (t) => {
  const { cache } = await open(t);
  const release = await cache.hold([file('a'), file('b')]);
  const edition = await cache.hold([file('e', 200)], 'ahead');
  edition();
  const large = cache.hold([file('c', 200)]);
  const small = cache.hold([file('d')]);
  await t.throwsAsync(large, { name: 'ApiError', message: /files of too many questions/ });
  (await small)();
  release();
  t.is(cache.load().held_bytes, 0);
});

test('a question that needs more than the bound is answered when it is alone', async (t) => {
  const { cache, names } = await open(t, { wait_ms: 10_000 });
  const release = await cache.hold([file('a')]);
  const alone = cache.hold([file('b', 200), file('c', 200)]);
  release();
  const releaseAlone = await alone;
  t.deepEqual(names(), ['b', 'c']);
  releaseAlone();
  t.true(cache.load().bytes <= 300);
});

test('a copy that was cut or replaced is fetched again', async (t) => {
  const { cache, folder, fetched } = await open(t);
  (await cache.hold([file('a')]))();
  truncateSync(join(folder, 'tables/a'), 50);
  (await cache.hold([file('a')]))();
  writeFileSync(join(folder, 'tables/a'), Buffer.alloc(100, 'x'));
  (await cache.hold([file('a')]))();
  t.deepEqual(fetched, ['a', 'a', 'a']);
  t.deepEqual(readFileSync(join(folder, 'tables/a')), contentOf('a', 100));
});

test('copies are still there after a restart, checked at their first use; rests and what does not fit are removed', async (t) => {
  const first = await open(t);
  for (const name of ['a', 'b', 'c']) {
    (await first.cache.hold([file(name)]))();
    await sleep(2); // their times decide which is oldest
  }
  const { folder } = first;
  writeFileSync(join(folder, 'tables/b'), Buffer.alloc(100, 'x'));
  writeFileSync(join(folder, 'tables/d.1-1.part'), 'rest');
  const { cache, fetched, names } = await open(t, { folder, bytes_max: 250 });
  t.deepEqual(names(), ['b', 'c']);
  for (const name of ['b', 'c']) (await cache.hold([file(name)]))();
  t.deepEqual(fetched, ['b']);
});

test('a file that cannot be fetched is an error of the questions that need it, and is tried again', async (t) => {
  let broken = true;
  const before = async (path: string) => {
    if (broken && path.endsWith('b')) throw new Error('out of reach');
  };
  const { cache, names } = await open(t, { before });
  await t.throwsAsync(cache.hold([file('a'), file('b')]), { message: 'out of reach' });
  t.deepEqual([cache.load(), names()], [{ bytes: 100, held_bytes: 0 }, ['a']]);
  broken = false;
  (await cache.hold([file('a'), file('b')]))();
  t.deepEqual(names(), ['a', 'b']);
});

test('hits, misses, downloads and evictions are counted', async (t) => {
  let broken = false;
  const before = async () => {
    if (broken) throw new Error('out of reach');
  };
  const { cache } = await open(t, { before });
  for (const release of await Promise.all([cache.hold([file('a')]), cache.hold([file('a')])])) release();
  (await cache.hold([file('a')]))();
  for (const name of ['b', 'c', 'd']) (await cache.hold([file(name)]))();
  broken = true;
  await t.throwsAsync(cache.hold([file('e')]));
  t.deepEqual(cache.counts, {
    hits: 1,
    misses: 5,
    downloads: 4,
    downloaded_bytes: 400,
    failed_downloads: 1,
    evictions: 2,
  });
});

test('what an earlier process left is checked and counts as there, and damage as missing', async (t) => {
  const first = await open(t);
  for (const name of ['a', 'b']) (await first.cache.hold([file(name)]))();
  truncateSync(join(first.folder, 'tables/a'), 10);
  const { cache, fetched } = await open(t, { folder: first.folder });
  for (const name of ['a', 'b']) (await cache.hold([file(name)]))();
  t.deepEqual(fetched, ['a']);
  t.like(cache.counts, { hits: 1, misses: 1, downloads: 1 });
});

test('a full disk is an error of the questions that need a new copy; those that are there go on, and all do once there is room', async (t) => {
  let isFull = false;
  const before = async (path: string) => {
    if (isFull) throw Object.assign(new Error(`ENOSPC: no space left on device, open '${path}'`), { code: 'ENOSPC' });
  };
  const { cache, names } = await open(t, { before });
  (await cache.hold([file('a')]))();
  isFull = true;
  (await cache.hold([file('a')]))();
  await t.throwsAsync(cache.hold([file('a'), file('b')]), { code: 'ENOSPC' });
  t.deepEqual([names(), cache.load()], [['a'], { bytes: 100, held_bytes: 0 }]);
  isFull = false;
  (await cache.hold([file('a'), file('b')]))();
  t.deepEqual(names(), ['a', 'b']);
});

test('a copy that the disk does not let go fails no question and holds no room, and goes once it can', async (t) => {
  const { cache, folder, names } = await open(t);
  for (const name of ['a', 'b', 'c']) (await cache.hold([file(name)]))();
  rmSync(join(folder, 'tables/a'));
  mkdirSync(join(folder, 'tables/a')); // no file, so that it is not removed as one
  (await cache.hold([file('d')]))();
  t.deepEqual([names(), cache.load()], [['a', 'c', 'd'], { bytes: 300, held_bytes: 0 }]);
  rmdirSync(join(folder, 'tables/a'));
  for (const name of ['c', 'd', 'e']) (await cache.hold([file(name)]))();
  t.deepEqual([names(), cache.load()], [['c', 'd', 'e'], { bytes: 300, held_bytes: 0 }]);
});

test('a statement that has a file open reads it to its end after the copy was removed', async (t) => {
  const { cache, folder, names } = await open(t);
  const release = await cache.hold([file('a')]);
  const handle = await fs.open(join(folder, 'tables/a'));
  t.teardown(() => handle.close());
  release();
  for (const name of ['b', 'c', 'd']) (await cache.hold([file(name)]))();
  t.deepEqual(names(), ['b', 'c', 'd']);
  t.deepEqual(await handle.readFile(), contentOf('a', 100));
});
