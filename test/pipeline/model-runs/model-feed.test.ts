import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { NotFound } from '../../../pipeline/error.ts';
import { silent } from '../../../pipeline/log.ts';
import { modelFeed } from '../../../pipeline/model-runs/model-feed.ts';
import { readModelFolder } from '../../../pipeline/model-runs/model-folder.ts';
import { publishOutlook } from '../../../pipeline/model-runs/publish-outlook.ts';
import { readNewest } from '../../../pipeline/publish/manifests.ts';
import { openRoot, type Root } from '../../../pipeline/publish/root.ts';
import { readRows } from '../../../pipeline/publish/tables.ts';
import { modelGridOf, simulatedModelFile } from '../../../pipeline/simulate/model-grid.ts';
import { layout } from '../../../schemas/layout.ts';
import { WSR88D } from '../../../schemas/reference/wsr88d.ts';
import { type Forecast, forecast } from '../../../schemas/tables/forecast.ts';
import { type Outlook, outlook } from '../../../schemas/tables/outlook.ts';
import { MS_PER_HOUR } from '../../../schemas/time.ts';
import { startWebServer, type WebServer } from '../../support/data/web-server.ts';

const NOW = Date.parse('2026-05-01T20:40:00Z');
const RUN = Date.parse('2026-05-01T19:00:00Z');
const WINDOW = { row0: 1900, col0: 3100, rows: 200, cols: 200 };
const SCENARIO = { seed: 7, window: WINDOW, day_type: 'supercell', steady: true, sites: WSR88D } as const;
const GRID = modelGridOf(SCENARIO);

/** Puts the hours of a run on a server. */
function serveRun({ answers }: WebServer, run_time: number, leads: readonly number[]): void {
  for (const lead_h of leads) {
    const { path, bytes, index } = simulatedModelFile(SCENARIO, GRID, run_time, lead_h);
    answers.set(`/${path}.idx`, index);
    answers.set(`/${path}`, (request, response) => {
      const [, start = '0', end = ''] = /^bytes=(\d+)-(\d*)$/.exec(request.headers.range ?? '') ?? [];
      const part = bytes.subarray(Number(start), end === '' ? bytes.length : Number(end) + 1);
      const last = Number(start) + part.length - 1;
      response.writeHead(206, { 'content-range': `bytes ${start}-${last}/${bytes.length}` }).end(part);
    });
  }
}

async function opened(t: ExecutionContext): Promise<Root> {
  const path = mkdtempSync(join(tmpdir(), 'hail-model-feed-'));
  const root = await openRoot(path, 'test', 0, NOW);
  t.teardown(async () => {
    await root.close();
    rmSync(path, { recursive: true });
  });
  return root;
}

/** The feed on a data root; its first poll reads the cached hours there. */
function feedOf({ url }: WebServer, dataRoot = join(tmpdir(), 'hail-no-such-root')) {
  const network = { patience: { retries: 0, first_ms: 1, longest_ms: 1 } };
  return modelFeed('hrrr', { base_url: url, user_agent: 'test', network }, dataRoot, silent);
}

async function forecastOf(root: Root): Promise<Forecast[]> {
  const manifest = await readNewest(root.path, layout.collectionPartition('forecast'));
  return readRows<Forecast>(
    root.engine,
    forecast,
    (manifest?.files ?? []).map(({ path }) => join(root.path, path)),
  );
}

test('the hours of a run are fetched by byte ranges and published, from the first that ends after now', async (t) => {
  const server = await startWebServer(t);
  serveRun(server, RUN, [1, 2, 3]);
  const root = await opened(t);
  const { failure, changed } = await (await feedOf(server).poll(NOW)).publish(root);
  t.deepEqual([failure, changed], [null, ['forecast']]);
  const rows = await forecastOf(root);
  t.deepEqual([...new Set(rows.map(({ valid_time }) => valid_time))].sort(), [
    RUN + 2 * MS_PER_HOUR,
    RUN + 3 * MS_PER_HOUR,
  ]);
  t.deepEqual(
    new Set(rows.map(({ run_time, model, data_source }) => `${run_time} ${model} ${data_source}`)),
    new Set([`${RUN} hrrr simulated`]),
  );
});

