import { mkdtempSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { gunzipSync, gzipSync } from 'node:zlib';
import test, { type ExecutionContext } from 'ava';
import type { CellHour } from '../../../pipeline/forecast/model-cells.ts';
import { type Log, silent } from '../../../pipeline/log.ts';
import { modelFeed } from '../../../pipeline/model-runs/model-feed.ts';
import { hourName, readModelHourCache, writeModelHourCache } from '../../../pipeline/model-runs/model-hour-cache.ts';
import { publishedReach, publishForecast } from '../../../pipeline/model-runs/publish-forecast.ts';
import { openRoot, type Root } from '../../../pipeline/publish/root.ts';
import { modelGridOf, simulatedModelFile } from '../../../pipeline/simulate/model-grid.ts';
import { CONUS_CELLS } from '../../../schemas/geo/geohash4.ts';
import { layout } from '../../../schemas/layout.ts';
import { MS_PER_HOUR } from '../../../schemas/time.ts';
import { SMALL } from '../../support/data/small-evening.ts';
import { startWebServer, type WebServer } from '../../support/data/web-server.ts';

const NOW = Date.parse('2026-05-01T20:40:00Z');
const RUN = Date.parse('2026-05-01T19:00:00Z');
const LONG_RUN = Date.parse('2026-05-01T18:00:00Z');

/** An hour of one covered cell. */
function hourOf(run_time: number, lead_h: number): CellHour {
  const covered = new Uint8Array(CONUS_CELLS.length);
  covered[7] = 1;
  const hail_mm = new Float32Array(CONUS_CELLS.length).fill(Number.NaN);
  hail_mm[7] = 31.25;
  return {
    run_time,
    valid_time: run_time + lead_h * MS_PER_HOUR,
    simulated: true,
    covered,
    largest: { reflectivity_dbz: null, updraft_helicity_m2_s2: null, hail_mm, cape_j_kg: null, ship: null },
  };
}

/** Hours of a run, from a lead to a lead, by name. */
function hoursOf(run_time: number, first_h: number, last_h: number): [string, CellHour][] {
  return Array.from({ length: last_h - first_h + 1 }, (_, k) => [
    hourName('hrrr', run_time, first_h + k),
    hourOf(run_time, first_h + k),
  ]);
}

async function opened(t: ExecutionContext): Promise<Root> {
  const path = mkdtempSync(join(tmpdir(), 'hail-model-hours-'));
  const root = await openRoot(path, 'test', 0, NOW);
  t.teardown(async () => {
    await root.close();
    rmSync(path, { recursive: true });
  });
  return root;
}

/** The feed of a process that was just started. */
function startedFeed({ url }: WebServer, { path }: Root) {
  const network = { patience: { retries: 0, first_ms: 1, longest_ms: 1 } };
  return modelFeed('hrrr', { base_url: url, user_agent: 'test', network }, path, silent);
}

/** Puts an hour of a run on a server, under the name of a lead. */
function serveHour({ answers }: WebServer, run_time: number, lead_h: number, as_lead_h = lead_h): string {
  const { bytes, index } = simulatedModelFile(SMALL, modelGridOf(SMALL), run_time, lead_h);
  const { path } = simulatedModelFile(SMALL, modelGridOf(SMALL), run_time, as_lead_h);
  answers.set(`/${path}.idx`, index);
  answers.set(`/${path}`, (request, response) => {
    const [, start = '0', end = ''] = /^bytes=(\d+)-(\d*)$/.exec(request.headers.range ?? '') ?? [];
    const part = bytes.subarray(Number(start), end === '' ? bytes.length : Number(end) + 1);
    const range = `bytes ${start}-${Number(start) + part.length - 1}/${bytes.length}`;
    response.writeHead(206, { 'content-range': range }).end(part);
  });
  return `/${path}`;
}

function files({ asked }: WebServer): string[] {
  return [...new Set(asked.filter((url) => url.endsWith('.grib2')))];
}

test('cached hours are read as they were written', async (t) => {
  const root = await opened(t);
  const hours = new Map([...hoursOf(RUN, 1, 2), ...hoursOf(LONG_RUN, 48, 48)]);
  await writeModelHourCache(root, hours);
  t.true(isDeepStrictEqual(await readModelHourCache(root.path, 'hrrr', silent), hours));
  t.is((await readModelHourCache(root.path, 'rrfs', silent)).size, 0);
});

test('hours that are of no more use leave the disk', async (t) => {
  const root = await opened(t);
  await writeModelHourCache(root, new Map(hoursOf(RUN, 1, 3)));
  await writeModelHourCache(root, new Map(hoursOf(RUN, 3, 4)));
  t.deepEqual(readdirSync(join(root.path, layout.modelHours)), [
    'hrrr-20260501T190000Z-f003.gz',
    'hrrr-20260501T190000Z-f004.gz',
  ]);
});

for (const [what, damage] of [
  ['cut short', (path: string) => writeFileSync(path, readFileSync(path).subarray(0, 100))],
  ['packed whole, with values missing', (path: string) => rewrite(path, (bytes) => bytes.subarray(0, -4))],
  ['no hour at all', (path: string) => writeFileSync(path, gzipSync('<html>'))],
  ['of another version', (path: string) => rewrite(path, (bytes) => edited(bytes, '"version":1', '"version":9'))],
  ['of another hour', (path: string) => renameSync(path.replace('f002', 'f003'), path)],
] as const)
  test(`a cached hour that is ${what} is left out and logged; the others stay`, async (t) => {
    const root = await opened(t);
    await writeModelHourCache(root, new Map(hoursOf(RUN, 1, 3)));
    damage(join(root.path, layout.modelHours, hourName('hrrr', RUN, 2)));
    const logged: string[] = [];
    const log: Log = { ...silent, warn: (event, { file }) => logged.push(`${event} ${file}`) };
    const found = await readModelHourCache(root.path, 'hrrr', log);
    t.false(found.has(hourName('hrrr', RUN, 2)));
    t.true(isDeepStrictEqual(found.get(hourName('hrrr', RUN, 1)), hourOf(RUN, 1)));
    t.deepEqual(logged, ['Model:Hour:Lost hrrr-20260501T190000Z-f002.gz']);
  });

function rewrite(path: string, edit: (bytes: Buffer) => Uint8Array): void {
  writeFileSync(path, gzipSync(edit(gunzipSync(readFileSync(path)))));
}

function edited(bytes: Buffer, from: string, to: string): Uint8Array {
  return Buffer.from(bytes.toString('latin1').replace(from, to), 'latin1');
}

test('a restart publishes as many hours ahead as there were before it, and fetches none of them again', async (t) => {
  const server = await startWebServer(t);
  const root = await opened(t);
  serveHour(server, RUN, 2);
  await writeModelHourCache(
    root,
    new Map([...hoursOf(RUN, 1, 1), ...hoursOf(RUN, 3, 18), ...hoursOf(LONG_RUN, 19, 48)]),
  );
  const first = await (await startedFeed(server, root).poll(NOW)).publish(root);
  t.deepEqual([first.failure, first.changed], [null, ['forecast']]);
  t.is(await publishedReach(root, 'hrrr', true), LONG_RUN + 48 * MS_PER_HOUR);
  t.is(files(server).length, 1);
  server.asked.length = 0;
  const again = await (await startedFeed(server, root).poll(NOW)).publish(root);
  t.deepEqual([again.failure, again.changed, files(server)], [null, [], []]);
  t.is(await publishedReach(root, 'hrrr', true), LONG_RUN + 48 * MS_PER_HOUR);
});

test('hours beyond the newest run come from the newest one that goes further, and no others of it are fetched', async (t) => {
  const server = await startWebServer(t);
  const root = await opened(t);
  const far = [46, 47, 48].map((lead_h) => serveHour(server, LONG_RUN, lead_h));
  const near = serveHour(server, LONG_RUN, 5);
  // All that the newest run has is known, and of the long one all but its last hours and one that the newest run reaches too.
  await writeModelHourCache(root, new Map([...hoursOf(RUN, 1, 18), ...hoursOf(LONG_RUN, 19, 45)]));
  await (await startedFeed(server, root).poll(NOW)).publish(root);
  t.deepEqual(files(server), far);
  t.false(files(server).includes(near));
  t.is(await publishedReach(root, 'hrrr', true), LONG_RUN + 48 * MS_PER_HOUR);
});

test('a forecast that reaches less far than the published one says so until the hours are over that it lost', async (t) => {
  const server = await startWebServer(t);
  const root = await opened(t);
  await publishForecast(
    root,
    'hrrr',
    hoursOf(RUN, 1, 6).map(([, hour]) => hour),
    NOW,
  );
  for (const lead_h of [1, 2, 3]) serveHour(server, RUN, lead_h);
  const feed = startedFeed(server, root);
  const failures = [];
  for (const _ of [1, 2]) failures.push((await (await feed.poll(NOW)).publish(root)).failure);
  const lost = 'reaches to 2026-05-01T22:00:00Z, and reached to 2026-05-02T01:00:00Z before';
  t.deepEqual(failures, [lost, lost]);
  t.is(await publishedReach(root, 'hrrr', true), RUN + 3 * MS_PER_HOUR);
});

test('an hour that came and cannot be used is named with every poll, and fetched once', async (t) => {
  const server = await startWebServer(t);
  const root = await opened(t);
  for (const lead_h of [1, 2]) serveHour(server, RUN, lead_h);
  const wrong = serveHour(server, RUN, 2, 3);
  const feed = startedFeed(server, root);
  const failures = [];
  for (const _ of [1, 2]) failures.push((await (await feed.poll(NOW)).publish(root)).failure ?? '');
  for (const failure of failures) t.regex(failure, /t19z\.wrfsfcf03\.grib2/);
  t.is(server.asked.filter((url) => url === `${wrong}.idx`).length, 1);
  t.is(await publishedReach(root, 'hrrr', true), RUN + 2 * MS_PER_HOUR);
});

test('an hour that cannot be used is named no more once a newer run reaches its time', async (t) => {
  const server = await startWebServer(t);
  const root = await opened(t);
  await writeModelHourCache(root, new Map(hoursOf(LONG_RUN, 2, 3)));
  serveHour(server, LONG_RUN, 3, 4);
  const feed = startedFeed(server, root);
  t.regex((await (await feed.poll(NOW)).publish(root)).failure ?? '', /t18z\.wrfsfcf04\.grib2/);
  for (const lead_h of [1, 2, 3]) serveHour(server, RUN, lead_h);
  t.is((await (await feed.poll(NOW)).publish(root)).failure, null);
});
