import fs from 'node:fs/promises';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { NOTHING_PUBLISHED, openCatalog } from '../../api/published/catalog.ts';
import { openEngine } from '../../pipeline/duckdb.ts';
import { ingestFeedFiles } from '../../pipeline/feeds/ingest-files.ts';
import { WEB_FEEDS } from '../../pipeline/feeds/web-feeds.ts';
import { filesBelow } from '../../pipeline/files.ts';
import { publishForecast } from '../../pipeline/forecast/publish-forecast.ts';
import { silent } from '../../pipeline/log.ts';
import { readRows } from '../../pipeline/publish/tables.ts';
import { COLLECTIONS, type CollectionName } from '../../schemas/collections.ts';
import { TABLES } from '../../schemas/tables/index.ts';
import { timestamp } from '../../schemas/time.ts';
import { alertsFile, layerFile, ringOf, watchFile } from '../support/data/feeds.ts';
import { ingest, MONTH_LATER_MS, midnight, NOW_MS, onRoot, scratch } from '../support/data/world.ts';
import { command, faultsOf } from '../support/kill/killed.ts';

const HEADER = 'Time,Size,Location,County,State,Lat,Lon,Comments';
const EARLY = '1105,100,2 N NORMAN,CLEVELAND,OK,35.20,-97.40,HAIL. (OUN)';
const EVENING = '2310,175,2 N NORMAN,CLEVELAND,OK,35.20,-97.40,HAIL. (OUN)';
const NIGHT = '0025,100,YUKON,CANADIAN,OK,35.50,-97.75,HAIL. (OUN)';

/** A list of reports of a convective day: the evening and the night after it are one, the morning is of the day before. */
function list(name: string, ...lines: string[]) {
  return { name, bytes: Buffer.from([HEADER, ...lines, ''].join('\n')), received_ms: NOW_MS };
}

const FILES = [
  list('260430_rpts_hail.csv', EARLY),
  list('260501_rpts_hail.csv', EVENING, NIGHT),
  alertsFile(NOW_MS, { id: 'urn:a', sent: '2026-05-02T00:40:00Z', ends: '2026-05-02T01:30:00Z' }),
  watchFile({ number: 101, from: '020010', to: '020500' }, [-98, 35, -97, 36], NOW_MS),
  layerFile({
    ...{ day: 1, word: 'hail', issue: '202605012000', valid: '202605012000', expire: '202605021200' },
    ...{ areas: [['0.15', ringOf([-99, 34, -96, 37])]], received_ms: NOW_MS },
  }),
];

/** Fills every collection of a root. */
async function fill(path: string, storm_day_start_hour = 0): Promise<void> {
  await onRoot(path, { storm_day_start_hour }, async ({ root }) => {
    const { files } = await ingestFeedFiles(root, WEB_FEEDS, FILES, { now_ms: NOW_MS, provenance: 'observed' });
    const refused = files.filter((file) => file.refused !== null || file.items === 0);
    if (refused.length > 0) throw new Error(`refused: ${JSON.stringify(refused)}`);
    await publishForecast(root, NOW_MS, silent);
  });
}

/** Rows of every collection as the service finds them, and what it says of them. */
async function found(path: string, storm_day_start_hour = 0) {
  const catalog = await openCatalog(path, storm_day_start_hour);
  const engine = await openEngine();
  try {
    const edition = catalog.failure() === null ? catalog.edition() : NOTHING_PUBLISHED;
    const rows: Partial<Record<CollectionName, readonly Record<string, unknown>[]>> = {};
    for (const name of COLLECTIONS) {
      const collection = edition.collection(name);
      for (const path of collection?.paths() ?? []) {
        const table = TABLES.find((one) => path.includes(`/tables/${one.name}/`));
        if (table === undefined) throw new Error(`${path} is of no table`);
        const all = await readRows<Record<string, unknown>>(engine, table, [path]);
        rows[name] = [...(rows[name] ?? []), ...all.filter((row) => row.is_current !== false)];
      }
    }
    return { failure: catalog.failure()?.message ?? null, rows };
  } finally {
    engine.close();
    await catalog.close();
  }
}

/** What was filled is there, and nothing is missing that a list names. */
async function isWhole(t: ExecutionContext, path: string, before: Awaited<ReturnType<typeof found>>): Promise<void> {
  t.deepEqual(Object.keys(before.rows).sort(), ['outlook', 'outlooks', 'reports', 'warnings', 'watches']);
  const after = await found(path);
  t.is(after.failure, before.failure);
  for (const name of ['outlooks', 'reports', 'warnings', 'watches'] as const)
    t.deepEqual(after.rows[name], before.rows[name]);
  // Made again from the closed dates where there are more of them: not the same rows.
  t.true((after.rows.outlook?.length ?? 0) > 0);
  t.deepEqual(await faultsOf(path), []);
}

/** Makes everything on the disk look as if it had been written a day ago: nobody may still be reading it. */
async function age(path: string): Promise<void> {
  const old_s = Date.now() / 1000 - 86_400;
  for (const name of await filesBelow(path)) await fs.utimes(join(path, name), old_s, old_s);
}

test('collections are readable and complete after their root was compacted and swept', async (t) => {
  const path = await scratch(t);
  await ingest(path, await midnight());
  await fill(path);
  // Another version of a list: the files of the first are swept.
  const shorter = [list('260501_rpts_hail.csv', NIGHT)];
  await onRoot(path, {}, ({ root }) =>
    ingestFeedFiles(root, WEB_FEEDS, shorter, { now_ms: NOW_MS, provenance: 'observed' }),
  );
  const before = await found(path);
  t.is(before.rows.reports?.length, 2);
  await age(path);
  const report = JSON.parse((await command(path, ['compact', '--json'], { now_ms: MONTH_LATER_MS })).stdout);
  t.is(report.closed_dates, 2);
  t.true(report.swept_files > 0);
  await isWhole(t, path, before);
});

test('collections are readable and complete after a date beside them was made again', async (t) => {
  const path = await scratch(t);
  await ingest(path, await midnight());
  await fill(path);
  const before = await found(path);
  const run = JSON.parse((await command(path, ['rebuild', '--date', '2026-05-01', '--json'])).stdout);
  t.true(run.redone > 0);
  await isWhole(t, path, before);
});

test('with storm days that start at 12 UTC reports get the date of their convective day, and outlooks stay as they are', async (t) => {
  const [noon, midnight_] = [await scratch(t), await scratch(t)];
  await fill(noon, 12);
  await fill(midnight_);
  const at = await found(noon, 12);
  const usual = await found(midnight_);
  const days = at.rows.reports?.map(({ time, storm_date }) => `${timestamp(Number(time))} is of ${storm_date}`);
  t.deepEqual(days, [
    '2026-05-01T11:05:00Z is of 2026-04-30',
    '2026-05-01T23:10:00Z is of 2026-05-01',
    '2026-05-02T00:25:00Z is of 2026-05-01',
  ]);
  const { reports: _, ...others } = at.rows;
  const { reports, ...expected } = usual.rows;
  t.deepEqual(others, expected);
  const dates = reports?.map(({ storm_date }) => storm_date);
  t.deepEqual(dates, ['2026-05-01', '2026-05-01', '2026-05-02']);
  const { failure } = await found(noon);
  t.regex(failure ?? '', /storm days that start at 12 UTC, expected 0 \(HAIL_STORM_DAY_START_HOUR\)/);
});
