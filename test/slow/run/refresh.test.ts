import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import fs from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { readFeeds } from '../../../pipeline/commands/feeds.ts';
import { readConfig } from '../../../pipeline/config.ts';
import { NotFound } from '../../../pipeline/error.ts';
import { startSchedule } from '../../../pipeline/feeds/schedule.ts';
import { publishForecast, refreshForecast } from '../../../pipeline/forecast/publish-forecast.ts';
import { openLog, silent } from '../../../pipeline/log.ts';
import { readHead, readNewest } from '../../../pipeline/publish/manifests.ts';
import { openRoot } from '../../../pipeline/publish/open-root.ts';
import { publishUndated } from '../../../pipeline/publish/undated.ts';
import { writeFeeds, writeScans } from '../../../pipeline/simulate/evening.ts';
import { layout } from '../../../schemas/layout.ts';
import { WSR88D } from '../../../schemas/reference/wsr88d.ts';
import { climatology } from '../../../schemas/tables/derived.ts';
import { forecast } from '../../../schemas/tables/forecast.ts';
import { MS_PER_HOUR, timestamp } from '../../../schemas/time.ts';
import { climatologyRow, publishClimatologyRows } from '../../support/data/climatology.ts';
import { alertsFile, layerFile, publishFeeds, ringOf } from '../../support/data/feeds.ts';
import {
  forecastRows,
  publishForecast as publishForecastRows,
  publishStormyHours,
} from '../../support/data/model-rows.ts';
import { copyFolder, prepared } from '../../support/data/prepared.ts';
import { publishBlockage, RING_OF_KTLX } from '../../support/data/terrain.ts';
import { NOW_MS, onRoot, scratch } from '../../support/data/world.ts';
import { faultsOf } from '../../support/kill/killed.ts';

const LIST = 'Time,Size,Location,County,State,Lat,Lon,Comments\n';

/** A folder of files by their names, and settings of an empty data root. */
function given(t: ExecutionContext, files: Readonly<Record<string, string | Uint8Array>>) {
  const folder = mkdtempSync(join(tmpdir(), 'hail-feed-folder-'));
  const data = mkdtempSync(join(tmpdir(), 'hail-feed-root-'));
  t.teardown(() => [folder, data].map((path) => rmSync(path, { recursive: true })));
  for (const [name, content] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), content);
  }
  return { folder, config: readConfig({ HAIL_DATA: data, HAIL_NOW: '2026-05-01T23:00:00Z' }) };
}

const REPORTS = { '260501_rpts_hail.csv': `${LIST}2010,175,2 N NORMAN,CLEVELAND,OK,35.20,-97.40,HAIL.\n` };

test('a file of a folder that is too large is refused by its size, unread, and costs itself only', async (t) => {
  const { folder, config } = given(t, { ...REPORTS, 'alerts.json': '' });
  truncateSync(join(folder, 'alerts.json'), 65 * 1024 * 1024);
  const { files, changed } = await readFeeds(config, { from: folder }, silent);
  t.deepEqual(changed, ['reports']);
  const refused = files.find(({ name }) => name === 'alerts.json')?.refused ?? '';
  t.is(refused, '68157440 bytes, expected at most 67108864');
});

const FIRST_HOUR = 'hrrr.20260501/conus/hrrr.t22z.wrfsfcf01.grib2';

for (const [what, name, reason] of [
  ['of which a part is missing', 'rrfs.20260501/22/rrfs.t22z.2dfld.3km.f001.conus.grib2', /another is missing/],
  ['that is no GRIB', FIRST_HOUR, /GRIB/],
] as const)
  test(`a model hour of a folder ${what} is refused with its reason and costs itself only`, async (t) => {
    const { folder, config } = given(t, { ...REPORTS, [name]: '<html>busy</html>' });
    const { files, changed, failed } = await readFeeds(config, { from: folder }, silent);
    t.deepEqual([changed, failed], [['reports'], []]);
    const refused = files.filter((file) => file.refused !== null);
    const named = refused.map((file) => [file.name, file.collection]);
    t.deepEqual(named, [[basename(name), 'forecast']]);
    t.regex(refused[0]?.refused ?? '', reason);
  });

