import { readFileSync, writeFileSync } from 'node:fs';
import fs from 'node:fs/promises';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { readConfig } from '../../../pipeline/config.ts';
import { startSchedule } from '../../../pipeline/feeds/schedule.ts';
import { openLog, silent } from '../../../pipeline/log.ts';
import { publishOutlook } from '../../../pipeline/model-runs/publish-outlook.ts';
import { readHead, readNewest } from '../../../pipeline/publish/manifests.ts';
import { openRoot } from '../../../pipeline/publish/root.ts';
import { ingestFeedFolder } from '../../../pipeline/run/folder-feeds.ts';
import { refreshDerived } from '../../../pipeline/run/refresh-derived.ts';
import { layout } from '../../../schemas/layout.ts';
import { climatology } from '../../../schemas/tables/climatology.ts';
import { outlook } from '../../../schemas/tables/outlook.ts';
import { timestamp } from '../../../schemas/time.ts';
import { climatologyRow, publishClimatologyRows } from '../../support/data/climatology.ts';
import { layerFile, publishFeeds, ringOf } from '../../support/data/feeds.ts';
import { forecastRows, publishForecast } from '../../support/data/model-rows.ts';
import { publishBlockage, RING_OF_KTLX } from '../../support/data/terrain.ts';
import { NOW_MS, onRoot, scratch } from '../../support/data/world.ts';
import { faultsOf } from '../../support/kill/killed.ts';

const PARTITION = layout.collectionPartition('outlook');
const OKLAHOMA = ringOf([-99, 34, -96, 37]);

/** The hail layer of day 1, as issued at `HHMM` of 1 May 2026. */
const hailLayer = (hhmm: string, label: string) =>
  layerFile({
    ...{ day: 1, word: 'hail', issue: `20260501${hhmm}`, valid: `20260501${hhmm}`, expire: '202605021200' },
    ...{ areas: [[label, OKLAHOMA]], received_ms: NOW_MS },
  });

const takeOutlook = (path: string, hhmm: string, label: string) => publishFeeds(path, [hailLayer(hhmm, label)], NOW_MS);

const makeOutlook = (path: string) => onRoot(path, {}, ({ root }) => publishOutlook(root, NOW_MS));
const refresh = (path: string) => onRoot(path, {}, ({ root }) => refreshDerived(root, NOW_MS, silent));

/** A data root whose outlook follows from one outlook of the Storm Prediction Center and the climatology. */
async function withOutlook(t: ExecutionContext): Promise<string> {
  const path = await scratch(t);
  await publishClimatologyRows(path, [climatologyRow()]);
  await takeOutlook(path, '1630', '0.15');
  await makeOutlook(path);
  t.deepEqual(await faultsOf(path), []);
  return path;
}

test('an outlook that was never made after its first input was published is found by verify and made by the next run', async (t) => {
  const path = await scratch(t);
  await takeOutlook(path, '1630', '0.15');
  t.deepEqual(await faultsOf(path), [
    `${layout.head(PARTITION)}: has no table outlook, expected it made from spc-outlooks`,
  ]);
  const folder = await scratch(t, 'feeds');
  await fs.mkdir(folder, { recursive: true });
  await fs.writeFile(join(folder, '260501_rpts_hail.csv'), 'Time,Size,Location,County,State,Lat,Lon,Comments\n');
  const config = readConfig({ HAIL_DATA: path, HAIL_NOW: timestamp(NOW_MS) });
  t.deepEqual((await ingestFeedFolder(config, folder, silent)).changed, ['reports', 'outlook']);
  t.deepEqual(await faultsOf(path), []);
});

for (const [input, change] of [
  ['spc-outlooks', (path: string) => takeOutlook(path, '2000', '0.30')],
  [
    'forecast',
    (path: string) => publishForecast(path, forecastRows({ geohash4: '9y68' }, '2026-05-02T00:00:00Z', 24), NOW_MS),
  ],
  [
    'climatology',
    (path: string) => publishClimatologyRows(path, [climatologyRow({ annual_severe: 0.4, severe_05: 0.2 })]),
  ],
] as const)
  test(`an outlook is outdated once ${input} is newer than what it was made from: verify says so, and the next run makes it again, once`, async (t) => {
    const path = await withOutlook(t);
    await change(path);
    const [fault = '', ...others] = await faultsOf(path);
    t.regex(fault, new RegExp(`table outlook was made from commit \\d of ${input}, expected \\d`));
    t.deepEqual(others, []);
    t.deepEqual(await refresh(path), { changed: ['outlook'], failed: [] });
    t.deepEqual(await faultsOf(path), []);
    const made = await readHead(path, PARTITION);
    t.deepEqual(await refresh(path), { changed: [], failed: [] });
    t.is((await readHead(path, PARTITION))?.commit, made?.commit);
  });

