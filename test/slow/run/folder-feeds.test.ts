import { cp, mkdir, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { sqlList } from '../../../pipeline/duckdb.ts';
import { readFeedStates } from '../../../pipeline/feeds/schedule.ts';
import { filesBelow } from '../../../pipeline/files.ts';
import { readNewest } from '../../../pipeline/publish/manifests.ts';
import { writeFeeds, writeScans } from '../../../pipeline/simulate/evening.ts';
import { plainsScenario } from '../../../pipeline/simulate/weather.ts';
import { layout } from '../../../schemas/layout.ts';
import { WSR88D } from '../../../schemas/reference/wsr88d.ts';
import { collectedReports } from '../../../schemas/tables/feeds.ts';
import { modelFile } from '../../support/data/model-file.ts';
import { pluck } from '../../support/data/rows.ts';
import { onRoot, scratch } from '../../support/data/world.ts';
import { ingestReport } from '../../support/kill/killed.ts';

const NOW_MS = Date.parse('2026-05-01T23:30:00Z');
const [SEED, HOURS] = [7, 0.1];
const COLLECTIONS = ['reports', 'warnings', 'outlooks', 'forecast', 'outlook'] as const;
const FEEDS = ['reports', 'warnings', 'outlooks'] as const;

const ingest = (path: string, ...args: string[]) => ingestReport(path, args, NOW_MS);

/** What `simulate --out` writes of the last minutes, in a folder of the test's own. */
async function simulated(t: ExecutionContext): Promise<string> {
  const out = await scratch(t, 'evening');
  const span = { from_ms: NOW_MS - HOURS * 3_600_000, to_ms: NOW_MS, out };
  for await (const _ of writeScans(plainsScenario(SEED, WSR88D), span));
  await writeFeeds(plainsScenario(SEED, WSR88D), span);
  return out;
}

/** Rows of every collection as sorted text, by name; without the times of collection, because a folder does not say those of storm reports. */
const rowsOf = (path: string) =>
  onRoot(path, {}, async ({ root }) => {
    const rows = new Map<string, readonly string[]>();
    for (const name of COLLECTIONS) {
      const manifest = await readNewest(path, layout.collectionPartition(name));
      const files = (manifest?.files ?? []).filter(
        ({ kind, table }) => kind === 'table' && table !== collectedReports.name,
      );
      const texts: string[] = [];
      for (const [table, same] of Map.groupBy(files, (file) => file.table)) {
        const paths = sqlList(same.map((file) => join(path, file.path)));
        const found = await root.engine.rows<{ text: string }>(
          `SELECT t::VARCHAR AS text FROM read_parquet(${paths}) t ORDER BY text`,
        );
        texts.push(...found.map(({ text }) => `${table} ${text}`));
      }
      if (files.length > 0) rows.set(name, texts.toSorted());
    }
    return rows;
  });

test('simulate and then ingest --from publish the feeds of a plain ingest', async (t) => {
  const folder = await simulated(t);
  const before = await filesBelow(folder);
  const [from, plain] = [await scratch(t, 'from'), await scratch(t, 'plain')];
  const report = await ingest(from, '--from', folder);
  await ingest(plain, '--seed', `${SEED}`, '--hours', `${HOURS}`);
  const [rows, expected] = [await rowsOf(from), await rowsOf(plain)];
  t.deepEqual([...expected.keys()], [...COLLECTIONS]);
  for (const name of FEEDS) t.deepEqual(rows.get(name), expected.get(name), name);
  t.true((expected.get('forecast') ?? []).length > 1000);
  t.false(rows.has('forecast'));
  const states = await readFeedStates(plain);
  for (const [name, state] of await readFeedStates(from)) t.deepEqual(state, states.get(name), name);
  t.deepEqual([report.feed_failures, report.unknown_files], [[], []]);
  t.deepEqual(await filesBelow(folder), before, 'the folder is only read');
});

test('model runs that are over do not take the place of a forecast, and a broken feed file costs itself only', async (t) => {
  const folder = await simulated(t);
  await writeFile(join(folder, 'alerts', 'alerts.json'), '{"messageType":');
  await writeFile(join(folder, 'notes.txt'), 'a note of somebody');
  const { path: model, bytes } = modelFile(Math.floor(NOW_MS / 3_600_000) * 3_600_000, 2);
  await mkdir(join(folder, dirname(model)), { recursive: true });
  await writeFile(join(folder, model), bytes);
  const path = await scratch(t);
  const report = await ingest(path, '--from', folder);
  t.deepEqual(pluck(report.feed_failures, 'file'), ['alerts.json']);
  t.deepEqual(report.unknown_files, ['notes.txt']);
  const forecast = (await rowsOf(path)).get('forecast');
  t.true((forecast ?? []).length > 100);
  const over = await scratch(t, 'over');
  const ended = modelFile(Math.floor(NOW_MS / 3_600_000 - 6) * 3_600_000, 2);
  await mkdir(join(over, dirname(ended.path)), { recursive: true });
  await writeFile(join(over, ended.path), ended.bytes);
  const later = await ingest(path, '--from', over);
  const failure = later.feed_failures.find(({ file }) => file === 'hrrr');
  t.regex(failure?.reason ?? '', /no hour of its runs ends after 2026-05-01T23:30:00Z/);
  t.deepEqual((await rowsOf(path)).get('forecast'), forecast);
});

test('a folder of scans alone brings no feeds and leaves those of others as they are', async (t) => {
  const folder = await simulated(t);
  const scans = await scratch(t, 'scans');
  await cp(join(folder, 'CONUS'), join(scans, 'CONUS'), { recursive: true });
  await rm(folder, { recursive: true });
  const path = await scratch(t);
  const report = await ingest(path, '--from', scans);
  t.deepEqual(report.feed_failures, []);
  const others = [...(await rowsOf(path)).keys()].filter((name) => name !== 'outlook');
  t.deepEqual(others, []);
  t.deepEqual([...(await readFeedStates(path)).keys()], []);
});