test('a model hour of a folder that is larger than any model is refused by its size, unread', async (t) => {
  const { folder, config } = given(t, { ...REPORTS, [FIRST_HOUR]: '' });
  truncateSync(join(folder, FIRST_HOUR), 2 ** 30 + 1);
  const { files, changed } = await readFeeds(config, { from: folder }, silent);
  t.deepEqual(changed, ['reports']);
  const refused = files.find(({ name }) => name === basename(FIRST_HOUR))?.refused ?? '';
  t.is(refused, '1073741825 bytes in an hour, expected at most 1073741824');
});

test('a published file that is damaged fails the files of its collection in a folder, and no others', async (t) => {
  const { folder, config } = given(t, REPORTS);
  await readFeeds(config, { from: folder }, silent);
  const manifest = await readNewest(config.data_root, layout.collectionPartition('reports'));
  const path = manifest?.files.find(({ segment }) => segment === '2026-05')?.path ?? '';
  writeFileSync(join(config.data_root, path), 'no Parquet');
  writeFileSync(join(folder, '260501_rpts_hail.csv'), `${LIST}2010,200,2 N NORMAN,CLEVELAND,OK,35.20,-97.40,HAIL.\n`);
  const warning = { id: 'urn:a', sent: '2026-05-01T22:00:00Z', ends: '2026-05-01T23:30:00Z' };
  writeFileSync(join(folder, 'alerts.json'), alertsFile(0, warning).bytes);
  const { failed } = await readFeeds(config, { from: folder }, silent);
  t.is(failed.length, 1);
  t.regex(failed[0]?.reason ?? '', /ground-reports\/.*cannot be read/);
  const taken = await readNewest(config.data_root, layout.collectionPartition('warnings'));
  t.is(taken?.files.find(({ kind }) => kind === 'table')?.rows, 1);
});

test('radar files beside those of the feeds are no business of theirs: none is named, and alone they are no folder of feeds', async (t) => {
  const radar = { 'CONUS/MESH_00.50/20260501/MRMS_MESH_00.50_20260501-200000.grib2.gz': 'x' };
  const { folder, config } = given(t, { ...REPORTS, ...radar });
  const { files, changed } = await readFeeds(config, { from: folder }, silent);
  t.deepEqual([changed, files.map(({ name }) => name)], [['reports'], ['260501_rpts_hail.csv']]);
  const alone = given(t, radar);
  await t.throwsAsync(readFeeds(alone.config, { from: alone.folder }, silent), {
    instanceOf: NotFound,
    message: /holds 1 radar files only, expected files of feeds/,
  });
});

test('what a folder does not give costs itself only, by name', async (t) => {
  const { folder, config } = given(t, REPORTS);
  symlinkSync('circle.json', join(folder, 'circle.json'));
  symlinkSync(folder, join(folder, 'folder.json'));
  const { files, changed } = await readFeeds(config, { from: folder }, silent);
  t.deepEqual(changed, ['reports']);
  const refused = files.flatMap(({ name, refused: reason }) => (reason === null ? [] : [`${name} ${reason}`]));
  t.deepEqual(refused.sort(), ['circle.json cannot be read (ELOOP)', 'folder.json is no file, expected one of a feed']);
});

test('a folder that is not there is not found', async (t) => {
  const { folder, config } = given(t, REPORTS);
  await t.throwsAsync(readFeeds(config, { from: join(folder, 'nowhere') }, silent), {
    instanceOf: NotFound,
    message: /nowhere: is not there, expected a folder/,
  });
});

test('of an evening of the simulator every file of a feed is used, and nothing else is named', async (t) => {
  const { folder, config } = given(t, {});
  const span = { from_ms: config.now() - 4 * 60_000, to_ms: config.now(), out: folder };
  const scenario = {
    seed: 1,
    window: { row0: 1900, col0: 3200, rows: 60, cols: 60 },
    day_type: 'outbreak',
    steady: true,
    sites: WSR88D,
  } as const;
  for await (const _ of writeScans(scenario, span));
  await writeFeeds(scenario, span);
  const { files, failed } = await readFeeds(config, { from: folder }, silent);
  t.true(files.length > 10);
  t.deepEqual([files.filter(({ refused, set_aside }) => refused !== null || set_aside.length > 0), failed], [[], []]);
});

const PARTITION = layout.collectionPartition('outlook');
const OKLAHOMA = ringOf([-99, 34, -96, 37]);

/** The hail layer of day 1, as issued at `HHMM` of 1 May 2026. */
const hailLayer = (hhmm: string, label: string) =>
  layerFile({
    ...{ day: 1, word: 'hail', issue: `20260501${hhmm}`, valid: `20260501${hhmm}`, expire: '202605021200' },
    ...{ areas: [[label, OKLAHOMA]], received_ms: NOW_MS },
  });

