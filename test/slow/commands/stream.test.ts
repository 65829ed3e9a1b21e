import fs from 'node:fs/promises';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import test, { type ExecutionContext } from 'ava';
import { filesBelow } from '../../../pipeline/files.ts';
import { readNewest } from '../../../pipeline/publish/manifests.ts';
import { layout } from '../../../schemas/layout.ts';
import { scanTime } from '../../../schemas/time.ts';
import { startBucket } from '../../support/data/bucket-server.ts';
import { contentOf, contentOfFiles, logicalContent, sameContent } from '../../support/data/content.ts';
import { startWebServer } from '../../support/data/web-server.ts';
import { asObserved, deliver, filesOf, ingest, type RawScan, scansBetween, scratch } from '../../support/data/world.ts';
import { type CommandSettings, ended, faultsOf, start } from '../../support/kill/killed.ts';
import { until } from '../../support/until.ts';

const FULL_DISK = fileURLToPath(new URL('../../support/kill/full-disk.ts', import.meta.url));
const CLOCK = fileURLToPath(new URL('../../support/kill/clock.ts', import.meta.url));
const evening = () => scansBetween('23:55', '00:09');

interface Event {
  readonly msg: string;
  readonly [field: string]: unknown;
}

/** Follows a running stream by its events. */
function follow(t: ExecutionContext, root: string, args: readonly string[], settings: CommandSettings = {}) {
  const child = start(root, ['stream', '--every', '0.2', ...args], settings);
  t.teardown(() => child.kill('SIGKILL'));
  const events: Event[] = [];
  const waiting = new Set<() => void>();
  let rest = '';
  child.stderr.on('data', (text: string) => {
    const lines = `${rest}${text}`.split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) if (line.startsWith('{')) events.push(JSON.parse(line));
    for (const look of waiting) look();
  });
  const end = ended(child);
  /** Waits for the n-th event of a name; fails when the stream ends before. */
  const event = (name: string, count = 1) =>
    new Promise<Event>((resolve, reject) => {
      const look = () => {
        const found = events.filter((one) => one.msg === name)[count - 1];
        if (found === undefined) return;
        waiting.delete(look);
        resolve(found);
      };
      waiting.add(look);
      look();
      void end.then(({ stderr }) => reject(new Error(`the stream ended without ${count} x ${name}: ${stderr}`)));
    });
  const stop = async (signal: NodeJS.Signals = 'SIGTERM') => {
    child.kill(signal);
    return end;
  };
  return { event, stop, events, end };
}

/** The scans of the evening, some of them in the folder of a stream that follows it. */
async function streaming(t: ExecutionContext, delivered: number, settings: CommandSettings = {}) {
  const scans = await evening();
  const [root, from] = [await scratch(t), await scratch(t, 'from')];
  await deliver(from, filesOf(scans.slice(0, delivered)));
  return { scans, root, from, stream: follow(t, root, ['--from', from], settings) };
}

type Following = ReturnType<typeof follow>;

/** Puts a scan's files into a folder as a careful sender would: under another name first, and MESH, which makes the scan, last. */
async function arrive(folder: string, scan: RawScan): Promise<void> {
  for (const file of scan.files.toReversed()) {
    await fs.copyFile(file.location, join(folder, `.${file.name}`));
    await fs.rename(join(folder, `.${file.name}`), join(folder, file.name));
  }
}

test('publishes each scan of a watched folder by itself as it arrives, and ends cleanly on SIGTERM with all that follows drawn', async (t) => {
  const { scans, root, from, stream } = await streaming(t, 2);
  await stream.event('Stream:Publish:Done', 1);
  for (const [index, scan] of scans.slice(2).entries()) {
    await arrive(from, scan);
    const published = await stream.event('Stream:Publish:Done', index + 2);
    t.is(published.scans, 1);
    // The switch names the scan by the time the event says so.
    t.true((await logicalContent(root)).switch?.includes(scan.scan_id));
  }
  const end = await stream.stop();
  t.is(end.code, 0, end.stderr);
  t.is(stream.events.at(-1)?.msg, 'Stream:Stop');
  sameContent(t, await logicalContent(root), await contentOf(scans));
  t.is((await filesBelow(from)).length, filesOf(scans).length);
});

test('waits for a file that is still being written', async (t) => {
  const { scans, root, from, stream } = await streaming(t, 0);
  await stream.event('Stream:Start');
  const half = scans[0]?.files[0];
  if (half === undefined) return t.fail();
  const content = await fs.readFile(half.location);
  const path = join(from, basename(half.name));
  await fs.writeFile(path, content.subarray(0, content.length >> 1));
  // A later scan comes whole and is published meanwhile.
  await arrive(from, scans[1] as RawScan);
  await stream.event('Stream:Publish:Done', 1);
  await fs.writeFile(path, content);
  const second = await stream.event('Stream:Publish:Done', 2);
  t.is(second.scans, 1);
  t.false(stream.events.some((event) => event.msg === 'File:Read:Rejected'));
  t.is((await stream.stop('SIGINT')).code, 0);
  const given = [half, ...filesOf(scans.slice(1, 2))];
  sameContent(t, await logicalContent(root), await contentOfFiles(given));
});

