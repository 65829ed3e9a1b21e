import { join } from 'node:path';
import test from 'ava';
import { readFeeds } from '../../pipeline/commands/feeds.ts';
import { readConfig } from '../../pipeline/config.ts';
import { type Engine, openEngine } from '../../pipeline/duckdb.ts';
import { readFeedStates } from '../../pipeline/feeds/schedule.ts';
import { silent } from '../../pipeline/log.ts';
import { readNewest } from '../../pipeline/publish/manifests.ts';
import { readRows } from '../../pipeline/publish/tables.ts';
import type { CollectionName } from '../../schemas/collections.ts';
import { EXIT } from '../../schemas/command-line.ts';
import { layout } from '../../schemas/layout.ts';
import { TABLES } from '../../schemas/tables/index.ts';
import { type Content, sameContent } from '../support/data/content.ts';
import { alertsFile } from '../support/data/feeds.ts';
import { startWebServer } from '../support/data/web-server.ts';
import { copyOf, scratch } from '../support/data/world.ts';
import { environmentOf, faultsOf, killEach, pointsOf } from '../support/kill/killed.ts';

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
async function contentOf(engine: Engine, root: string): Promise<Content> {
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
  const before = await contentOf(engine, prepared);
  for (const [path, page] of Object.entries(AFTER)) server.answers.set(path, page);
  const undisturbed = await copyOf(t, prepared);
  const points = await pointsOf(t, undisturbed, ARGS, { now_ms: NOW, environment }, EXIT.failure);
  const after = await contentOf(engine, undisturbed);
  const states = await readFeedStates(undisturbed);
  for (const name of COLLECTIONS) t.not(partOf(after, name), partOf(before, name));
  const tried = pointsToTry(points);
  t.log(`${tried.length} of ${points.length} points`);
  t.true(tried.length >= 15);
  const seen = new Set<string>();
  const killing = { prepared, args: ARGS, points, settings: { now_ms: NOW, environment } };
  await killEach(t, killing, tried, async (root, what) => {
    t.deepEqual(await faultsOf(root), [], what);
    const found = await contentOf(engine, root);
    for (const name of COLLECTIONS) {
      const isAfter = partOf(found, name) === partOf(after, name);
      t.is(partOf(found, name), partOf(isAfter ? after : before, name), what);
      seen.add(`${name} ${isAfter ? 'after' : 'before'}`);
    }
    const { failed } = await pollAll(root, environment);
    t.deepEqual(
      failed.map(({ feed }) => feed),
      ['lsr'],
      what,
    );
    sameContent(t, await contentOf(engine, root), after);
    t.deepEqual(await readFeedStates(root), states, what);
  });
  t.deepEqual([...seen].sort(), ['reports after', 'reports before', 'warnings after', 'warnings before']);
});
