import test from 'ava';
import { logicalContent, sameContent } from '../content.ts';
import { filesOf, ingest, rawScans, scansBetween, scratch } from '../world.ts';

test('the same input twice is nothing to do and the same content', async (t) => {
  const root = await scratch(t);
  const scans = await scansBetween('23:50', '00:10');
  const t0 = performance.now();
  const first = await ingest(root, scans);
  t.log(scans.length, 'ingest', performance.now() - t0);
  const content = await logicalContent(root);
  t.log(Object.entries(content).map(([k, v]) => `${k}: ${v.length}`));
  const again = await ingest(root, scans);
  t.is(first.scans, scans.length);
  t.deepEqual([again.scans, again.redone, again.skipped, again.dates], [0, 0, scans.length, []]);
  sameContent(t, await logicalContent(root), content);
});

test('two halves', async (t) => {
  const scans = await rawScans();
  const [inOrder, halves] = [await scratch(t), await scratch(t)];
  const t0 = performance.now();
  await ingest(inOrder, scans);
  t.log('all', scans.length, performance.now() - t0);
  await ingest(halves, scans.slice(0, 17));
  await ingest(halves, filesOf(scans));
  sameContent(t, await logicalContent(halves), await logicalContent(inOrder));
});
