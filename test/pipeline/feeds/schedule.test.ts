import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { DiskRefusal } from '../../../pipeline/error.ts';
import {
  pollFeed,
  publishPoll,
  readFeedStates,
  type Schedule,
  startSchedule,
  waitAfter,
} from '../../../pipeline/feeds/schedule.ts';
import { openWebFeed, WEB_FEEDS, warnings } from '../../../pipeline/feeds/web-feeds.ts';
import { sha256 } from '../../../pipeline/files.ts';
import { outlookFeed, refreshForecast } from '../../../pipeline/forecast/publish-forecast.ts';
import { openLog } from '../../../pipeline/log.ts';
import { readNewest, tablePaths } from '../../../pipeline/publish/manifests.ts';
import { openRoot } from '../../../pipeline/publish/open-root.ts';
import type { Root } from '../../../pipeline/publish/root.ts';
import { readRows } from '../../../pipeline/publish/tables.ts';
import { openWeb } from '../../../pipeline/sources/http.ts';
import type { Table } from '../../../schemas/columns.ts';
import { layout } from '../../../schemas/layout.ts';
import { type GroundReport, groundReports, type Watch, watches } from '../../../schemas/tables/feeds.ts';
import { alertFeature, alertFile } from '../../support/data/alert.ts';
import { startWebServer, type WebServer } from '../../support/data/web-server.ts';
import { until } from '../../support/until.ts';

const NOW = Date.parse('2026-05-01T23:00:00Z');
const LIST =
  'Time,Size,Location,County,State,Lat,Lon,Comments\n2010,175,2 N NORMAN,CLEVELAND,OK,35.20,-97.40,HAIL. (OUN)\n';
const ALERTS = alertFile(
  alertFeature({ properties: { id: 'urn:a', sent: '2026-05-01T22:00:00Z', ends: '2026-05-01T23:30:00Z' } }),
).toString();
const SPC = '/climo/reports/today_filtered_hail.csv';
const LSR = '/geojson/lsr.geojson';
const ACTIVE = '/alerts/active';

interface Rig {
  readonly root: Root;
  readonly schedule: Schedule;
  readonly server: WebServer;
  /** Works off until the condition holds; fails after a minute. */
  readonly until: (holds: () => Promise<boolean> | boolean) => Promise<void>;
}

/** Feeds of the names given, polled every tenth of a second. */
async function rig(t: ExecutionContext, names: readonly string[], server: WebServer): Promise<Rig> {
  const path = mkdtempSync(join(tmpdir(), 'hail-schedule-'));
  const root = await openRoot(path, 'test', 0, NOW);
  const stop = new AbortController();
  const { url } = server;
  const chosen = WEB_FEEDS.filter(({ name }) => names.includes(name)).map((feed) => ({ ...feed, every_s: 0.1 }));
  const network = { signal: stop.signal, patience: { retries: 0, first_ms: 1, longest_ms: 1 } };
  const addresses = { spc_url: url, lsr_url: url, nws_url: url, user_agent: 'test' };
  const web = openWeb('test (test)', network);
  const schedule = startSchedule({
    feeds: chosen.map((feed) => openWebFeed(feed, web, addresses)),
    now: () => NOW,
    log: openLog('silent', false),
    signal: stop.signal,
    refresh: refreshForecast,
  });
  t.teardown(async () => {
    stop.abort();
    await root.close();
    rmSync(path, { recursive: true });
  });
  const workedOff: Rig['until'] = (holds) =>
    until(async () => {
      await schedule.workOff(root);
      return await holds();
    });
  return { root, schedule, server, until: workedOff };
}

async function stateOf({ root }: Rig, name: string) {
  return (await readFeedStates(root.path)).get(name);
}

/** Current rows of the table of a collection. */
async function currentOf<Row extends GroundReport | Watch>({ root }: Rig, table: Table): Promise<Row[]> {
  const partition = layout.collectionPartition(table === watches ? 'watches' : 'reports');
  const manifest = await readNewest(root.path, partition);
  const paths = manifest === null ? [] : tablePaths(root.path, manifest, table.name);
  return readRows<Row>(root.engine, table, paths, 'is_current');
}

const reportsOf = (rig: Rig) => currentOf<GroundReport>(rig, groundReports);

test('every feed has its row from the start, also one whose server is silent', async (t) => {
  const server = await startWebServer(t, { [SPC]: () => {} });
  const at = await rig(t, ['spc-reports', 'warnings'], server);
  await at.schedule.register(at.root);
  const states = await readFeedStates(at.root.path);
  t.deepEqual([...states.keys()], ['spc-reports', 'warnings']);
  t.is(states.get('spc-reports')?.last_success_at, null);
});

