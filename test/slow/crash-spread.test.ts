import fs from 'node:fs/promises';
import test, { type ExecutionContext } from 'ava';
import { startBucket } from '../support/data/bucket-server.ts';
import { contentOf, contentOfFiles, logicalContent, sameContent } from '../support/data/content.ts';
import {
  asObserved,
  copyOf,
  deliver,
  filesOf,
  ingest,
  type RawScan,
  scansBetween,
  scratch,
} from '../support/data/world.ts';
import { command, faultsOf, killEach, killedAt, pointsOf } from '../support/kill/killed.ts';

/** Seven scans around midnight; the third comes late, so that a killed redo concerns both dates. */
const evening = () => scansBetween('23:53', '00:07');
const LATE = 2;
/** Parts that a commit of scans publishes; the others are drawn afterwards. */
const ofScans = /scans|detections|cells|tracks|frames/;

async function prepared(t: ExecutionContext) {
  const scans = await evening();
  const before = await scratch(t, 'before');
  await ingest(
    before,
    scans.filter((_, index) => index !== LATE),
  );
  const from = await deliver(await scratch(t, 'from'), filesOf(scans.slice(LATE, LATE + 1)));
  return { scans, before, args: ['ingest', '--source', 'dir', '--from', from, '--no-progress'] };
}

test('a process killed while it makes two dates again leaves both as they were or both made again', async (t) => {
  const { scans, before, args } = await prepared(t);
  const untouched = await logicalContent(before);
  const expected = await contentOf(scans);
  const points = await pointsOf(t, await copyOf(t, before), args);
  // The first commit makes both dates again: its numbered manifests, the note that they belong together, heads, switch.
  const steps = points.flatMap((what, index) =>
    /(rename|rm) .*(head|pending|current)\.json/.test(what) ? [index + 1] : [],
  );
  t.true(steps.length > 6);
  await killEach(t, { prepared: before, args, points }, steps.slice(0, 5), async (root, where) => {
    t.deepEqual(await faultsOf(root), [], where);
    await ingest(root, []);
    const found = await logicalContent(root);
    const late = scans[LATE] as RawScan;
    const isIn = found['2026-05-01 scans']?.some((line) => line.includes(late.scan_id));
    const parts = (content: typeof found) =>
      Object.fromEntries(Object.entries(content).filter(([part]) => ofScans.test(part)));
    sameContent(t, parts(found), parts(isIn ? expected : untouched));
    await ingest(root, [late]);
    sameContent(t, await logicalContent(root), expected);
  });
});

test('a process killed while it recovers leaves nothing wrong either', async (t) => {
  const scans = await evening();
  const from = await deliver(await scratch(t, 'from'), filesOf(scans));
  const args = ['ingest', '--source', 'dir', '--from', from, '--no-progress'];
  const points = await pointsOf(t, await scratch(t), args);
  const atSwitch = points.findIndex((what) => /rename .*current\.json/.test(what)) + 1;
  t.true(atSwitch > 0);
  const root = await scratch(t);
  await killedAt(root, args, atSwitch);
  for (const point of [2, 9, 14]) {
    const killed = await killedAt(root, args, point);
    t.is(killed.signal, 'SIGKILL', killed.stderr);
    t.deepEqual(await faultsOf(root), []);
  }
  await ingest(root, scans);
  sameContent(t, await logicalContent(root), await contentOf(scans));
});

test('a fetch that is killed after files were kept, before their scans were published, is completed by a rerun that fetches nothing', async (t) => {
  const scans = await asObserved(t, await scansBetween('00:00', '00:05'));
  const bucket = await startBucket({ pageSize: 50 });
  t.teardown(bucket.close);
  for (const file of filesOf(scans)) bucket.put(file.key, await fs.readFile(file.location));
  const args = ['ingest', '--source', 'noaa', '--date', '2026-05-02', '--no-progress'];
  const settings = { environment: { HAIL_MRMS_URL: bucket.url } };
  const points = await pointsOf(t, await scratch(t), args, settings);
  const root = await scratch(t);
  const beforeHead = points.findIndex((what) => /rename .*head\.json/.test(what)) - 10;
  t.is((await killedAt(root, args, beforeHead, settings)).signal, 'SIGKILL');
  t.deepEqual(await logicalContent(root), {});
  const fetched = bucket.requests.length;
  const rerun = await command(root, args, settings);
  t.is(rerun.code, 0, rerun.stderr);
  t.deepEqual(
    bucket.requests.slice(fetched).filter((request) => !request.startsWith('GET list')),
    [],
  );
  sameContent(t, await logicalContent(root), await contentOfFiles(filesOf(scans)));
});
