import test from 'ava';
import { Conflict } from '../../../pipeline/error.ts';
import { readNewest } from '../../../pipeline/publish/manifests.ts';
import { contentOf, contentOfFiles, logicalContent, sameContent } from '../../support/data/content.ts';
import { published, without } from '../../support/data/published-scans.ts';
import { aroundMidnight, midnight, scansBetween } from '../../support/data/small-world.ts';
import { publishBlockage, RING_OF_KTLX } from '../../support/data/terrain.ts';
import {
  asObserved,
  filesOf,
  ingest,
  MONTH_LATER_MS,
  onRoot,
  type RawScan,
  scratch,
} from '../../support/data/world.ts';

test('a late scan together with new ones gives the content of the right order', async (t) => {
  const scans = await midnight();
  const content = await contentOf(scans);
  const root = await scratch(t);
  await onRoot(root, { each_scan: true }, async ({ session }) => {
    for (const scan of without(scans, 3).slice(0, 8)) await session.ingest(scan.files);
  });
  const run = await ingest(root, scans);
  t.is(run.scans, scans.length - 8);
  sameContent(t, await logicalContent(root), content);
});

test('a missing scan leaves tracks coasting under their name', async (t) => {
  const scans = await scansBetween('23:30', '00:00');
  const whole = await published(t, scans);
  const gap = await published(t, without(scans, 6, 7));
  const tracks = ({ content }: typeof gap) =>
    (content['2026-05-01 tracks'] ?? []).map((line) => JSON.parse(line) as { track_id: string; scan_time: number });
  const namesAt = (rows: ReturnType<typeof tracks>, scan: RawScan | undefined) =>
    new Set(rows.filter((row) => row.scan_time === scan?.time_ms).map((row) => row.track_id));
  const before = namesAt(tracks(gap), scans[5]);
  const after = namesAt(tracks(gap), scans[8]);
  const wholeAfter = namesAt(tracks(whole), scans[8]);
  const lived = [...before].filter((name) => wholeAfter.has(name));
  t.true(lived.length > 0);
  t.true(lived.filter((name) => after.has(name)).length >= 0.5 * lived.length);
});

test('with a terrain model too the content does not depend on how the input is cut', async (t) => {
  const scans = await midnight();
  const [whole, cut] = [await scratch(t, 'whole'), await scratch(t, 'cut')];
  for (const root of [whole, cut]) await publishBlockage(root, RING_OF_KTLX);
  await ingest(whole, scans);
  await ingest(cut, without(scans, 3, 4));
  await ingest(cut, scans.slice(4));
  await ingest(cut, scans.slice(0, 4));
  sameContent(t, await logicalContent(cut), await logicalContent(whole));
});

test('hours that are rolled up, dates that are closed and months that are joined keep their content', async (t) => {
  const scans = await midnight();
  const root = await scratch(t);
  await onRoot(root, { each_scan: true }, async ({ session, root: { heads, manifest } }) => {
    for (const scan of scans) await session.ingest(scan.files);
    const pieces = async () => {
      const lists = await Promise.all([...heads.keys()].map(manifest));
      return new Set(lists.flatMap((list) => (list?.scans ?? []).map((scan) => scan.segment))).size;
    };
    t.is(await pieces(), scans.length);
    await session.finishDates();
    // The hour of a date's newest scan is left alone.
    t.is(await pieces(), scans.length);
  });
  const open = await logicalContent(root);
  await ingest(root, [], { now_ms: MONTH_LATER_MS });
  const heads = [await readNewest(root, '2026-05-01'), await readNewest(root, '2026-05-02')];
  for (const head of heads) {
    t.true(head?.closed);
    t.is(new Set(head?.scans.map((scan) => scan.segment)).size, 1);
    t.is(head?.files.filter((file) => file.table === 'detections').length, 1);
  }
  sameContent(t, await logicalContent(root), open);
});

test('observed and simulated scans never share a storm date, until one takes the place of the other', async (t) => {
  const scans = await aroundMidnight();
  const observed = await asObserved(t, scans);
  const content = await contentOfFiles(filesOf(observed));
  t.regex(content['2026-05-01 scans']?.[0] ?? '', /^observed/);
  const { root } = await published(t, scans);
  const before = await logicalContent(root);
  const error = await t.throwsAsync(ingest(root, observed), { instanceOf: Conflict });
  t.regex(error?.message ?? '', /--replace/);
  sameContent(t, await logicalContent(root), before);
  await onRoot(root, {}, async ({ session }) => {
    const files = filesOf(observed);
    await session.replace(files);
    await session.ingest(files);
    await session.finishDates();
  });
  sameContent(t, await logicalContent(root), content);
});

test('a terrain model that comes later leaves published scans alone until they are made again', async (t) => {
  const scans = await scansBetween('00:00', '00:06');
  const { root, content } = await published(t, scans);
  await publishBlockage(root, RING_OF_KTLX);
  await ingest(root, scans);
  sameContent(t, await logicalContent(root), content);
  await onRoot(root, {}, async ({ session }) => {
    await session.rebuild('2026-05-02');
    await session.finishDates();
  });
  const first = await scratch(t, 'first');
  await publishBlockage(first, RING_OF_KTLX);
  await ingest(first, scans);
  sameContent(t, await logicalContent(root), await logicalContent(first));
  t.notDeepEqual(await logicalContent(root), content);
});