const takeOutlook = (path: string, hhmm: string, label: string) => publishFeeds(path, [hailLayer(hhmm, label)], NOW_MS);

const makeOutlook = (path: string) => onRoot(path, {}, ({ root }) => publishForecast(root, NOW_MS, silent));
const refresh = async (path: string) => {
  const { changed, failed } = await onRoot(path, {}, ({ root }) => refreshForecast(root, NOW_MS, silent));
  return { changed, failed };
};

const LAST_HOUR_MS = Math.floor(NOW_MS / MS_PER_HOUR) * MS_PER_HOUR;

/** A copy of a data root whose outlook follows from one outlook of the Storm Prediction Center and the climatology. */
async function withOutlook(t: ExecutionContext): Promise<string> {
  const path = await scratch(t);
  const made = await prepared(`outlook-${NOW_MS}`, async (folder) => {
    await publishClimatologyRows(folder, [climatologyRow()]);
    await takeOutlook(folder, '1630', '0.15');
    await makeOutlook(folder);
  });
  copyFolder(made, path);
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
  t.deepEqual((await readFeeds(config, { from: folder }, silent)).changed, ['reports', 'outlook']);
  t.deepEqual(await faultsOf(path), []);
});

for (const [input, change] of [
  ['spc-outlooks', (path: string) => takeOutlook(path, '2000', '0.30')],
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

/** Lets the published outlook state that it was made from the published forecast. */
async function claimMadeTogether(path: string): Promise<void> {
  const commit = (await readHead(path, layout.collectionPartition('forecast')))?.table_commits[forecast.name];
  const head = await readHead(path, PARTITION);
  for (const file of [layout.head(PARTITION), layout.manifest(PARTITION, head?.commit ?? 0)]) {
    const content = JSON.parse(readFileSync(join(path, file), 'utf8'));
    content.made_from.outlook.forecast = commit;
    writeFileSync(join(path, file), JSON.stringify(content));
  }
}

test('hours that contradict their day are found by verify, with the cell and the day', async (t) => {
  const path = await withOutlook(t);
  const rows = forecastRows({ geohash4: '9y68', hail_probability: 0.312 }, '2026-05-02T00:00:00Z', 24);
  await publishForecastRows(path, rows, NOW_MS);
  await claimMadeTogether(path);
  const [fault = '', ...others] = await faultsOf(path);
  t.regex(fault, /[12] days of cells are less likely than one of their hours, .*9y68 on 2026-05-01 first/);
  t.deepEqual(others, []);
});

test('hours and days made again from the same inputs are the same, whatever was published between', async (t) => {
  const path = await withOutlook(t);
  t.deepEqual(await publishStormyHours(path, LAST_HOUR_MS), ['forecast', 'outlook']);
  const filesOf = async () => {
    const lists = await Promise.all(
      ['forecast', 'outlook'].map((name) => readNewest(path, layout.collectionPartition(name as 'forecast'))),
    );
    return lists.map((list) => list?.files.map(({ sha256 }) => sha256));
  };
  const made = await filesOf();
  await takeOutlook(path, '2000', '0.02');
  t.deepEqual((await refresh(path)).changed, ['forecast', 'outlook'], 'hours are shifted to agree with the day');
  t.deepEqual(await faultsOf(path), []);
  await takeOutlook(path, '2005', '0.15');
  await refresh(path);
  t.deepEqual(await filesOf(), made);
  t.deepEqual(await faultsOf(path), []);
});

test('a climatology that was made before a terrain model was worked in is named as outdated', async (t) => {
  const path = await scratch(t);
  const made_from = { blockage: 0 };
  await onRoot(path, {}, async ({ root }) => {
    const segment = { segment: climatology.name, table: climatology, rows: [climatologyRow()], made_from };
    await publishUndated(root, [{ name: 'static', segments: [{ ...segment, provenance: 'observed' }] }], NOW_MS);
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
    refresh: refreshForecast,
  });
  await schedule.workOff(root);
  stop.abort();
  t.deepEqual(await faultsOf(path), []);
});

test('a forecast whose hours are all over has no part in the outlook, and stops nothing', async (t) => {
  const path = await withOutlook(t);
  t.deepEqual(await publishStormyHours(path, LAST_HOUR_MS - 30 * MS_PER_HOUR), ['forecast']);
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
