import fs from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import test, { type ExecutionContext } from 'ava';
import { namesIn } from '../../../pipeline/files.ts';
import { readNewest } from '../../../pipeline/publish/manifests.ts';
import { layout } from '../../../schemas/layout.ts';
import { startBucket } from '../../support/data/bucket-server.ts';
import { logicalContent, sameContent } from '../../support/data/content.ts';
import { pluck } from '../../support/data/rows.ts';
import { aroundMidnight } from '../../support/data/small-world.ts';
import { bucketKey } from '../../support/data/source-files.ts';
import {
  altered,
  asObserved,
  deliver,
  filesOf,
  MONTH_LATER_MS,
  preparedMonth,
  publishedRoot,
  scratch,
} from '../../support/data/world.ts';
import { commandHere } from '../../support/kill/command-here.ts';
import { command, ended, faultsOf, start } from '../../support/kill/killed.ts';

/** An event of the log of a child process, with its fields. */
interface LoggedEvent {
  readonly msg: string;
  readonly [field: string]: unknown;
}

/** The log of a child process. */
interface Events {
  /** All so far. */
  readonly all: readonly LoggedEvent[];
  /** Waits for an event of this name after the one that the last call returned. Throws when the child ends first. */
  readonly next: (name: string) => Promise<LoggedEvent>;
}

/** Reads the events that a child process writes, one JSON object a line. */
function hearEvents(lines: Readable): Events {
  const all: LoggedEvent[] = [];
  let isOver = false;
  let heard = Promise.withResolvers<void>();
  const wake = () => {
    heard.resolve();
    heard = Promise.withResolvers();
  };
  createInterface({ input: lines })
    .on('line', (line) => {
      all.push(line.startsWith('{') ? JSON.parse(line) : { msg: line });
      wake();
    })
    .on('close', () => {
      isOver = true;
      wake();
    });
  let seen = 0;
  const next = async (name: string): Promise<LoggedEvent> => {
    for (;;) {
      const { promise } = heard;
      const found = all.findIndex(({ msg }, k) => k >= seen && msg === name);
      if (found >= 0) {
        seen = found + 1;
        return all[found] as LoggedEvent;
      }
      if (isOver) throw new Error(`the child ended without ${name}; last: ${JSON.stringify(all.slice(-3))}`);
      await promise;
    }
  };
  return { all, next };
}

const RANGE = ['--from', '2026-05-01', '--to', '2026-05-02'] as const;
const FIRST = ['--from', '2026-05-01', '--to', '2026-05-01'] as const;
/** Both dates of the evening are over. */
const SETTINGS = { now_ms: MONTH_LATER_MS, environment: { HAIL_REFLECTIVITY_KEEP_HOURS: '0' } } as const;

for (const [args, fault] of [
  [
    ['--from', '2026-04-02', '--to', '2026-04-01', '--source', 'noaa'],
    /--to is 2026-04-01, expected 2026-04-02 \(--from\) or a later date/,
  ],
  [
    ['--from', '2026-04-30', '--to', '2026-05-01', '--source', 'noaa'],
    /--to is 2026-05-01, expected a storm date that is over, 2026-04-30 at the latest/,
  ],
  [['--from', '2026-04-01', '--to', '2026-04-01', '--source', 'dir'], /--source dir needs --folder FOLDER/],
  [
    ['--from', '2026-04-01', '--to', '2026-04-01', '--source', 'noaa', '--folder', 'raw'],
    /--folder goes with --source dir, found --source noaa/,
  ],
] as const)
  test(`backfill ${args.join(' ')} is refused with what was expected`, async (t) => {
    const { code, stderr } = await commandHere(await scratch(t), ['backfill', ...args]);
    t.is(code, 2);
    t.regex(stderr, fault);
  });

test('a backfill of a folder that is not there shows the reason of every date', async (t) => {
  const folder = await scratch(t, 'raw');
  const { stdout, code } = await command(await scratch(t), ['backfill', ...RANGE, ...from(folder)], SETTINGS);
  t.regex(stdout, /^2026-05-01 {2}failed: .* is not there, expected a folder\n2026-05-02 {2}failed: /);
  t.is(code, 1);
});

