import { mkdirSync, mkdtempSync, rmSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { readConfig } from '../../../pipeline/config.ts';
import { NotFound } from '../../../pipeline/error.ts';
import { silent } from '../../../pipeline/log.ts';
import { readNewest } from '../../../pipeline/publish/manifests.ts';
import { ingestFeedFolder } from '../../../pipeline/run/folder-feeds.ts';
import { writeEvening } from '../../../pipeline/simulate/evening.ts';
import { layout } from '../../../schemas/layout.ts';
import { WSR88D } from '../../../schemas/reference/wsr88d.ts';
import { alertsFile } from '../../support/data/feeds.ts';

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
  const { files, changed } = await ingestFeedFolder(config, folder, silent);
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
    const { files, changed, failed } = await ingestFeedFolder(config, folder, silent);
    t.deepEqual([changed, failed], [['reports'], []]);
    const refused = files.filter((file) => file.refused !== null);
    t.deepEqual(
      refused.map((file) => [file.name, file.collection]),
      [[basename(name), 'forecast']],
    );
    t.regex(refused[0]?.refused ?? '', reason);
  });

test('a model hour of a folder that is larger than any model is refused by its size, unread', async (t) => {
  const { folder, config } = given(t, { ...REPORTS, [FIRST_HOUR]: '' });
  truncateSync(join(folder, FIRST_HOUR), 2 ** 30 + 1);
  const { files, changed } = await ingestFeedFolder(config, folder, silent);
  t.deepEqual(changed, ['reports']);
  const refused = files.find(({ name }) => name === basename(FIRST_HOUR))?.refused ?? '';
  t.is(refused, '1073741825 bytes in an hour, expected at most 1073741824');
});

test('kept items that were damaged fail the files of their collection in a folder, and no others', async (t) => {
  const { folder, config } = given(t, REPORTS);
  await ingestFeedFolder(config, folder, silent);
  const manifest = await readNewest(config.data_root, layout.collectionPartition('reports'));
  const state = manifest?.files.find(({ kind }) => kind === 'state')?.path ?? '';
  writeFileSync(join(config.data_root, state), 'not gzip');
  writeFileSync(join(folder, '260501_rpts_hail.csv'), `${LIST}2010,200,2 N NORMAN,CLEVELAND,OK,35.20,-97.40,HAIL.\n`);
  const warning = { id: 'urn:a', sent: '2026-05-01T22:00:00Z', ends: '2026-05-01T23:30:00Z' };
  writeFileSync(join(folder, 'alerts.json'), alertsFile(0, warning).bytes);
  const { failed } = await ingestFeedFolder(config, folder, silent);
  t.is(failed.length, 1);
  t.regex(failed[0]?.reason ?? '', /state\/.*is damaged/);
  const taken = await readNewest(config.data_root, layout.collectionPartition('warnings'));
  t.is(taken?.files.find(({ kind }) => kind === 'table')?.rows, 1);
});

test('radar files beside those of the feeds are no business of theirs: none is named, and alone they are no folder of feeds', async (t) => {
  const radar = { 'CONUS/MESH_00.50/20260501/MRMS_MESH_00.50_20260501-200000.grib2.gz': 'x' };
  const { folder, config } = given(t, { ...REPORTS, ...radar });
  const { files, changed } = await ingestFeedFolder(config, folder, silent);
  t.deepEqual([changed, files.map(({ name }) => name)], [['reports'], ['260501_rpts_hail.csv']]);
  const alone = given(t, radar);
  await t.throwsAsync(ingestFeedFolder(alone.config, alone.folder, silent), {
    instanceOf: NotFound,
    message: /holds 1 radar files only, expected files of feeds/,
  });
});

test('what a folder does not give costs itself only, by name', async (t) => {
  const { folder, config } = given(t, REPORTS);
  symlinkSync('circle.json', join(folder, 'circle.json'));
  symlinkSync(folder, join(folder, 'folder.json'));
  const { files, changed } = await ingestFeedFolder(config, folder, silent);
  t.deepEqual(changed, ['reports']);
  const refused = files.flatMap(({ name, refused: reason }) => (reason === null ? [] : [`${name} ${reason}`]));
  t.deepEqual(refused.sort(), ['circle.json cannot be read (ELOOP)', 'folder.json is no file, expected one of a feed']);
});

test('a folder that is not there is not found', async (t) => {
  const { folder, config } = given(t, REPORTS);
  await t.throwsAsync(ingestFeedFolder(config, join(folder, 'nowhere'), silent), {
    instanceOf: NotFound,
    message: /nowhere: is not there, expected a folder/,
  });
});

test('of an evening of the simulator every file of a feed is used, and nothing else is named', async (t) => {
  const { folder, config } = given(t, {});
  const span = { from_ms: config.now() - 4 * 60_000, to_ms: config.now() };
  const scenario = {
    seed: 1,
    window: { row0: 1900, col0: 3200, rows: 60, cols: 60 },
    day_type: 'outbreak',
    steady: true,
    sites: WSR88D,
  } as const;
  for await (const _ of writeEvening(scenario, { ...span, out: folder, truth: true }));
  const { files, failed } = await ingestFeedFolder(config, folder, silent);
  t.true(files.length > 10);
  t.deepEqual([files.filter(({ refused, set_aside }) => refused !== null || set_aside.length > 0), failed], [[], []]);
});
