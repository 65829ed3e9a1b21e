import fs from 'node:fs/promises';
import { join } from 'node:path';
import test from 'ava';
import { PipelineError } from '../../../pipeline/error.ts';
import { listPartitions } from '../../../pipeline/publish/manifests.ts';
import { layout } from '../../../schemas/layout.ts';
import { scansBetween } from '../../support/data/small-world.ts';
import { MONTH_LATER_MS, onRoot, scratch } from '../../support/data/world.ts';

const DATE = '2026-05-02';
const MONTH = '2026-05';

test('a month whose date lost its head under the pipeline is not joined, and the error names the head', async (t) => {
  const path = await scratch(t);
  const [scan] = await scansBetween('00:00', '00:04');
  const error = await onRoot(path, { now_ms: MONTH_LATER_MS }, async ({ root, session }) => {
    await session.ingest(scan?.files ?? []);
    await root.compactDay(DATE, MONTH_LATER_MS);
    await fs.rm(join(path, layout.head(DATE)));
    return await t.throwsAsync(root.compactMonth(MONTH, MONTH_LATER_MS), { instanceOf: PipelineError });
  });
  t.is(error?.message, `publish ${layout.head(DATE)}: is missing, expected the head of a published date`);
  t.deepEqual((await listPartitions(path)).months, []);
});