const from = (folder: string) => ['--source', 'dir', '--folder', folder];

interface DateOutcome {
  readonly status: string;
  readonly scans: number;
  readonly rejected: number;
  readonly missing: number;
  readonly reason: string | null;
}

/** Report and exit code of a backfill that prints JSON. */
async function backfill(root: string, args: readonly string[], environment: Readonly<Record<string, string>> = {}) {
  const settings = { ...SETTINGS, environment: { ...SETTINGS.environment, ...environment } };
  const { code, stdout, stderr } = await command(root, ['backfill', ...args, '--json'], settings);
  if (stdout === '') throw new Error(`backfill printed nothing: ${stderr}`);
  return {
    code,
    dates: stdout
      .trimEnd()
      .split('\n')
      .map((line): DateOutcome => JSON.parse(line)),
  };
}

async function rawFolder(t: ExecutionContext): Promise<string> {
  return deliver(await scratch(t, 'from'), filesOf(await aroundMidnight()));
}

test('two dates that are made side by side give the content of one ingest, tracks over midnight included', async (t) => {
  const root = await scratch(t);
  const args = [...RANGE, ...from(await rawFolder(t)), '--jobs', '2'];
  const { code, dates } = await backfill(root, args);
  t.is(code, 0);
  t.deepEqual(pluck(dates, 'status'), ['done', 'done']);
  t.deepEqual(pluck(dates, 'scans'), [3, 3]);
  sameContent(t, await logicalContent(root), await logicalContent(await preparedMonth(await aroundMidnight())));
  t.deepEqual(await faultsOf(root), []);
  t.deepEqual([await namesIn(join(root, layout.finishedDates)), await namesIn(join(root, 'work'))], [[], []]);

  const commits = async () =>
    Promise.all(['2026-05-01', '2026-05-02'].map(async (d) => (await readNewest(root, d))?.commit));
  const before = await commits();
  const again = await backfill(root, args);
  t.deepEqual(pluck(again.dates, 'status'), ['published', 'published']);
  t.deepEqual(await commits(), before);
  const rebuilt = await command(root, ['rebuild', '--date', '2026-05-02'], SETTINGS);
  t.is(rebuilt.code, 0, rebuilt.stderr);
  sameContent(t, await logicalContent(root), await logicalContent(await preparedMonth(await aroundMidnight())));
});

test('a running stream publishes the finished date between two scans', async (t) => {
  const scans = await aroundMidnight();
  const root = await scratch(t);
  const incoming = await scratch(t, 'incoming');
  await fs.mkdir(incoming, { recursive: true });
  const child = start(root, ['stream', '--source', 'dir', '--from', incoming, '--every', '0.2'], SETTINGS);
  const { next } = hearEvents(child.stderr);
  await next('Stream:Start');
  const made = backfill(root, [...FIRST, ...from(await rawFolder(t))]);
  t.is((await next('Date:Adopt:Done')).date, '2026-05-01');
  const { code, dates } = await made;
  t.deepEqual([code, dates[0]?.status], [0, 'done']);
  await deliver(incoming, filesOf(scans.slice(3)));
  // One commit may take one scan or several.
  for (let left = scans.length - 3; left > 0; ) left -= Number((await next('Stream:Publish:Done')).scans);
  child.kill('SIGTERM');
  await ended(child);
  const compacted = await command(root, ['compact'], SETTINGS);
  t.is(compacted.code, 0, compacted.stderr);
  sameContent(t, await logicalContent(root), await logicalContent(await preparedMonth(scans)));
});