test('takes up where a killed stream left off', async (t) => {
  const { scans, root, from, stream: first } = await streaming(t, 3);
  await first.event('Scan:Commit:Done', 2);
  t.is((await first.stop('SIGKILL')).signal, 'SIGKILL');
  const second = follow(t, root, ['--from', from]);
  await arrive(from, scans[3] as RawScan);
  for (let commit = 1; (await second.event('Scan:Commit:Done', commit)).newest !== scans[3]?.scan_id; ) commit += 1;
  t.is((await second.stop()).code, 0);
  sameContent(t, await logicalContent(root), await contentOf(scans.slice(0, 4)));
});

test('a second stream with --wait goes on when the first one is killed, with the same rows', async (t) => {
  const { scans, root, from, stream: first } = await streaming(t, 2);
  await first.event('Stream:Publish:Done');
  const refused = await follow(t, root, ['--from', from]).end;
  t.is(refused.code, 4);
  t.regex(refused.stderr, /held by process \d+ on .+ \(hail-pipeline stream\) since .+, expected no other pipeline/);
  const [second, third] = [1, 2].map(() => follow(t, root, ['--from', from, '--wait'])) as [Following, Following];
  for (const standby of [second, third]) {
    const { reason } = await standby.event('Stream:Lock:Wait');
    t.regex(String(reason), /held by process \d+ on .+ \(hail-pipeline stream\)/);
  }
  t.is((await third.stop()).code, 0, 'a signal ends the wait');
  await first.stop('SIGKILL');
  await second.event('Root:Open:Done');
  for (const [index, scan] of scans.slice(2).entries()) {
    await arrive(from, scan);
    await second.event('Stream:Publish:Done', index + 1);
  }
  t.is((await second.stop()).code, 0);
  sameContent(t, await logicalContent(root), await contentOf(scans));
});

test('follows the public bucket: what is there first, then what is new, late files too', async (t) => {
  const scans = await asObserved(t, await scansBetween('00:30', '00:45'));
  const bucket = await startBucket({ pageSize: 100 });
  t.teardown(bucket.close);
  const put = async (scan: RawScan | undefined) => {
    for (const file of scan?.files ?? []) bucket.put(file.key, await fs.readFile(file.location));
  };
  await put(scans[0]);
  await put(scans[2]);
  const root = await scratch(t);
  // A scan that a killed run had fetched, and not published.
  const inbox = join(root, 'inbox', 'noaa');
  await deliver(inbox, filesOf(scans.slice(0, 1)));
  const stream = follow(t, root, [], { environment: { HAIL_MRMS_URL: bucket.url } });
  const published = (count: number) => stream.event('Stream:Publish:Done', count);
  await published(2);
  await put(scans[3]);
  await published(3);
  bucket.fail('?list', { kind: 'status', status: 403 });
  await put(scans[1]);
  t.is((await published(4)).scans, 1);
  t.is((await stream.stop()).code, 0);
  sameContent(t, await logicalContent(root), await contentOfFiles(filesOf(scans.slice(0, 4))));
  const left = (await filesBelow(inbox)).filter((name) => name.endsWith('.gz'));
  t.deepEqual(left, []);
});

test('goes on after a scan of the other kind and names its file; the next stream goes on too', async (t) => {
  const scans = await evening();
  const [root, from] = [await scratch(t), await scratch(t, 'from')];
  await ingest(root, scans.slice(0, 1));
  const [stray] = await asObserved(t, scans.slice(1, 2));
  await deliver(from, stray?.files ?? []);
  const first = follow(t, root, ['--from', from]);
  const rejected = await first.event('File:Read:Rejected');
  t.is(rejected.file, stray?.files[0]?.name);
  t.regex(String(rejected.reason), /^observed data, expected simulated data as storm date 2026-05-01 holds/);
  await arrive(from, scans[2] as RawScan);
  await first.event('Stream:Publish:Done');
  t.is((await first.stop()).code, 0);
  const second = follow(t, root, ['--from', from]);
  await second.event('Stream:Start');
  await arrive(from, scans[3] as RawScan);
  await second.event('Stream:Publish:Done');
  t.is((await second.stop()).code, 0);
  t.false(second.events.some(({ msg }) => msg === 'File:Read:Rejected'));
  sameContent(t, await logicalContent(root), await contentOf([scans[0], scans[2], scans[3]] as RawScan[]));
});

