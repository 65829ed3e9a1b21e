import fs from 'node:fs/promises';
import { join } from 'node:path';
import test from 'ava';
import { filesBelow } from '../../../pipeline/files.ts';
import type { Root } from '../../../pipeline/publish/root.ts';
import { sweepRaw } from '../../../pipeline/publish/sweep-raw.ts';
import { layout } from '../../../schemas/layout.ts';
import { MS_PER_DAY } from '../../../schemas/time.ts';
import { logicalContent, sameContent } from '../../support/data/content.ts';
import { midnight } from '../../support/data/small-world.ts';
import { ingest, MONTH_LATER_MS, onRoot, publish, type RawScan, scratch } from '../../support/data/world.ts';
import { faultsOf } from '../../support/kill/killed.ts';

/** Sweeps every six hours for so many days from now. */
async function sweepFor(root: Root, days: number, raw_keep_days: number | null): Promise<number> {
  let files = 0;
  const from_ms = Date.now();
  for (let quarter = 0; quarter <= 4 * days; quarter++)
    files += (await root.sweep(from_ms + (quarter * MS_PER_DAY) / 4, raw_keep_days)).files;
  return files;
}

const rawOf = async (root: string) =>
  (await filesBelow(join(root, 'archive'))).map((name) => name.replace(/^simulated\//, ''));

test('raw files stay while a storm date around them is open, however old they are', async (t) => {
  const root = await scratch(t);
  await publish(root, await midnight());
  const before = await rawOf(root);
  t.true(before.length > 0);
  await onRoot(root, {}, async ({ root: open }) => {
    await sweepFor(open, 10, 2);
  });
  t.deepEqual(await rawOf(root), before);
});

test('raw files of closed dates go so many days after they came, and stay for ever without a setting', async (t) => {
  const root = await scratch(t);
  await publish(root, await midnight(), { now_ms: MONTH_LATER_MS });
  const content = await logicalContent(root);
  const before = await rawOf(root);
  await onRoot(root, { now_ms: MONTH_LATER_MS }, async ({ root: open }) => {
    await sweepFor(open, 10, null);
    t.deepEqual(await rawOf(root), before);
    await fs.rm(join(root, layout.deletions));
    await sweepFor(open, 10.5, 10);
    t.deepEqual(await rawOf(root), before, 'marked');
    await fs.rm(join(root, layout.deletions));
    t.true((await sweepFor(open, 12.5, 10)) >= before.length);
  });
  t.deepEqual(await rawOf(root), []);
  sameContent(t, await logicalContent(root), content);
  t.deepEqual(await faultsOf(root), []);
});

test('the companions that the first scans of a date take from before midnight stay as long as that date', async (t) => {
  const root = await scratch(t);
  await publish(root, await midnight(), { now_ms: MONTH_LATER_MS });
  const late = join(root, 'archive', 'simulated', 'date=2026-05-02', '.came-late');
  await onRoot(root, { now_ms: MONTH_LATER_MS }, async ({ root: open }) => {
    await fs.writeFile(late, '');
    // Only the younger date has a file that came after the limit.
    const { ctimeMs } = await fs.stat(late);
    await sweepRaw(root, open.heads, 10, ctimeMs - 0.5 + 10 * MS_PER_DAY);
  });
  const names = (await rawOf(root)).filter((name) => name.startsWith('date=2026-05-01/'));
  t.true(names.length > 0);
  for (const name of names) t.regex(name, /_20260501-235[789]\d\d|PROBSEVERE_20260501_23[45]\d\d\d/);
  t.false(names.some((name) => name.includes('MRMS_MESH_')));
});

test('a clock of the sweep that cannot be read is made anew: no file goes for a day, and no run fails', async (t) => {
  const root = await scratch(t);
  await publish(root, await midnight(), { now_ms: MONTH_LATER_MS });
  const before = await rawOf(root);
  await onRoot(root, { now_ms: MONTH_LATER_MS }, async ({ root: open }) => {
    await sweepFor(open, 10, 10);
    for (const text of ['', '{"trusted_ms":', '{}']) {
      await fs.writeFile(join(root, layout.deletions), text);
      await open.sweep(Date.now() + 30 * MS_PER_DAY, 10);
    }
  });
  t.deepEqual(await rawOf(root), before);
});

test('a clock that is years ahead, in this process or from its start on, deletes no raw file', async (t) => {
  const root = await scratch(t);
  await publish(root, await midnight(), { now_ms: MONTH_LATER_MS });
  const before = await rawOf(root);
  const wrong_ms = Date.now() + 2 * 365 * MS_PER_DAY;
  const sweepAhead = (open: Root) =>
    Array.from({ length: 40 }, (_, quarter) => wrong_ms + (quarter * MS_PER_DAY) / 4).reduce(
      (sweeping, now_ms) => sweeping.then(() => open.sweep(now_ms, 2)),
      open.sweep(wrong_ms, 2),
    );
  // At the first look of all, and in a process that was started by the right clock.
  for (const first_ms of [wrong_ms, Date.now()])
    await onRoot(root, { now_ms: MONTH_LATER_MS }, async ({ root: open }) => {
      await open.sweep(first_ms, 2);
      await sweepAhead(open);
      t.deepEqual(await rawOf(root), before);
      await fs.rm(join(root, layout.deletions));
    });
});

for (const [title, raw_keep_days] of [
  ['swept by their age is put aside with the reason', 1],
  ['lost waits for them, and says so', undefined],
] as const)
  test(`a scan that comes after the raw files around it were ${title}; new ones are published`, async (t) => {
    const scans = await midnight();
    const root = await scratch(t);
    const [late, newest] = [scans[3] as RawScan, scans.at(-1) as RawScan];
    await publish(
      root,
      scans.filter((scan) => scan !== late && scan !== newest),
    );
    const before = await logicalContent(root);
    await fs.rm(join(root, 'archive', 'simulated', 'date=2026-05-01'), { recursive: true });
    const settings = { now_ms: MONTH_LATER_MS, ...(raw_keep_days === undefined ? {} : { raw_keep_days }) };
    const run = await ingest(root, [late, newest], settings);
    t.deepEqual([run.scans, run.redone], [1, 0]);
    const [told, other] = raw_keep_days === undefined ? [run.postponed, run.rejected] : [run.rejected, run.postponed];
    t.true(told.length > 0);
    t.deepEqual(other, []);
    for (const { reason } of told) t.regex(reason, /raw files are gone/);
    const after = await logicalContent(root);
    t.deepEqual(after['2026-05-01 detections'], before['2026-05-01 detections']);
    t.deepEqual(await faultsOf(root), []);
    t.deepEqual((await ingest(root, [late], settings)).rejected, [], 'said once');
  });
