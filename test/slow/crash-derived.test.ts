import fs from 'node:fs/promises';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { openCatalog } from '../../api/published/catalog.ts';
import { readFeeds } from '../../pipeline/commands/feeds.ts';
import { readConfig } from '../../pipeline/config.ts';
import { type Engine, openEngine } from '../../pipeline/duckdb.ts';
import { readFeedStates } from '../../pipeline/feeds/schedule.ts';
import { silent } from '../../pipeline/log.ts';
import { readManifest, readNewest } from '../../pipeline/publish/manifests.ts';
import { readRows } from '../../pipeline/publish/tables.ts';
import type { CollectionName } from '../../schemas/collections.ts';
import { EXIT } from '../../schemas/command-line.ts';
import { layout } from '../../schemas/layout.ts';
import { TABLES } from '../../schemas/tables/index.ts';
import { type Content, sameContent } from '../support/data/content.ts';
import { alertsFile, layerFile, ringOf } from '../support/data/feeds.ts';
import { publishStormyHours } from '../support/data/model-rows.ts';
import { startWebServer } from '../support/data/web-server.ts';
import { copyOf, NOW_MS, scratch } from '../support/data/world.ts';
import { command, environmentOf, faultsOf, killEach, pointsOf } from '../support/kill/killed.ts';

/** A folder with one file, written at the time of the data clock. */
async function folderOf(t: ExecutionContext, name: string, content: Uint8Array | string): Promise<string> {
  const folder = await scratch(t, 'feeds');
  await fs.mkdir(folder, { recursive: true });
  await fs.writeFile(join(folder, name), content);
  await fs.utimes(join(folder, name), NOW_MS / 1000, NOW_MS / 1000);
  return folder;
}

/** A folder with the hail layer of day 1, as issued at `HHMM` of 1 May 2026. */
function outlookFolder(t: ExecutionContext, hhmm: string, label: string): Promise<string> {
  const { name, bytes } = layerFile({
    ...{ day: 1, word: 'hail', issue: `20260501${hhmm}`, valid: `20260501${hhmm}`, expire: '202605021200' },
    ...{ areas: [[label, ringOf([-99, 34, -96, 37])]], received_ms: NOW_MS },
  });
  return folderOf(t, name, bytes);
}

/** Hashes of the published files of a collection: what readers find. */
async function contentOf(root: string, name: CollectionName): Promise<string> {
  const manifest = await readNewest(root, layout.collectionPartition(name));
  return (manifest?.files ?? []).map(({ sha256 }) => sha256).join();
}

for (const [what, hasEarlier] of [
  ['the first outlook', false],
  ['an outlook after others', true],
] as const)
  test(`feeds killed between the commits of ${what} and of the seven days made from it: verify names it, and a run over other files makes it`, async (t) => {
    const prepared = await scratch(t, 'prepared');
    const before = hasEarlier ? await outlookFolder(t, '1630', '0.15') : await folderOf(t, 'readme.docx', 'x');
    await command(prepared, ['feeds', '--from', before]);
    const args = ['feeds', '--from', await outlookFolder(t, '2000', '0.30')];
    const undisturbed = await copyOf(t, prepared);
    const points = await pointsOf(t, undisturbed, args);
    const [spcBefore, spcAfter] = [await contentOf(prepared, 'outlooks'), await contentOf(undisturbed, 'outlooks')];
    const expected = await contentOf(undisturbed, 'outlook');
    t.not(spcBefore, spcAfter);
    t.not(await contentOf(prepared, 'outlook'), expected);
    const reports = await folderOf(t, '260501_rpts_hail.csv', 'Time,Size,Location,County,State,Lat,Lon,Comments\n');
    // Every step of both commits: files, numbered lists and heads are put in place by rename.
    const tried = points.flatMap((what, index) => (/rename .*collection.outlook/.test(what) ? [index + 1] : []));
    tried.push(Math.max(...tried) + 1);
    t.true(tried.length >= 6, points.join('\n'));
    let between = 0;
    await killEach(t, { prepared, args, points }, tried, async (root, where) => {
      const isBetween =
        (await contentOf(root, 'outlooks')) === spcAfter && (await contentOf(root, 'outlook')) !== expected;
      const faults = await faultsOf(root);
      t.is(faults.length, isBetween ? 1 : 0, `${where} ${faults}`);
      if (isBetween) t.regex(faults[0] ?? '', /table outlook, expected it made from spc-outlooks|of spc-outlooks/);
      const verified = await command(root, ['verify']);
      t.is(verified.code, isBetween ? 5 : 0, where);
      const next = await command(root, ['feeds', '--from', reports]);
      t.is(next.code, 0, next.stderr);
      t.deepEqual(await faultsOf(root), [], where);
      if ((await contentOf(root, 'outlooks')) === spcAfter) t.is(await contentOf(root, 'outlook'), expected, where);
      between += isBetween ? 1 : 0;
    });
    t.log(`${tried.length} kills, ${between} of them between the two commits`);
    t.true(between >= 2);
  });