test('inputs that changed without a change of the outlook give it new versions only: neither its rows nor its age change', async (t) => {
  const path = await withOutlook(t);
  const before = await readNewest(path, PARTITION);
  // An outlook of a day that is over has no part in the blend.
  const over = { ...hailLayer('1630', '0.15'), received_ms: NOW_MS };
  const text = Buffer.from(over.bytes).toString().replaceAll('20260501', '20260420').replaceAll('20260502', '20260421');
  await publishFeeds(path, [{ ...over, bytes: Buffer.from(text) }], NOW_MS);
  t.is((await faultsOf(path)).length, 1);
  t.deepEqual(await refresh(path), { changed: [], failed: [] });
  t.deepEqual(await faultsOf(path), []);
  const after = await readNewest(path, PARTITION);
  t.deepEqual(after?.files, before?.files);
  t.deepEqual(after?.table_commits, before?.table_commits);
  t.is(after?.ingested_at, before?.committed_at);
});

test('a list of an earlier version, which does not say what its table was made from, is no fault and is made again once', async (t) => {
  const path = await withOutlook(t);
  const head = await readHead(path, PARTITION);
  for (const file of [layout.head(PARTITION), layout.manifest(PARTITION, head?.commit ?? 0)]) {
    const { made_from, ...earlier } = JSON.parse(readFileSync(join(path, file), 'utf8'));
    t.truthy(made_from);
    writeFileSync(join(path, file), JSON.stringify(earlier));
  }
  t.deepEqual(await faultsOf(path), []);
  await refresh(path);
  t.deepEqual(Object.keys((await readHead(path, PARTITION))?.made_from?.[outlook.name] ?? {}).sort(), [
    'climatology',
    'forecast',
    'spc-outlooks',
  ]);
  const commit = (await readHead(path, PARTITION))?.commit;
  await refresh(path);
  t.is((await readHead(path, PARTITION))?.commit, commit);
});

test('a climatology that was made before a terrain model was worked in is named as outdated', async (t) => {
  const path = await scratch(t);
  const made_from = { blockage: 0 };
  await onRoot(path, {}, async ({ root }) => {
    await root.publishUndated(
      'static',
      [{ segment: climatology.name, table: climatology, rows: [climatologyRow()], provenance: 'observed', made_from }],
      NOW_MS,
    );
  });
  t.deepEqual(await faultsOf(path), []);
  await publishBlockage(path, RING_OF_KTLX);
  t.regex((await faultsOf(path)).join(), /table climatology was made from commit 0 of blockage, expected 2/);
});

test('a stream whose feeds bring nothing makes what an earlier run left undone, before anything arrives', async (t) => {
  const path = await scratch(t);
  await takeOutlook(path, '1630', '0.15');
  const root = await openRoot(path, 'test', 0, NOW_MS);
  t.teardown(() => root.close());
  const stop = new AbortController();
  const schedule = startSchedule({
    feeds: [],
    now: () => NOW_MS,
    log: openLog('silent', false),
    signal: stop.signal,
    refreshDerived,
  });
  await schedule.workOff(root);
  stop.abort();
  t.deepEqual(await faultsOf(path), []);
});

test('a forecast whose hours are all over has no part in the outlook, and stops nothing', async (t) => {
  const path = await withOutlook(t);
  await publishForecast(path, [], NOW_MS);
  t.deepEqual(await refresh(path), { changed: [], failed: [] });
  t.deepEqual(await faultsOf(path), []);
});

test('a table that cannot be made is named with the reason, and stays as it is', async (t) => {
  const path = await withOutlook(t);
  await takeOutlook(path, '2000', '0.30');
  const before = await readHead(path, PARTITION);
  const lost = (await readHead(path, layout.collectionPartition('outlooks')))?.files[0]?.path ?? '';
  await fs.rm(join(path, lost));
  const { changed, failed } = await refresh(path);
  t.deepEqual([changed, failed.map(({ table }) => table)], [[], ['outlook']]);
  t.deepEqual(await readHead(path, PARTITION), before);
});
