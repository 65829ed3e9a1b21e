import fs from 'node:fs/promises';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { openEngine } from '../../../pipeline/duckdb.ts';
import { filesBelow } from '../../../pipeline/files.ts';
import { clearOldSimulated } from '../../../pipeline/publish/commit-dates.ts';
import { verifyRoot } from '../../../pipeline/publish/verify.ts';
import { writeScans } from '../../../pipeline/simulate/evening.ts';
import { listFolder } from '../../../pipeline/sources/folder.ts';
import type { SourceFile } from '../../../pipeline/sources/names.ts';
import { WSR88D } from '../../../schemas/reference/wsr88d.ts';
import { MS_PER_DAY, MS_PER_MIN } from '../../../schemas/time.ts';
import { headsOf } from '../../support/data/iceberg-reading.ts';
import { aroundMidnight } from '../../support/data/small-world.ts';
import { asObserved, onRoot, scratch } from '../../support/data/world.ts';

const KEEP_DATES = 7;
const WINDOW = { row0: 1900, col0: 3200, rows: 150, cols: 200 };

/** Raw files of the simulated scans of the five minutes after an instant. */
async function scansAfter(t: ExecutionContext, from_ms: number): Promise<readonly SourceFile[]> {
  const out = await scratch(t, 'scan');
  const scenario = { seed: 41, window: WINDOW, day_type: 'outbreak', steady: true, sites: WSR88D } as const;
  for await (const _ of writeScans(scenario, { from_ms, to_ms: from_ms + 5 * MS_PER_MIN, out }));
  return (await listFolder(out)).files;
}

/** A root that ingests, forgets what is old by a newest scan, closes what is over, and sweeps. */
async function pass(root: string, files: readonly SourceFile[], now_ms: number): Promise<void> {
  await onRoot(root, { now_ms }, async ({ root: open, session }) => {
    await session.ingest(files);
    await session.finishDates();
    await clearOldSimulated(open, KEEP_DATES, now_ms);
    await session.finishDates();
    const old_s = (Date.now() - MS_PER_DAY) / 1000;
    for (const name of await filesBelow(root)) await fs.utimes(join(root, name), old_s, old_s);
    await session.sweep();
  });
}

/** The root is whole, and only these dates have scans. */
async function holdsOnly(t: ExecutionContext, root: string, dates: readonly string[]): Promise<void> {
  const engine = await openEngine();
  t.teardown(engine.close);
  t.deepEqual((await verifyRoot(engine, root, null, () => {})).faults, []);
  const heads = (await headsOf(root)).filter(({ partition }) => /^\d{4}-\d\d-\d\d$/.test(partition));
  t.deepEqual(
    heads.filter(({ scans }) => scans.count > 0).map(({ partition }) => partition),
    dates,
  );
  const named = (await filesBelow(join(root, 'tables'))).flatMap((path) => /date=([^/]+)/.exec(path)?.[1] ?? []);
  t.deepEqual([...new Set(named)], dates);
}

test('simulated dates that are too old go from the disk, and their month with the last of them', async (t) => {
  const root = await scratch(t);
  const evening = (await aroundMidnight()).flatMap(({ files }) => files);
  const may_10 = Date.parse('2026-05-10T00:00:00Z');
  await pass(root, [...evening, ...(await scansAfter(t, may_10 - MS_PER_DAY))], may_10);
  await holdsOnly(t, root, ['2026-05-02', '2026-05-09']);
  await pass(root, await scansAfter(t, may_10), may_10 + MS_PER_DAY);
  await holdsOnly(t, root, ['2026-05-09', '2026-05-10']);
  const june_20 = Date.parse('2026-06-20T00:00:00Z');
  await pass(root, await scansAfter(t, june_20), june_20 + MS_PER_DAY);
  await holdsOnly(t, root, ['2026-06-20']);
  t.deepEqual(
    (await filesBelow(join(root, 'tables'))).filter((path) => path.includes('2026-05')),
    [],
  );
});

test('observed dates, and dates that only a wrong clock calls old, stay', async (t) => {
  const root = await scratch(t);
  const scans = await aroundMidnight();
  const years_ahead_ms = Date.parse('2036-05-01T00:00:00Z');
  await onRoot(root, {}, async ({ root: open, session }) => {
    await session.ingest(scans.flatMap(({ files }) => files));
    await clearOldSimulated(open, KEEP_DATES, years_ahead_ms);
    t.true([...open.heads.values()].every(({ scans }) => scans.count > 0));
  });
  const observed = await scratch(t, 'observed');
  await onRoot(observed, {}, async ({ root: open, session }) => {
    await session.ingest((await asObserved(t, scans)).flatMap(({ files }) => files));
    await clearOldSimulated(open, -1, years_ahead_ms);
    t.true([...open.heads.values()].every(({ scans }) => scans.count > 0));
  });
});