/** Commits of the published hours and days that the service reads on a root, and of the hours that those days were made from. */
async function readPair(root: string) {
  const catalog = await openCatalog(root, 0);
  const [hours, days] = (['forecast', 'outlook'] as const).map((name) => catalog.edition().collection(name)?.version);
  await catalog.close();
  const commit = Number(days?.split(' ').at(-1));
  const made = await readManifest(root, layout.collectionPartition('outlook'), commit);
  return { hours: Number(hours?.split(' ').at(-1)), made_from: made?.made_from?.outlook?.forecast };
}

test('feeds killed in the one commit of days and of the hours shifted to agree with them: the service reads a pair, and the next run finishes it', async (t) => {
  const prepared = await scratch(t, 'prepared');
  await publishStormyHours(prepared, Date.parse('2026-05-01T20:00:00Z'));
  await command(prepared, ['feeds', '--from', await outlookFolder(t, '1630', '0.30')]);
  const args = ['feeds', '--from', await outlookFolder(t, '2000', '0.05')];
  const undisturbed = await copyOf(t, prepared);
  const points = await pointsOf(t, undisturbed, args);
  const contents = async (root: string) => [await contentOf(root, 'forecast'), await contentOf(root, 'outlook')];
  const [before, expected] = [await contents(prepared), await contents(undisturbed)];
  for (const [k, content] of expected.entries()) t.not(content, before[k] ?? '');
  const reports = await folderOf(t, '260501_rpts_hail.csv', 'Time,Size,Location,County,State,Lat,Lon,Comments\n');
  const first = points.findIndex((what) => /rename .*pending/.test(what)) + 1;
  const heads = /rename .*(?:pending|collection-(?:forecast|outlook)\/head)\.json$/;
  const tried = points.flatMap((what, index) => (index + 1 >= first && heads.test(what) ? [index + 1] : []));
  tried.push(Math.max(...tried) + 1);
  let between = 0;
  await killEach(t, { prepared, args, points }, tried, async (root, where) => {
    const found = await contents(root);
    if (found[0] === expected[0] && found[1] === before[1]) between++;
    const { hours, made_from } = await readPair(root);
    t.true(hours === made_from, `${where}: hours ${hours}, days made from ${made_from}`);
    const next = await command(root, ['feeds', '--from', reports]);
    t.is(next.code, 0, next.stderr);
    t.deepEqual(await faultsOf(root), [], where);
    t.deepEqual(await contents(root), expected, where);
  });
  t.log(`${tried.length} kills, ${between} of them between the two heads`);
  t.is(between, 1);
});
/** Just after a turn of the month: items of April decide about rows of May, and the other way round. */
const NOW = Date.parse('2026-05-01T13:30:00Z');
const FEEDS = ['lsr', 'spc-reports', 'warnings'];
const ARGS = ['feeds', '--only', FEEDS.join(',')];
/** What these feeds fill. */
const COLLECTIONS: readonly CollectionName[] = ['reports', 'warnings'];
/** Points apart from those of the commits themselves. */
const SPREAD_POINTS = 7;

const HEAD = 'Time,Size,Location,County,State,Lat,Lon,Comments';
const NORMAN = '2010,175,2 N NORMAN,CLEVELAND,OK,35.20,-97.40,HAIL. (OUN)';
const YUKON = '1140,150,1 S YUKON,CANADIAN,OK,35.50,-97.75,HAIL. (OUN)';
const MOORE = '1240,200,MOORE,CLEVELAND,OK,35.34,-97.49,HAIL. (OUN)';

const FIRST = { id: 'urn:first', sent: '2026-04-30T23:50:00Z', ends: '2026-05-01T13:45:00Z' } as const;
const OTHER = {
  id: 'urn:other',
  sent: '2026-05-01T13:00:00Z',
  ends: '2026-05-01T14:00:00Z',
  event_number: 102,
} as const;
const CHANGED = { id: 'urn:next', sent: '2026-05-01T13:20:00Z', ends: '2026-05-01T14:10:00Z', action: 'CON' } as const;