for (const [what, damage] of [
  ['lost', (path: string) => rmSync(path)],
  ['damaged', (path: string) => writeFileSync(path, '{"feeds":')],
] as const)
  test(`a list of states that was ${what} is written anew, with a row for every feed`, async (t) => {
    const at = await rig(
      t,
      ['spc-reports', 'warnings'],
      await startWebServer(t, { [SPC]: () => {}, [ACTIVE]: ALERTS }),
    );
    await at.until(async () => (await stateOf(at, 'warnings'))?.last_success_at !== null);
    damage(join(at.root.path, layout.feeds));
    await at.schedule.workOff(at.root);
    t.deepEqual([...(await readFeedStates(at.root.path)).keys()], ['spc-reports', 'warnings']);
    await at.until(async () => (await stateOf(at, 'warnings'))?.last_success_at === '2026-05-01T23:00:00Z');
  });

test('a silent server holds up its own feed only', async (t) => {
  const at = await rig(t, ['spc-reports', 'warnings'], await startWebServer(t, { [SPC]: () => {}, [ACTIVE]: ALERTS }));
  await at.until(async () => (await stateOf(at, 'warnings'))?.last_success_at === '2026-05-01T23:00:00Z');
  t.is((await stateOf(at, 'spc-reports'))?.last_attempt_at, null);
  t.not(await readNewest(at.root.path, layout.collectionPartition('warnings')), null);
});

test('a page that did not change is not sent again, and counts as read', async (t) => {
  const server = await startWebServer(t, { [ACTIVE]: ALERTS });
  const at = await rig(t, ['warnings'], server);
  await at.until(() => server.asked.length >= 3);
  t.is((await stateOf(at, 'warnings'))?.failure, null);
  t.is((await readNewest(at.root.path, layout.collectionPartition('warnings')))?.commit, 1);
});

test('a page of an error keeps the last success, and says why', async (t) => {
  const server = await startWebServer(t, { [ACTIVE]: ALERTS });
  const at = await rig(t, ['warnings'], server);
  await at.until(async () => (await stateOf(at, 'warnings'))?.last_success_at !== null);
  server.answers.set(ACTIVE, '<html>Service Unavailable</html>');
  await at.until(async () => (await stateOf(at, 'warnings'))?.failure !== null);
  const state = await stateOf(at, 'warnings');
  t.is(state?.last_success_at, '2026-05-01T23:00:00Z');
  t.regex(state?.failure ?? '', /alerts\.json: an html or xml page, expected the geojson of alerts/);
});

test('alerts none of which can be used are a failure, not an area without warnings', async (t) => {
  const server = await startWebServer(t, {
    [ACTIVE]: JSON.stringify({ type: 'FeatureCollection', features: [{ type: 'Feature', properties: {} }] }),
  });
  const at = await rig(t, ['warnings'], server);
  await at.until(async () => (await stateOf(at, 'warnings'))?.failure !== null);
  t.regex((await stateOf(at, 'warnings'))?.failure ?? '', /none of its 1 items can be used/);
  t.is(await readNewest(at.root.path, layout.collectionPartition('warnings')), null);
});

for (const [what, damage] of [
  ['lost', (path: string) => rmSync(path)],
  ['damaged', (path: string) => writeFileSync(path, 'no Parquet')],
] as const)
  test(`a published file that was ${what} fails its feed and no other`, async (t) => {
    const server = await startWebServer(t, { [ACTIVE]: ALERTS, [SPC]: LIST });
    const at = await rig(t, ['warnings', 'spc-reports'], server);
    await at.until(async () => (await stateOf(at, 'warnings'))?.last_success_at !== null);
    const manifest = await readNewest(at.root.path, layout.collectionPartition('warnings'));
    damage(join(at.root.path, manifest?.files[0]?.path ?? ''));
    server.answers.set(ACTIVE, ALERTS.replaceAll('urn:a', 'urn:bb'));
    await at.until(async () => (await stateOf(at, 'warnings'))?.failure !== null);
    t.regex((await stateOf(at, 'warnings'))?.failure ?? '', /warnings\/.*cannot be read/);
    await at.until(async () => (await stateOf(at, 'spc-reports'))?.last_success_at !== null);
    t.is((await stateOf(at, 'spc-reports'))?.failure, null);
  });

test('a feed that comes back is read again', async (t) => {
  const server = await startWebServer(t, { [ACTIVE]: (_, response) => response.writeHead(503).end() });
  const at = await rig(t, ['warnings'], server);
  await at.until(async () => /503/.test((await stateOf(at, 'warnings'))?.failure ?? ''));
  server.answers.set(ACTIVE, ALERTS);
  await at.until(async () => (await stateOf(at, 'warnings'))?.failure === null);
  t.is((await stateOf(at, 'warnings'))?.last_success_at, '2026-05-01T23:00:00Z');
});