test('simulated weather comes by the clock, goes on after its last scan, and is refused by a root with observed data', async (t) => {
  const root = await scratch(t);
  const simulate = (path: string) =>
    follow(t, path, ['--source', 'simulate', '--every', '10', '--hours', '0.1'], { environment: { HAIL_NOW: '' } });
  const first = simulate(root);
  const lag_ms = ({ time, newest }: Event) => Date.parse(String(time)) - scanTime(String(newest));
  for (let scans = 1; lag_ms(await first.event('Scan:Commit:Done', scans)) > 60_000; ) scans += 1;
  t.is((await first.stop()).code, 0);
  const last = first.events.findLast(({ msg }) => msg === 'Scan:Commit:Done');
  const second = simulate(root);
  const next = await second.event('Scan:Commit:Done');
  t.true(String(next.newest) > String(last?.newest));
  t.is(next.redone, 0);
  t.is((await second.stop()).code, 0);
  const { feeds } = JSON.parse(await fs.readFile(join(root, layout.feeds), 'utf8'));
  t.true(feeds.length >= 5);
  const heads = (await fs.readdir(join(root, layout.manifests))).filter((name) => /^\d{4}-/.test(name));
  const dates = heads.map(async (date) => JSON.parse(await fs.readFile(join(root, layout.head(date)), 'utf8')));
  for (const { source } of [...feeds, ...(await Promise.all(dates))]) t.is(source, 'simulated');
  t.deepEqual(await faultsOf(root), []);
  const observed = await scratch(t);
  await ingest(observed, await asObserved(t, (await evening()).slice(0, 1)));
  const refused = await simulate(observed).end;
  t.is(refused.code, 4);
  t.regex(refused.stderr, /holds observed data \(.+\), expected none beside simulated weather/);
});

test('fetches scans of the other kind from the bucket once, however often it looks', async (t) => {
  const scans = await scansBetween('00:30', '00:45');
  const root = await scratch(t);
  await ingest(root, scans.slice(0, 1));
  const strays = await asObserved(t, scans.slice(1, 5));
  const bucket = await startBucket({ pageSize: 100 });
  t.teardown(bucket.close);
  const stream = follow(t, root, ['--no-feeds'], { environment: { HAIL_MRMS_URL: bucket.url } });
  for (const [index, { files }] of strays.entries()) {
    for (const file of files.toReversed()) bucket.put(file.key, await fs.readFile(file.location));
    await stream.event('File:Read:Rejected', index + 1);
  }
  t.is((await stream.stop()).code, 0);
  const fetched = bucket.requests.filter((request) => !request.startsWith('GET list '));
  t.is(new Set(fetched).size, fetched.length, fetched.join('\n'));
  t.deepEqual(await faultsOf(root), []);
});

test('ends with an error soon after its data root has gone, and writes nothing in its place', async (t) => {
  const { scans, root, from, stream } = await streaming(t, 1);
  await stream.event('Stream:Publish:Done');
  await fs.rename(root, `${root}-away`);
  await arrive(from, scans[1] as RawScan);
  const end = await stream.end;
  t.is(end.code, 1, end.stderr);
  t.regex(end.stderr, /hail-pipeline: lock .*pipeline\.lock: is gone, expected the file that this pipeline locked\n$/);
  await t.throwsAsync(fs.stat(root), { code: 'ENOENT' });
  t.deepEqual(await faultsOf(`${root}-away`), []);
});

test('waits while the disk takes no more and says so, then publishes what came meanwhile', async (t) => {
  const scans = await evening();
  const [root, from, full] = [await scratch(t), await scratch(t, 'from'), await scratch(t, 'full')];
  await deliver(from, filesOf(scans.slice(0, 1)));
  const stream = follow(t, root, ['--from', from], {
    node: ['--import', FULL_DISK],
    environment: { DISK_FULL_WHILE: full, DISK_FULL_UNDER: root },
  });
  await stream.event('Stream:Publish:Done');
  await fs.writeFile(full, '');
  await arrive(from, scans[1] as RawScan);
  const waiting = await stream.event('Stream:Wait:Begin');
  t.regex(String(waiting.reason), /the disk takes no more/);
  await stream.event('Stream:Wait:Begin', 3);
  await arrive(from, scans[2] as RawScan);
  await fs.rm(full);
  await stream.event('Stream:Wait:Done');
  for (let commit = 1; (await stream.event('Scan:Commit:Done', commit)).newest !== scans[2]?.scan_id; ) commit += 1;
  t.is((await stream.stop()).code, 0);
  t.deepEqual(await faultsOf(root), []);
  sameContent(t, await logicalContent(root), await contentOf(scans.slice(0, 3)));
});