test('a date that holds data of the other kind fails alone, with the reason', async (t) => {
  const root = await publishedRoot(t, (await asObserved(t, await aroundMidnight())).slice(0, 3));
  const before = await readNewest(root, '2026-05-01');
  const { code, dates } = await backfill(root, [...RANGE, ...from(await rawFolder(t))]);
  t.is(code, 1);
  t.deepEqual(pluck(dates, 'status'), ['failed', 'done']);
  t.regex(dates[0]?.reason ?? '', /2026-05-01: holds simulated data, expected observed data/);
  const inputs = (await readNewest(root, '2026-05-01'))?.scans.map(({ inputs }) => inputs);
  const inputsBefore = before?.scans.map(({ inputs }) => inputs);
  t.deepEqual(inputs, inputsBefore);
});

test('a file that cannot be used is kept with its reason, and a second run makes nothing', async (t) => {
  const scans = await aroundMidnight();
  const folder = await rawFolder(t);
  const broken = scans[1]?.files.find(({ product }) => product === 'MESH')?.name ?? '';
  await fs.truncate(join(folder, broken), 1000);
  const root = await scratch(t);
  const args = [...FIRST, ...from(folder)];
  const { dates } = await backfill(root, args);
  t.deepEqual([dates[0]?.status, dates[0]?.scans, dates[0]?.rejected], ['done', 2, 1]);
  t.true((await namesIn(join(root, layout.rejected('simulated')))).includes(`${broken}.reason.json`));
  t.is((await backfill(root, args)).dates[0]?.status, 'published');
});

test('a backfill from the bucket lists only once its date is published', async (t) => {
  const scans = await asObserved(t, await aroundMidnight());
  const meshes = scans.flatMap(({ files }) => files.filter(({ product }) => product === 'MESH'));
  const objects = await Promise.all(
    meshes.map(async ({ time_ms, location }) => [bucketKey('MESH', time_ms), await fs.readFile(location)] as const),
  );
  const bucket = await startBucket({ objects: Object.fromEntries(objects) });
  t.teardown(bucket.close);
  const root = await scratch(t);
  const run = () => backfill(root, [...FIRST, '--source', 'noaa', '--products', 'MESH'], { HAIL_MRMS_URL: bucket.url });
  const fetched = () => bucket.requests.filter((request) => !request.startsWith('GET list')).length;
  t.deepEqual([(await run()).dates[0]?.scans, fetched()], [3, 3]);
  t.deepEqual([(await run()).dates[0]?.status, fetched()], ['published', 3]);
});

test('a date whose files the bucket does not deliver fails, and the next run fetches them', async (t) => {
  const [scan] = await asObserved(t, await aroundMidnight());
  const mesh = scan?.files.find(({ product }) => product === 'MESH');
  if (mesh === undefined) throw new Error('the evening has no scan');
  const key = bucketKey('MESH', mesh.time_ms);
  const bucket = await startBucket({ objects: { [key]: await fs.readFile(mesh.location) } });
  t.teardown(bucket.close);
  bucket.fail(key, { kind: 'status', status: 403 });
  const root = await scratch(t);
  const run = () => backfill(root, [...FIRST, '--source', 'noaa', '--products', 'MESH'], { HAIL_MRMS_URL: bucket.url });
  const [failed] = (await run()).dates;
  t.is(failed?.status, 'failed');
  t.regex(failed?.reason ?? '', /none of 1 files could be fetched/);
  t.is((await run()).dates[0]?.scans, 1);
});

test('the files of a folder by date are read on the dates of the range only', async (t) => {
  const folder = await scratch(t, 'by-date');
  const dayOf = (time_ms: number) => new Date(time_ms).toISOString().slice(0, 10).replaceAll('-', '');
  for (const file of filesOf(await aroundMidnight()))
    if (file.product === 'MESH')
      await altered(`${folder}/MESH/${dayOf(file.time_ms)}`, file, await fs.readFile(file.location));
  // A link to itself is reported wherever it is seen.
  const circular = `${folder}/MESH/20250101/MRMS_MESH_00.50_20260501-235800.grib2.gz`;
  await fs.mkdir(`${folder}/MESH/20250101`);
  await fs.symlink(circular, circular);
  const { dates } = await backfill(await scratch(t), [...FIRST, ...from(folder)]);
  const counts = dates.map(({ scans, missing }) => [scans, missing]);
  t.deepEqual(counts, [[3, 0]]);
});