test('a needed page that a server does not have is a failure, one for yesterday is not', async (t) => {
  const at = await rig(t, ['spc-reports'], await startWebServer(t, { [SPC]: LIST }));
  await at.until(async () => (await stateOf(at, 'spc-reports'))?.last_success_at !== null);
  at.server.answers.delete(SPC);
  await at.until(async () => (await stateOf(at, 'spc-reports'))?.failure !== null);
  t.regex((await stateOf(at, 'spc-reports'))?.failure ?? '', /404, expected 200/);
});

for (const [what, modified, time] of [
  ['changed before 12 UTC is that of the day before', 'Fri, 01 May 2026 11:58:00 GMT', '2026-04-30T20:10:00Z'],
  ['changed after 12 UTC is that of the day itself', 'Fri, 01 May 2026 22:58:00 GMT', '2026-05-01T20:10:00Z'],
  ['changed in the future is that of the day itself', 'Sat, 02 May 2026 13:00:00 GMT', '2026-05-01T20:10:00Z'],
  ['of which the server does not say when it changed is that of the day itself', null, '2026-05-01T20:10:00Z'],
  ['of which the server says no readable date is that of the day itself', 'yesterday', '2026-05-01T20:10:00Z'],
] as const)
  test(`the running list of the storm centre ${what}`, async (t) => {
    const server = await startWebServer(t, {
      [SPC]: (_, response) => response.writeHead(200, modified === null ? {} : { 'last-modified': modified }).end(LIST),
    });
    const at = await rig(t, ['spc-reports'], server);
    await at.until(async () => (await stateOf(at, 'spc-reports'))?.last_success_at !== null);
    const rows = await reportsOf(at);
    t.deepEqual(
      rows.map((row) => row.time),
      [Date.parse(time)],
    );
  });

test('the list of a day that lies under both of its names is one list', async (t) => {
  const server = await startWebServer(t, {
    [SPC]: (_, response) => response.writeHead(200, { 'last-modified': 'Fri, 01 May 2026 11:58:00 GMT' }).end(LIST),
    '/climo/reports/260430_rpts_filtered_hail.csv': LIST.replace('175', '200'),
  });
  const at = await rig(t, ['spc-reports'], server);
  await at.until(async () => (await stateOf(at, 'spc-reports'))?.last_success_at !== null);
  const rows = await reportsOf(at);
  // The file under its own date is the later one.
  t.deepEqual(
    rows.map(({ size_mm }) => size_mm),
    [50.8],
  );
});

test('local storm reports are asked for a day back', async (t) => {
  const server = await startWebServer(t, { [LSR]: '{"type":"FeatureCollection","features":[]}' });
  const at = await rig(t, ['lsr'], server);
  await at.until(() => server.asked.length > 0);
  t.is(server.asked[0], `${LSR}?sts=2026-04-30T23%3A00Z&ets=2026-05-02T00%3A00Z`);
});

test('a body over its limit is refused before it fills the memory', async (t) => {
  const server = await startWebServer(t, {
    [ACTIVE]: (_, response) => response.writeHead(200, { 'content-length': 1 << 30 }).write('{'),
  });
  const at = await rig(t, ['warnings'], server);
  await at.until(async () => (await stateOf(at, 'warnings'))?.failure != null);
  t.regex((await stateOf(at, 'warnings'))?.failure ?? '', /announces 1073741824 bytes/);
});

const SAW = `000\nWWUS30 KWNS 012015\nSAW1\nSPC AWW 012015\nWW 101 SEVERE TSTM OK TX 012015Z - 020300Z\nAXIS..60 STATUTE MILES EAST AND WEST OF LINE..\n`;

test('a text is fetched once, and its list asked for again', async (t) => {
  const list = JSON.stringify({ '@graph': [{ id: 'one', issuanceTime: '2026-05-01T20:15:00+00:00' }] });
  const server = await startWebServer(t, {
    '/products': list,
    '/products/one': JSON.stringify({ productText: SAW }),
  });
  const at = await rig(t, ['watches'], server);
  await at.until(() => server.asked.filter((url) => url.startsWith('/products?type=SAW')).length >= 3);
  // The three types share one list here: the text is asked for under each until it is published.
  t.true(server.asked.filter((url) => url === '/products/one').length <= 3);
});

test('a text that cannot be read fails its poll and is not fetched again', async (t) => {
  const list = JSON.stringify({ '@graph': [{ id: 'bad', issuanceTime: '2026-05-01T20:15:00+00:00' }] });
  const server = await startWebServer(t, {
    '/products': list,
    '/products/bad': JSON.stringify({ productText: 'SAW1\nnothing' }),
  });
  const at = await rig(t, ['watches'], server);
  await at.until(async () => (await stateOf(at, 'watches'))?.failure !== null);
  await at.until(async () => (await stateOf(at, 'watches'))?.failure === null);
  t.true(server.asked.filter((url) => url === '/products/bad').length <= 3);
});

