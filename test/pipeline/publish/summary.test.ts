import test from 'ava';
import { summarize } from '../../../pipeline/publish/summary.ts';
import { scansBetween } from '../../support/data/small-world.ts';
import { onRoot, scratch } from '../../support/data/world.ts';

test('a summary tells counts of scans and rows first and what they take on the disk last', async (t) => {
  const [scan] = await scansBetween('00:00', '00:04');
  const summary = await onRoot(await scratch(t), {}, async ({ root, session }) => {
    await session.ingest(scan?.files ?? []);
    return await summarize(root, [...root.heads.keys()]);
  });
  t.is(summary.scans, 1);
  t.deepEqual(Object.keys(summary), [
    ...['scans', 'detections', 'cells', 'tracks', 'tiers_mm', 'max_size_mm', 'files', 'bytes'],
  ]);
});