test('an hour that was decoded is not fetched again, a new one is', async (t) => {
  const server = await startWebServer(t);
  serveRun(server, RUN, [1, 2]);
  const feed = feedOf(server);
  await feed.poll(NOW);
  server.asked.length = 0;
  serveRun(server, RUN, [3]);
  await feed.poll(NOW);
  t.false(server.asked.some((url) => /t19z\.wrfsfcf0[12]\.grib2$/.test(url)));
  t.true(server.asked.some((url) => /t19z\.wrfsfcf03\.grib2$/.test(url)));
});

test('hours that the newest run lacks come from the one before it, and every row names its own', async (t) => {
  const server = await startWebServer(t);
  serveRun(server, RUN, [1, 2]);
  serveRun(server, RUN - MS_PER_HOUR, [1, 2, 3, 4]);
  const root = await opened(t);
  await (await feedOf(server).poll(NOW)).publish(root);
  const rows = await forecastOf(root);
  const runsAt = (valid_time: number) =>
    new Set(rows.filter((row) => row.valid_time === valid_time).map(({ run_time }) => run_time));
  t.deepEqual(runsAt(RUN + 2 * MS_PER_HOUR), new Set([RUN]));
  t.deepEqual(runsAt(RUN + 3 * MS_PER_HOUR), new Set([RUN - MS_PER_HOUR]));
});

test('runs that stopped coming are published with their old time, and the feed does not count as read', async (t) => {
  const server = await startWebServer(t);
  const old = Date.parse('2026-05-01T12:00:00Z');
  serveRun(server, old, [9, 10, 11]);
  const feed = feedOf(server);
  const root = await opened(t);
  await t.throwsAsync(feed.poll(NOW), { message: /has no hour of the hrrr runs/ });
  serveRun(server, old, [8]);
  const { failure } = await (await feed.poll(NOW)).publish(root);
  t.regex(failure ?? '', /newest run is of 2026-05-01T12:00:00Z, expected one of the last 4 hours/);
  t.is((await forecastOf(root))[0]?.run_time, old);
});

test('an hour that is no GRIB costs itself only', async (t) => {
  const server = await startWebServer(t);
  serveRun(server, RUN, [1, 2, 3]);
  const broken = [...server.answers.keys()].find((path) => path.endsWith('f03.grib2')) ?? '';
  server.answers.set(broken, (_, response) => response.writeHead(200).end('<html>busy</html>'));
  const root = await opened(t);
  const feed = feedOf(server);
  t.not((await (await feed.poll(NOW)).publish(root)).failure, null);
  t.true((await forecastOf(root)).length > 0);
  serveRun(server, RUN, [1, 2, 3]);
  t.is((await (await feed.poll(NOW)).publish(root)).failure, null);
});

test('a folder in the layout of the bucket is read like the bucket; one without model files is refused', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'hail-model-folder-'));
  t.teardown(() => rmSync(folder, { recursive: true }));
  await t.throwsAsync(readModelFolder(folder, silent), { instanceOf: NotFound });
  const { path, bytes } = simulatedModelFile(SCENARIO, GRID, RUN, 1);
  mkdirSync(dirname(join(folder, path)), { recursive: true });
  writeFileSync(join(folder, path), bytes);
  const { hours, refused } = await readModelFolder(folder, silent);
  t.deepEqual(refused, []);
  t.deepEqual([...hours.keys()], ['hrrr']);
  t.is(hours.get('hrrr')?.[0]?.valid_time, RUN + MS_PER_HOUR);
});

test('the outlook follows from the forecast alone where nothing else is published, and says so', async (t) => {
  const server = await startWebServer(t);
  const early = Date.parse('2026-05-01T12:00:00Z');
  serveRun(
    server,
    early,
    Array.from({ length: 18 }, (_, k) => k + 1),
  );
  const root = await opened(t);
  const at = early + 1.5 * MS_PER_HOUR;
  await (await feedOf(server).poll(at)).publish(root);
  t.true(await publishOutlook(root, at));
  const manifest = await readNewest(root.path, layout.collectionPartition('outlook'));
  const rows = await readRows<Outlook>(
    root.engine,
    outlook,
    (manifest?.files ?? []).map(({ path }) => join(root.path, path)),
  );
  t.true(rows.length > 0);
  t.deepEqual(new Set(rows.map(({ primary_source, day }) => `${primary_source} ${day}`)), new Set(['hrrr 1']));
});