test('ends on SIGHUP while it waits for a full disk', async (t) => {
  const scans = await evening();
  const [root, from, full] = [await scratch(t), await scratch(t, 'from'), await scratch(t, 'full')];
  await deliver(from, filesOf(scans.slice(0, 1)));
  await fs.writeFile(full, '');
  const stream = follow(t, root, ['--from', from], {
    node: ['--import', FULL_DISK],
    environment: { DISK_FULL_WHILE: full, DISK_FULL_UNDER: join(root, 'manifests') },
  });
  await stream.event('Stream:Wait:Begin');
  const end = await stream.stop('SIGHUP');
  t.deepEqual([end.code, end.signal], [0, null]);
});

test('publishes a scan ahead of the clock once the clock has come to it', async (t) => {
  const scans = await evening();
  const [root, from, clock] = [await scratch(t), await scratch(t, 'from'), await scratch(t, 'clock')];
  await deliver(from, filesOf(scans.slice(0, 3)));
  const from_ms = (scans[2]?.time_ms ?? 0) - 11 * 60_000;
  await fs.writeFile(clock, '0');
  const stream = follow(t, root, ['--from', from], {
    node: ['--import', CLOCK],
    environment: { CLOCK_FROM_MS: String(from_ms), CLOCK_AHEAD_MS_IN: clock },
  });
  await stream.event('File:Plan:Postponed');
  await stream.event('Scan:Commit:Done', 2);
  await fs.writeFile(clock, String(11 * 60_000));
  t.is((await stream.event('Scan:Commit:Done', 3)).newest, scans[2]?.scan_id);
  t.is((await stream.stop()).code, 0);
  sameContent(t, await logicalContent(root), await contentOf(scans.slice(0, 3)));
});

test('goes on beside a link in a circle and a file that vanishes, and takes the file when it comes', async (t) => {
  const scans = await evening();
  const [root, from] = [await scratch(t), await scratch(t, 'from')];
  await fs.mkdir(from);
  const [first, second] = [scans[0] as RawScan, scans[1] as RawScan];
  const circle = join(from, second.files[0]?.name as string);
  await fs.symlink(circle, circle);
  const stream = follow(t, root, ['--from', from]);
  t.regex(String((await stream.event('File:Read:Postponed')).reason), /ELOOP/);
  await arrive(from, first);
  await stream.event('Stream:Publish:Done');
  await fs.rm(circle);
  await arrive(from, second);
  for (let commit = 1; (await stream.event('Scan:Commit:Done', commit)).newest !== second.scan_id; ) commit += 1;
  t.is((await stream.stop()).code, 0);
  sameContent(t, await logicalContent(root), await contentOf([first, second]));
});

test('finishes the dates of an earlier run, whatever arrives', async (t) => {
  const scans = await evening();
  const [root, from] = [await scratch(t), await scratch(t, 'from')];
  await fs.mkdir(from);
  await ingest(root, scans.slice(0, 2));
  const stream = follow(t, root, ['--from', from], { now_ms: Date.parse('2026-05-02T02:00:00Z') });
  await stream.event('Stream:Start');
  t.is((await stream.stop()).code, 0);
  t.true((await readNewest(root, '2026-05-01'))?.closed);
});

test('ends at once on SIGTERM while every feed hangs: some servers say nothing, some stop in the middle of an answer', async (t) => {
  const { url, asked } = await startWebServer(t, {}, (_, response) => {
    if (asked.length % 2 === 0) response.writeHead(200, { 'content-length': 1000 }).write('{"@graph":');
  });
  const environment = { HAIL_SPC_URL: url, HAIL_LSR_URL: url, HAIL_NWS_URL: url, HAIL_MODEL_URL: url };
  const scans = await evening();
  const [root, from] = [await scratch(t), await scratch(t, 'from')];
  await deliver(from, filesOf(scans.slice(0, 1)));
  const feeds = 'spc-reports,lsr,warnings,watches,discussions,spc-outlooks,hrrr';
  const stream = follow(t, root, ['--from', from, '--feeds', feeds], { environment });
  // Scans do not wait for feeds.
  await stream.event('Stream:Publish:Done');
  // Two report lists, storm reports, warnings, two lists of texts, four layers at once, the index of a model hour.
  await until(() => asked.length === 11);
  const end = await stream.stop();
  t.is(end.code, 0, end.stderr);
  t.is(stream.events.at(-1)?.msg, 'Stream:Stop');
  // Nobody waited for the end of an answer's time: every page would have been asked for again.
  t.is(asked.length, 11, asked.join('\n'));
  t.deepEqual(await faultsOf(root), []);
  sameContent(t, await logicalContent(root), await contentOf(scans.slice(0, 1)));
});