const WATCH_LIST = JSON.stringify({
  '@graph': ['bad', 'one'].map((id) => ({ id, issuanceTime: '2026-05-01T20:15:00+00:00' })),
});

for (const [what, answer] of [
  ['that the server has not', null],
  ['that is an error page', '<html>Service Unavailable</html>'],
  ['that is JSON of another kind', '{"status":500}'],
  ['of a million letters', JSON.stringify({ productText: 'x'.repeat(1_000_000) })],
] as const)
  test(`a text ${what} costs itself only, is named, and is asked for until it comes`, async (t) => {
    const good = JSON.stringify({ productText: SAW });
    const server = await startWebServer(t, { '/products': WATCH_LIST, '/products/one': good });
    if (answer !== null) server.answers.set('/products/bad', answer);
    const at = await rig(t, ['watches'], server);
    await at.until(async () => (await stateOf(at, 'watches'))?.failure !== null);
    t.regex(
      (await stateOf(at, 'watches'))?.failure ?? '',
      /\/products\/bad: (server answers 404|is not JSON|producttext: )/i,
    );
    t.is((await currentOf(at, watches)).length, 1);
    server.answers.set('/products/bad', good);
    await at.until(async () => (await stateOf(at, 'watches'))?.failure === null);
  });

test('an entry of a list of texts that cannot be read leaves the others', async (t) => {
  const list = { '@graph': [{ id: '../x' }, { id: 'one', issuanceTime: '2026-05-01T20:15:00+00:00' }] };
  const at = await rig(
    t,
    ['watches'],
    await startWebServer(t, {
      '/products': JSON.stringify(list),
      '/products/one': JSON.stringify({ productText: SAW }),
    }),
  );
  await at.until(async () => (await stateOf(at, 'watches'))?.failure !== null);
  t.is((await currentOf(at, watches)).length, 1);
});

test('a slow feed that fails is polled again within minutes, ever less often up to its own pace', (t) => {
  const minutes = (usual: number) => [0, 1, 2, 3, 4, 5, 6, 2000].map((n) => waitAfter(usual * 60_000, n) / 60_000);
  t.deepEqual(minutes(2), [2, 2, 4, 8, 15, 15, 15, 15]);
  t.deepEqual(minutes(60), [60, 2, 4, 8, 16, 32, 60, 60]);
});

test('an outlook without any component counts as failed, so that it is tried again when they have come', async (t) => {
  const at = await rig(t, ['spc-outlooks'], await startWebServer(t));
  const { failure } = await publishPoll(
    at.root,
    await pollFeed(outlookFeed(openLog('silent', false)), NOW),
    openLog('silent', false),
  );
  t.regex(failure ?? '', /none of its components is published/);
  t.is((await stateOf(at, 'outlook'))?.last_success_at, null);
});

test('files are ingested with the next call when the disk took no more', async (t) => {
  const at = await rig(t, ['warnings'], await startWebServer(t, { [ACTIVE]: ALERTS }));
  let refuses = true;
  const check = () => {
    if (refuses) throw new DiskRefusal('publish', 'x', new Error('full'));
  };
  const root: Root = { ...at.root, check };
  const isFull = (error: unknown) => {
    if (!(error instanceof DiskRefusal)) throw error;
    return true;
  };
  await until(() => at.schedule.workOff(root).then(() => false, isFull));
  refuses = false;
  await at.schedule.workOff(root);
  t.is((await stateOf(at, 'warnings'))?.last_success_at, '2026-05-01T23:00:00Z');
});

for (const [what, place, pages] of [
  ['the states of the feeds', () => layout.feeds, { [ACTIVE]: ALERTS }],
  [
    'a rejected file',
    () => join(layout.rejectedFeeds, `${sha256('<html>').slice(0, 8)}-alerts.json.reason.json`),
    { [ACTIVE]: '<html>' },
  ],
] as const)
  test(`a disk that takes no more when ${what} is written is waited out like any other`, async (t) => {
    const at = await rig(t, ['spc-reports'], await startWebServer(t, pages));
    const feed = openWebFeed(warnings, openWeb('test'), {
      spc_url: at.server.url,
      lsr_url: at.server.url,
      nws_url: at.server.url,
      user_agent: 'test',
    });
    const poll = await pollFeed(feed, NOW);
    const draft = join(at.root.path, `${place()}.part`);
    mkdirSync(dirname(draft), { recursive: true });
    symlinkSync('/dev/full', draft);
    await t.throwsAsync(publishPoll(at.root, poll, openLog('silent', false)), { instanceOf: DiskRefusal });
    // The draft is gone with the failure: the disk takes more.
    await publishPoll(at.root, poll, openLog('silent', false));
    t.is((await stateOf(at, 'warnings'))?.last_attempt_at, '2026-05-01T23:00:00Z');
  });