/** What the servers say at a first poll, and at the next one: a list that lost and got lines, a warning that goes on, a broken page. */
const BEFORE = {
  '/climo/reports/today_filtered_hail.csv': [HEAD, ''].join('\n'),
  '/climo/reports/260430_rpts_filtered_hail.csv': [HEAD, NORMAN, YUKON, ''].join('\n'),
  '/geojson/lsr.geojson': '{"type":"FeatureCollection","features":[]}',
  '/alerts/active': Buffer.from(alertsFile(NOW, FIRST, OTHER).bytes).toString(),
};
const AFTER = {
  '/climo/reports/today_filtered_hail.csv': [HEAD, MOORE, ''].join('\n'),
  '/climo/reports/260430_rpts_filtered_hail.csv': [HEAD, NORMAN.replace('175', '225'), ''].join('\n'),
  '/geojson/lsr.geojson': '<html>Service Unavailable</html>',
  '/alerts/active': Buffer.from(alertsFile(NOW, CHANGED).bytes).toString(),
};

/** Rows of the collections. */
async function contentOfFeeds(engine: Engine, root: string): Promise<Content> {
  const content: Record<string, readonly string[]> = {};
  for (const name of COLLECTIONS) {
    const files = (await readNewest(root, layout.collectionPartition(name)))?.files ?? [];
    for (const { path, segment, table } of files) {
      const definition = TABLES.find((one) => one.name === table);
      const rows = definition === undefined ? [] : await readRows(engine, definition, [join(root, path)]);
      content[`${name} ${segment}`] = rows.map((row) => JSON.stringify(row));
    }
  }
  return content;
}

function partOf(content: Content, name: string): string {
  return JSON.stringify(Object.entries(content).filter(([part]) => part.startsWith(name)));
}

function pollAll(root: string, environment: Readonly<Record<string, string>>): ReturnType<typeof readFeeds> {
  return readFeeds(readConfig(environmentOf(root, { now_ms: NOW, environment })), { only: FEEDS }, silent);
}

/** The steps of every commit, from its first file in place to its head, and points spread over all the rest. */
function pointsToTry(points: readonly string[]): number[] {
  const all = points.map((_, index) => index + 1);
  const steps = all.filter((point) => /rename .*(collection|feeds\.json)/.test(points[point - 1] ?? ''));
  const every = Math.ceil(points.length / SPREAD_POINTS);
  return [...new Set([...steps, ...all.filter((point) => point % every === 0), points.length])].sort((a, b) => a - b);
}

test('a process killed at any step of ingesting files of feeds leaves each collection before or after, and the next poll gives what an undisturbed one gives', async (t) => {
  const server = await startWebServer(t, BEFORE);
  const engine = await openEngine();
  t.teardown(() => engine.close());
  const { url } = server;
  const environment = { HAIL_SPC_URL: url, HAIL_LSR_URL: url, HAIL_NWS_URL: url, HAIL_LOG_LEVEL: 'silent' };
  const prepared = await scratch(t, 'prepared');
  t.deepEqual((await pollAll(prepared, environment)).failed, []);
  const before = await contentOfFeeds(engine, prepared);
  for (const [path, page] of Object.entries(AFTER)) server.answers.set(path, page);
  const undisturbed = await copyOf(t, prepared);
  const points = await pointsOf(t, undisturbed, ARGS, { now_ms: NOW, environment }, EXIT.failure);
  const after = await contentOfFeeds(engine, undisturbed);
  const states = await readFeedStates(undisturbed);
  for (const name of COLLECTIONS) t.not(partOf(after, name), partOf(before, name));
  const tried = pointsToTry(points);
  t.log(`${tried.length} of ${points.length} points`);
  t.true(tried.length >= 15);
  const seen = new Set<string>();
  const killing = { prepared, args: ARGS, points, settings: { now_ms: NOW, environment } };
  await killEach(t, killing, tried, async (root, what) => {
    t.deepEqual(await faultsOf(root), [], what);
    const found = await contentOfFeeds(engine, root);
    for (const name of COLLECTIONS) {
      const isAfter = partOf(found, name) === partOf(after, name);
      t.is(partOf(found, name), partOf(isAfter ? after : before, name), what);
      seen.add(`${name} ${isAfter ? 'after' : 'before'}`);
    }
    const { failed } = await pollAll(root, environment);
    t.is(failed.map(({ feed }) => feed).join(), 'lsr', what);
    sameContent(t, await contentOfFeeds(engine, root), after);
    t.deepEqual(await readFeedStates(root), states, what);
  });
  t.deepEqual([...seen].sort(), ['reports after', 'reports before', 'warnings after', 'warnings before']);
});
