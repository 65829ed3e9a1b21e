import test from 'ava';
import { contentOf, logicalContent, sameContent } from '../../support/data/content.ts';
import { published, without } from '../../support/data/published-scans.ts';
import { midnight, scansBetween } from '../../support/data/small-world.ts';
import { publishBlockage, RING_OF_KTLX } from '../../support/data/terrain.ts';
import { ingest, onRoot, type RawScan, scratch } from '../../support/data/world.ts';

test('scans that arrive one by one in reversed order give the content of the right order', async (t) => {
  const scans = await midnight();
  const content = await contentOf(scans);
  const root = await scratch(t);
  await onRoot(root, { each_scan: true }, async ({ session }) => {
    for (const scan of scans.toReversed()) await session.ingest(scan.files);
    await session.finishDates();
  });
  sameContent(t, await logicalContent(root), content);
});

test('scans published one by one give the content of scans published by the hour', async (t) => {
  const scans = await midnight();
  const content = await contentOf(scans);
  const root = await scratch(t);
  await onRoot(root, { each_scan: true }, async ({ session }) => {
    for (const scan of scans) await session.ingest(scan.files);
    await session.finishDates();
  });
  sameContent(t, await logicalContent(root), content);
});

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
