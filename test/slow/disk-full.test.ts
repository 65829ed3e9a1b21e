import { execFileSync, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdirSync, mkdtempSync, rmSync, statfsSync } from 'node:fs';
import fs from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { layout } from '../../schemas/layout.ts';
import type { Health } from '../../schemas/resources/health.ts';
import { contentOf, logicalContent, sameContent } from '../support/data/content.ts';
import { copyOf, deliver, filesOf, publishedRoot, scansBetween, scratch } from '../support/data/world.ts';
import { command, ended, environmentOf, faultsOf, MAIN } from '../support/kill/killed.ts';
import { type RunningService, startService } from '../support/service/service.ts';
import { WHOLE_NOW_MS, wholeRoot } from '../support/service/whole-service.ts';

const evening = () => scansBetween('00:00', '00:13');
const EARLIER = 3;
const ONE_LINE = /^hail-pipeline: [^\n]*(the disk takes no more|cannot be written|could not be written)[^\n]*\n$/;

function canMount(): boolean {
  if (process.platform !== 'linux' || process.getuid?.() !== 0) return false;
  const folder = mkdtempSync(join(tmpdir(), 'hail-mount-'));
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=1m', 'tmpfs', folder], { stdio: 'ignore' });
    execFileSync('umount', [folder]);
    return true;
  } catch {
    return false;
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** A file system of its own, of a few megabytes. */
async function smallDisk(t: ExecutionContext, megabytes: number): Promise<string> {
  const folder = await scratch(t, 'disk');
  mkdirSync(folder);
  execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${megabytes}m`, 'tmpfs', folder]);
  t.teardown(() => execFileSync('umount', ['-l', folder]));
  return folder;
}

/** Fills a disk but for some bytes; returns the file to delete. */
async function fillBut(disk: string, bytes: number): Promise<string> {
  const { bavail, bsize } = statfsSync(disk);
  const filler = join(disk, 'filler');
  await fs.writeFile(filler, randomBytes(bavail * bsize - bytes));
  return filler;
}

async function prepared(t: ExecutionContext) {
  const scans = await evening();
  const source = await publishedRoot(t, scans.slice(0, EARLIER));
  const from = await deliver(await scratch(t, 'from'), filesOf(scans));
  return { scans, source, args: ['ingest', '--source', 'dir', '--from', from, '--no-progress'] };
}

const quiet = { environment: { HAIL_LOG_LEVEL: 'silent' } };
const onDisk = canMount() ? test : test.skip;
const why = canMount() ? '' : ' (needs to mount a tmpfs: root on Linux)';

for (const free_kb of [0, 24, 160])
  onDisk(`${free_kb} kB left are a clear error; nothing is published by half, space makes it good${why}`, async (t) => {
    const { scans, source, args } = await prepared(t);
    const disk = await smallDisk(t, 8);
    const root = join(disk, 'root');
    await fs.cp(source, root, { recursive: true });
    const before = await logicalContent(root);
    const filler = await fillBut(disk, free_kb * 1024);
    const run = await command(root, args, quiet);
    t.is(run.code, 1, run.stdout);
    t.regex(run.stderr, ONE_LINE);
    t.deepEqual(await faultsOf(root), []);
    sameContent(t, await logicalContent(root), before);
    await fs.rm(filler);
    t.is((await command(root, args, quiet)).code, 0);
    sameContent(t, await logicalContent(root), await contentOf(scans));
  });

test('a limit on the size of files is a clear error; nothing is published by half, and lifting it makes it good', async (t) => {
  const { scans, source: root, args } = await prepared(t);
  const before = await logicalContent(root);
  const limit_blocks = 4; // of 512 or 1024 bytes: less than any table file
  const run = await ended(limited(root, args, limit_blocks));
  t.is(run.code, 1, run.stdout);
  t.regex(run.stderr, ONE_LINE);
  t.deepEqual(await faultsOf(root), []);
  sameContent(t, await logicalContent(root), before);
  t.is((await command(root, args, quiet)).code, 0);
  sameContent(t, await logicalContent(root), await contentOf(scans));
});

/** The command under a shell's limit on the size of the files it writes. */
function limited(root: string, args: readonly string[], blocks: number) {
  return spawn('sh', ['-c', `ulimit -f ${blocks}; exec "$@"`, 'sh', process.execPath, MAIN, ...args], {
    env: environmentOf(root, quiet),
    stdio: ['ignore', 'pipe', 'pipe'],
  });
}
const AT = 'lat=35.2&lon=-97';
/** Every question about what is published. */
const READS = [
  `/v1/hail/current?${AT}`,
  `/v1/hail/nowcast?${AT}`,
  `/v1/hail/history?${AT}`,
  '/v1/hail/swaths?date=2026-05-01',
  '/v1/events?date_start=2026-05-01&date_end=2026-05-01',
  `/v1/storms?${AT}`,
  '/v1/storms/trk?date=2026-05-01',
  `/v1/coverage?${AT}`,
  '/v1/tiles/scan?date=2026-05-01',
  '/v1/tiles/daily?date=2026-05-01',
  '/v1/portfolio/impacts?date=2026-05-01',
  `/v1/outlooks/spc?${AT}`,
  `/v1/warnings?${AT}`,
  `/v1/hail/forecast?${AT}`,
  `/v1/hail/outlook?${AT}`,
];
const BATCH = {
  method: 'POST',
  headers: { 'Content-Type': 'application/json' },
  body: JSON.stringify({ locations: [{ lat: 35.2, lon: -97 }] }),
};

async function start(t: ExecutionContext, data_root: string): Promise<RunningService> {
  // Not `serviceFor`: what is gone is reported, as it should be.
  const service = await startService({ data_root, now_ms: WHOLE_NOW_MS });
  t.teardown(service.close);
  return service;
}

/** Status of every question, one after the other, and of the batch. */
async function ask({ call }: RunningService, headers: Record<string, string> = {}): Promise<number[]> {
  const statuses: number[] = [];
  for (const path of READS) statuses.push((await call(path, { headers })).status);
  statuses.push((await call('/v1/hail/current/batch', BATCH)).status);
  return statuses;
}

async function ledgerRows({ records }: RunningService): Promise<number> {
  return (await records.reader.selectFrom('ledger').selectAll().execute()).length;
}

async function ready({ call }: RunningService): Promise<number> {
  return (await call('/readyz', { key: null })).status;
}

const GONE: readonly (readonly [how: string, lose: (root: string, away: string) => Promise<unknown>])[] = [
  ['moved away', (root, away) => fs.rename(root, away)],
  ['replaced by an empty folder', (root, away) => fs.rename(root, away).then(() => fs.mkdir(root))],
  [
    'without its lists and its switch',
    async (root, away) => {
      await fs.cp(root, away, { recursive: true });
      await fs.rm(join(root, layout.manifests), { recursive: true });
      await fs.rm(join(root, layout.current));
    },
  ],
  ...[layout.tables, layout.tiles].map(
    (folder) =>
      [
        `without ${folder}/`,
        async (root: string, away: string) => {
          await fs.cp(root, away, { recursive: true });
          await fs.rm(join(root, folder), { recursive: true });
        },
      ] as const,
  ),
];

for (const [how, lose] of GONE)
  test(`a data root that is ${how} is 500 on every question, charges nothing, is not ready, and recovers by itself`, async (t) => {
    const root = await copyOf(t, await wholeRoot());
    const away = await scratch(t, 'away');
    const service = await start(t, root);
    const before = await ask(service);
    t.deepEqual(new Set(before), new Set([200, 404]));
    t.is(await ready(service), 200);
    const coverage = await service.call(`/v1/coverage?${AT}`);
    const tag = coverage.headers.get('ETag') ?? '';
    const charged = await ledgerRows(service);

    await lose(root, away);
    await service.services.catalog.refresh();
    const all = before.map(() => 500);
    t.deepEqual(await ask(service), all);
    t.deepEqual(await ask(service, { 'If-None-Match': tag }), all, 'nor is it unchanged');
    t.is((await service.call('/tiles/daily/2026-05-01.pmtiles', { key: null })).status, 500);
    t.is(await ledgerRows(service), charged);
    t.is(await ready(service), 503);
    const { status, components } = (await service.json('/v1/health')) as Health;
    t.deepEqual([status, components.ingest.status, components.database.status], ['degraded', 'degraded', 'ok']);

    await fs.rm(root, { recursive: true, force: true });
    await fs.rename(away, root);
    await service.services.catalog.refresh();
    t.deepEqual(await ask(service), before);
    t.is(await ready(service), 200);
    t.true(service.failures.length > 0);
  });

test('readyz names the folders that a root lacks', async (t) => {
  const root = await copyOf(t, await wholeRoot());
  const service = await start(t, root);
  await fs.rm(join(root, layout.tables, 'tracks'), { recursive: true });
  await fs.rm(join(root, layout.tiles), { recursive: true });
  await service.services.catalog.refresh();
  t.deepEqual(await (await service.call('/readyz', { key: null })).json(), {
    status: 'unavailable',
    records: true,
    data: false,
    missing: ['tables/tracks', 'tiles'],
  });
});

test('a root that never held anything answers empty, and is ready', async (t) => {
  const service = await start(t, await scratch(t));
  t.deepEqual(new Set(await ask(service)), new Set([200, 404]));
  t.is(await ready(service), 200);
  t.deepEqual(service.failures, []);
});

for (const table of ['detections', 'day-max', 'tracks', 'warnings', 'watches', 'spc-outlooks', 'forecast', 'outlook'])
  test(`when the files of ${table} are gone, what reads them is 500 and costs nothing, and nothing says there was none`, async (t) => {
    const root = await copyOf(t, await wholeRoot());
    const whole = await start(t, await wholeRoot());
    const expected = await Promise.all(READS.map((path) => whole.json(path)));
    const service = await start(t, root);
    await fs.rm(join(root, layout.tables, table), { recursive: true });
    let refused = 0;
    for (const [index, path] of READS.entries()) {
      const charged = await ledgerRows(service);
      const reply = await service.call(path);
      const body = await reply.json();
      if (reply.status === 500) {
        refused += 1;
        t.is(await ledgerRows(service), charged, path);
      } else if (reply.ok) t.deepEqual(body, expected[index], path);
    }
    t.true(refused > 0, 'no question reads it');
  });
