import fs from 'node:fs/promises';
import { join } from 'node:path';
import test from 'ava';
import { filesBelow } from '../../../pipeline/files.ts';
import { readCurrent, readNewest } from '../../../pipeline/publish/manifests.ts';
import { READERS_GRACE_MIN, sweep } from '../../../pipeline/publish/sweep.ts';
import { MS_PER_HOUR } from '../../../schemas/time.ts';
import { logicalContent, sameContent } from '../../support/data/content.ts';
import { scansBetween } from '../../support/data/small-world.ts';
import { ingest, onRoot, scratch } from '../../support/data/world.ts';
import { faultsOf } from '../../support/kill/killed.ts';

const DATE = '2026-05-02';

/** A root whose every file is three hours old, and a clock that says so. */
async function agedRoot(t: Parameters<typeof scratch>[0]) {
  const root = await scratch(t);
  const scans = await scansBetween('00:00', '00:09');
  await onRoot(root, { each_scan: true }, async ({ session }) => {
    for (const scan of scans) await session.ingest(scan.files);
    await session.finishDates();
    await session.rebuild(DATE);
    await session.finishDates();
  });
  const now_ms = Date.parse('2026-05-03T00:00:00Z');
  await age(root, now_ms - 3 * MS_PER_HOUR);
  return { root, scans, now_ms };
}

async function age(root: string, time_ms: number): Promise<void> {
  for (const name of await filesBelow(root)) await fs.utimes(join(root, name), time_ms / 1000, time_ms / 1000);
}

test('deletes what no manifest in use names, once it is older than the grace', async (t) => {
  const { root, now_ms } = await agedRoot(t);
  const content = await logicalContent(root);
  const early = await sweep(root, now_ms - 3 * MS_PER_HOUR + READERS_GRACE_MIN * 60_000 - 1);
  t.is(early.files, 0);
  const swept = await sweep(root, now_ms);
  t.true(swept.files > 10);
  t.true(swept.bytes > 0);
  const head = await readNewest(root, DATE);
  const current = await readCurrent(root);
  const data = (await filesBelow(root)).filter((name) => /^(tables|tiles|state|live)\//.test(name));
  const wanted = [
    ...(head?.files ?? []).map((file) => file.path),
    ...Object.values(current?.live ?? {}).filter((name) => name.includes('/')),
  ];
  t.deepEqual(data, wanted.sort());
  t.deepEqual((await filesBelow(join(root, 'manifests', DATE))).sort(), [
    `${String(head?.commit).padStart(6, '0')}.json`,
    'head.json',
  ]);
  sameContent(t, await logicalContent(root), content);
  t.deepEqual(await faultsOf(root), []);
  t.is((await sweep(root, now_ms)).files, 0);
});

test('keeps what was replaced only just now: a request may still read it', async (t) => {
  const { root, scans, now_ms } = await agedRoot(t);
  const before = await readNewest(root, DATE);
  await onRoot(root, {}, ({ session }) => session.rebuild(DATE));
  t.true(scans.length > 0);
  await age(join(root, 'tables'), now_ms - 3 * MS_PER_HOUR);
  await sweep(root, Date.now());
  for (const file of before?.files ?? []) await t.notThrowsAsync(fs.stat(join(root, file.path)), file.path);
});

test('keeps what the head names when a killed commit left a newer manifest behind', async (t) => {
  const { root, now_ms } = await agedRoot(t);
  const head = await readNewest(root, DATE);
  const litter = join(root, 'manifests', DATE, `${String((head?.commit ?? 0) + 1).padStart(6, '0')}.json`);
  await fs.writeFile(litter, '{"manifest_version":1,"part');
  await age(root, now_ms - 3 * MS_PER_HOUR);
  const content = await logicalContent(root);
  await sweep(root, now_ms);
  t.deepEqual(await faultsOf(root), []);
  sameContent(t, await logicalContent(root), content);
  await t.throwsAsync(fs.stat(litter));
});

test('leaves raw files, what was put aside and the records of others alone', async (t) => {
  const { root, scans, now_ms } = await agedRoot(t);
  await fs.mkdir(join(root, 'records'));
  await fs.writeFile(join(root, 'records', 'hail.sqlite'), 'x');
  await age(root, now_ms - 3 * MS_PER_HOUR);
  const raw = await filesBelow(join(root, 'archive'));
  await sweep(root, now_ms);
  t.is(raw.length, scans.flatMap((scan) => scan.files).length);
  t.deepEqual(await filesBelow(join(root, 'archive')), raw);
  t.deepEqual(await filesBelow(join(root, 'records')), ['hail.sqlite']);
});

test('staging of a dead run is removed by the next one', async (t) => {
  const root = await scratch(t);
  await fs.mkdir(join(root, 'staging', 'dead', 'deeper'), { recursive: true });
  await fs.writeFile(join(root, 'staging', 'dead', 'cells.parquet'), 'half');
  await ingest(root, []);
  t.deepEqual(await fs.readdir(join(root, 'staging')), []);
});
