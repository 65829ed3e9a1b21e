import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import fs from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import test, { type ExecutionContext } from 'ava';
import { filesBelow } from '../../pipeline/files.ts';
import { Head } from '../../schemas/head.ts';
import { layout } from '../../schemas/layout.ts';
import { Current, Manifest } from '../../schemas/manifest.ts';
import { midnight } from '../support/data/small-world.ts';
import { onRoot, scratch } from '../support/data/world.ts';
import { freePort } from '../support/free-port.ts';

const run = promisify(execFile);
const pathOf = (path: string) => fileURLToPath(new URL(`../../${path}`, import.meta.url));
const MIRROR = pathOf('data/examples/deploy/mirror-to-bucket.sh');
const NEEDED = ['/usr/bin/swift-proxy-server', '/usr/bin/memcached', '/usr/bin/rclone'];
const KEYS = { user: 'test:tester', secret: 'testing' } as const;
const missing = NEEDED.filter((path) => !existsSync(path));
const absent =
  missing.length > 0 ? `${missing.join(', ')} not installed` : process.getuid?.() === 0 ? null : 'Swift needs root';

/** A bucket of a real S3 server: environment of rclone for the remote `mirror:hail`, and a reader over HTTP. */
async function openBucket(t: ExecutionContext) {
  // Swift keeps attributes with its files, which a memory file system lacks.
  const folder = await fs.mkdtemp(join(tmpdir(), 'hail-swift-'));
  const port = await freePort();
  const child = spawn('bash', [pathOf('test/support/swift.sh'), folder, String(port)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  t.teardown(async () => {
    const ended = once(child, 'exit');
    child.kill('SIGTERM');
    await ended;
    await fs.rm(folder, { recursive: true, force: true });
  });
  const url = `http://127.0.0.1:${port}`;
  const { done } = await createInterface({ input: child.stdout })[Symbol.asyncIterator]().next();
  if (done) throw new Error('swift.sh ended, expected a server');
  const environment = {
    ...{ PATH: process.env.PATH, RCLONE_CONFIG: join(folder, 'rclone.conf'), RCLONE_CONFIG_MIRROR_TYPE: 's3' },
    ...{
      RCLONE_CONFIG_MIRROR_PROVIDER: 'Other',
      RCLONE_CONFIG_MIRROR_ENDPOINT: url,
      RCLONE_CONFIG_MIRROR_REGION: 'us-east-1',
    },
    ...{ RCLONE_CONFIG_MIRROR_ACCESS_KEY_ID: KEYS.user, RCLONE_CONFIG_MIRROR_SECRET_ACCESS_KEY: KEYS.secret },
  };
  await run('rclone', ['mkdir', 'mirror:hail'], { env: environment });
  const login = await fetch(`${url}/auth/v1.0`, { headers: { 'X-Auth-User': KEYS.user, 'X-Auth-Key': KEYS.secret } });
  const [token, storage] = ['X-Auth-Token', 'X-Storage-Url'].map((name) => login.headers.get(name) ?? '');
  const get = async (path: string): Promise<Uint8Array | null> => {
    const answer = await fetch(`${storage}/hail/${path}`, { headers: { 'X-Auth-Token': token ?? '' } });
    if (answer.status === 404) return null;
    if (!answer.ok) throw new Error(`${path}: ${answer.status}`);
    return new Uint8Array(await answer.arrayBuffer());
  };
  return { environment, get };
}

type Get = Awaited<ReturnType<typeof openBucket>>['get'];

/** Names without a file, of all that `current.json` leads to; null before the first mirror. */
async function readAll(get: Get, dates: readonly string[]): Promise<string[] | null> {
  const json = async (path: string) => {
    const bytes = await get(path);
    return bytes === null ? null : JSON.parse(Buffer.from(bytes).toString());
  };
  const pointer = await json(layout.current);
  if (pointer === null) return null;
  const current = Current.parse(pointer);
  const { detections, cells, tracks } = current.live;
  const names: { readonly path: string; readonly bytes?: number }[] = [detections, cells, tracks].map((path) => ({
    path,
  }));
  for (const date of dates) {
    const head = await json(layout.head(date));
    const pinned = current.open_dates[date];
    const commits = new Set([
      ...(pinned === undefined ? [] : [pinned]),
      ...(head === null ? [] : [Head.parse(head).commit]),
    ]);
    if (head !== null) names.push(...Head.parse(head).files);
    for (const commit of commits) {
      const manifest = await json(layout.manifest(date, commit));
      if (manifest === null) names.push({ path: layout.manifest(date, commit) });
      else names.push(...Manifest.parse(manifest).files);
    }
  }
  const lost: string[] = [];
  for (const { path, bytes } of names) {
    const found = await get(path);
    if (found === null || (bytes !== undefined && found.length !== bytes)) lost.push(path);
  }
  return lost;
}

if (absent !== null) test(`the mirror in a bucket is not tested: ${absent}`, (t) => t.truthy(absent));
else
  test('a reader of the bucket never meets a name without its file while scans are published and mirrored', async (t) => {
    const scans = await midnight();
    const { environment, get } = await openBucket(t);
    const root = await scratch(t);
    const state = await scratch(t, 'state');
    const dates = ['2026-05-01', '2026-05-02'];
    const mirror = () => run(MIRROR, [root, 'mirror:hail', state], { env: environment });
    let isOver = false;
    let reads = 0;
    const reading = (async () => {
      while (!isOver) {
        const lost = await readAll(get, dates);
        t.deepEqual(lost ?? [], []);
        if (lost !== null) reads += 1;
        await sleep(20);
      }
    })();
    const mirroring = (async () => {
      while (!isOver) {
        if (existsSync(join(root, layout.current))) await mirror();
        await sleep(50);
      }
    })();
    await onRoot(root, { each_scan: true }, async ({ session }) => {
      for (const scan of scans) {
        await session.ingest(scan.files);
        await sleep(1500);
      }
      await session.finishDates();
    });
    await sleep(3000);
    isOver = true;
    await Promise.all([reading, mirroring]);
    await mirror();
    t.true(reads > 5, `${reads} readings`);
    t.deepEqual(await readAll(get, dates), []);
    t.deepEqual(await get(layout.current), new Uint8Array(await fs.readFile(join(root, layout.current))));

    // A live snapshot that no list names any more leaves the data root, and the bucket after the grace.
    const current = await fs.readFile(join(root, layout.current), 'utf8');
    const swept = (await filesBelow(join(root, layout.live))).find((name) => !current.includes(name)) ?? '';
    await fs.rm(join(root, layout.live, swept));
    const isThere = async () => (await get(`${layout.live}/${swept}`)) !== null;
    const age = (min: number) => fs.utimes(join(state, 'missing'), new Date(), new Date(Date.now() - min * 60_000));
    await age(200);
    await mirror();
    t.true(await isThere());
    await mirror();
    t.true(await isThere());
    await age(121.5);
    await mirror();
    t.false(await isThere());
    t.deepEqual(await readAll(get, dates), []);
  });
