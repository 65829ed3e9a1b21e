import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { openCatalog } from '../../api/catalog.ts';
import { ingestFeedFiles } from '../../pipeline/feeds/ingest-feed-files.ts';
import { WEB_FEEDS } from '../../pipeline/feeds/web-feeds.ts';
import { openRoot } from '../../pipeline/publish/root.ts';
import type { FeedState } from '../../schemas/collections.ts';
import { layout } from '../../schemas/layout.ts';
import { forecastRows, publishForecast } from '../support/data/model-rows.ts';

const NOW = Date.parse('2026-05-01T23:00:00Z');
const LIST =
  'Time,Size,Location,County,State,Lat,Lon,Comments\n2010,175,2 N NORMAN,CLEVELAND,OK,35.20,-97.40,HAIL. (OUN)\n';

async function publishReports(path: string, text = LIST, name = '260501_rpts_hail.csv'): Promise<void> {
  const root = await openRoot(path, 'test', 0, NOW);
  try {
    const file = { name, bytes: Buffer.from(text), received_ms: NOW };
    await ingestFeedFiles(root, WEB_FEEDS, [file], { now_ms: NOW, provenance: 'observed' });
  } finally {
    await root.close();
  }
}

function folder(t: ExecutionContext): string {
  const path = mkdtempSync(join(tmpdir(), 'hail-collections-'));
  t.teardown(() => rmSync(path, { recursive: true, force: true }));
  return path;
}

async function catalogOf(t: ExecutionContext, path: string) {
  const catalog = await openCatalog(path, 0);
  t.teardown(() => catalog.close());
  return catalog;
}

function feed(fields: Partial<FeedState>): FeedState {
  return {
    name: 'spc-reports',
    collection: 'reports',
    every_s: 120,
    last_attempt_at: '2026-05-01T22:58:00Z',
    last_success_at: '2026-05-01T22:58:00Z',
    failure: null,
    source: 'observed',
    ...fields,
  };
}

function writeStates(path: string, ...feeds: FeedState[]): void {
  writeFileSync(join(path, layout.feeds), JSON.stringify({ manifest_version: 1, feeds }));
}

test('a collection that was never fed is null, one that holds nothing is not', async (t) => {
  const path = folder(t);
  await publishReports(path, LIST.split('\n')[0]);
  const edition = (await catalogOf(t, path)).edition();
  t.is(edition.collection('warnings'), null);
  t.deepEqual(edition.collection('reports')?.paths(), []);
});

test('files of a collection come oldest month first, from the month asked for', async (t) => {
  const path = folder(t);
  await publishReports(path);
  await publishReports(path, LIST, '260315_rpts_hail.csv');
  const collection = (await catalogOf(t, path)).edition().collection('reports');
  t.is(collection?.paths().length, 2);
  t.regex(collection?.paths('2026-04')[0] ?? '', /collection=reports\/2026-05-/);
  t.regex(collection?.paths()[0] ?? '', /2026-03-/);
});

test('the one file of a collection that is replaced as a whole is there without months', async (t) => {
  const path = folder(t);
  await publishForecast(path, forecastRows({ geohash4: '9y68' }, '2026-05-01T18:00:00Z', 2), NOW);
  const collection = (await catalogOf(t, path)).edition().collection('forecast');
  t.is(collection?.paths().length, 1);
  t.regex(collection?.paths()[0] ?? '', /collection=forecast\/newest-/);
});

test('a collection is complete until the oldest last success of its feeds', async (t) => {
  const path = folder(t);
  await publishReports(path);
  writeStates(path, feed({}), feed({ name: 'lsr', last_success_at: '2026-05-01T21:00:00Z' }));
  const catalog = await catalogOf(t, path);
  t.is(catalog.edition().collection('reports')?.as_of_ms, Date.parse('2026-05-01T21:00:00Z'));
  writeStates(path, feed({}));
  await catalog.refresh();
  t.is(catalog.edition().collection('reports')?.as_of_ms, Date.parse('2026-05-01T22:58:00Z'));
});

test('a feed that never succeeded makes its collection as old as it was followed, whatever others brought since', async (t) => {
  const path = folder(t);
  await publishReports(path);
  const silent = { name: 'lsr', followed_since: '2026-05-01T20:30:00Z', last_success_at: null } as const;
  writeStates(path, feed({}), feed(silent));
  const catalog = await catalogOf(t, path);
  const asOf = async (...states: FeedState[]) => {
    writeStates(path, ...states);
    await catalog.refresh();
    return catalog.edition().collection('reports')?.as_of_ms;
  };
  t.is(catalog.edition().collection('reports')?.as_of_ms, Date.parse('2026-05-01T20:30:00Z'));
  t.is(await asOf(feed(silent)), Date.parse('2026-05-01T20:30:00Z'), 'no feed succeeded');
  const later = { ...silent, followed_since: '2026-05-01T23:30:00Z' };
  t.is(await asOf(feed(later)), NOW, 'filled before the feed was followed');
  t.is(await asOf(feed({ last_success_at: '2026-05-01T23:40:00Z' }), feed(later)), NOW);
  const { followed_since: _, ...earlier } = silent;
  t.is(await asOf(feed({ last_success_at: '2026-05-01T23:40:00Z' }), feed(earlier)), NOW, 'a list of earlier versions');
});

test('without states of feeds a collection is complete until it was committed', async (t) => {
  const path = folder(t);
  await publishReports(path);
  t.is((await catalogOf(t, path)).edition().collection('reports')?.as_of_ms, NOW);
});

test('the version of a collection changes with its rows', async (t) => {
  const path = folder(t);
  await publishReports(path);
  const catalog = await catalogOf(t, path);
  const before = catalog.edition().collection('reports')?.version;
  await publishReports(path);
  await catalog.refresh();
  t.is(catalog.edition().collection('reports')?.version, before);
  await publishReports(path, LIST.replace('175', '200'));
  await catalog.refresh();
  t.not(catalog.edition().collection('reports')?.version, before);
});

test('a collection that was there and is gone is a failure, never a collection that holds nothing', async (t) => {
  const path = folder(t);
  await publishReports(path);
  const catalog = await catalogOf(t, path);
  rmSync(join(path, layout.manifestFolder(layout.collectionPartition('reports'))), { recursive: true });
  await catalog.refresh();
  t.regex(catalog.failure() ?? '', /holds nothing, and held 1 partitions before/);
});

test('states of feeds that cannot be read are a failure that names the file', async (t) => {
  const path = folder(t);
  await publishReports(path);
  writeStates(path, feed({}));
  const text = readFileSync(join(path, layout.feeds), 'utf8');
  writeFileSync(join(path, layout.feeds), text.slice(0, 20));
  t.regex((await catalogOf(t, path)).failure() ?? '', /feeds\.json is not JSON/);
});
