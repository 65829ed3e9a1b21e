import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import fs from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import test, { type ExecutionContext } from 'ava';
import { asyncBufferFromFile, parquetReadObjects } from 'hyparquet';
import { compressors } from 'hyparquet-compressors';
import { z } from 'zod';
import { editionName, shownHead } from '../../pipeline/catalogues/views-sql.ts';
import { refreshClimatology } from '../../pipeline/forecast/derive-climatology.ts';
import { silent } from '../../pipeline/log.ts';
import { readCurrent, readHead, readManifest } from '../../pipeline/publish/manifests.ts';
import type { Table } from '../../schemas/columns.ts';
import { headOf } from '../../schemas/head.ts';
import { eventDays } from '../../schemas/tables/derived.ts';
import { TABLES } from '../../schemas/tables/index.ts';
import { cells, dayMax, detections, probsevere, tracks, uncovered } from '../../schemas/tables/radar.ts';
import { RECORD, recordedCatalogues } from '../support/data/committing-writer.ts';
import { publishFeeds } from '../support/data/feeds.ts';
import { headsOf, icebergRows, manifestRows, metadataOf, serveFiles } from '../support/data/iceberg-reading.ts';
import { publishMadeRows } from '../support/data/made-rows.ts';
import { agePartition } from '../support/data/older-files.ts';
import { reportList } from '../support/data/report-list.ts';
import { fileRows, rowTexts } from '../support/data/row-texts.ts';
import { aroundMidnight, betweenMonths } from '../support/data/small-world.ts';
import { assetsOf, itemsOf, type StacFile, walkStac } from '../support/data/stac-walk.ts';
import { publishBlockage, raysOfKtlx } from '../support/data/terrain.ts';
import { viewTexts } from '../support/data/view-rows.ts';
import { ingest, NOW_MS, onRoot, scratch } from '../support/data/world.ts';
import { publishCollections, WHOLE_NOW_MS } from '../support/service/whole-service.ts';

serveFiles();

const WRITER = fileURLToPath(new URL('../support/data/committing-writer.ts', import.meta.url));
/** Tables that the readers compare at every commit; all of them are compared before and after. */
const WATCHED: readonly Table[] = [detections, cells, tracks, dayMax, eventDays];

/**
 * A data root with a joined month, a date that was made again after it was joined, an open date, collections and static
 * tables. Files of the joined month, of one of its dates and of the open date are of earlier releases.
 */
async function everyState(t: ExecutionContext): Promise<string> {
  const root = await scratch(t, "every state's root");
  const [joined, rebuilt, open] = ['2026-03-31', '2026-04-01', '2026-05-01'];
  await ingest(root, await betweenMonths('23:20', '00:06'));
  await onRoot(root, {}, async ({ root: opened, session }) => {
    for (const date of [joined, rebuilt]) await opened.compactDay(date, NOW_MS);
    for (const month of ['2026-03', '2026-04']) await opened.compactMonth(month, NOW_MS);
    await session.rebuild(rebuilt);
    await session.finishDates();
    await session.ingest((await aroundMidnight()).slice(0, 1).flatMap(({ files }) => files));
    await refreshClimatology(opened, NOW_MS, silent);
    // The grids of the evening bring no row of these two.
    await publishMadeRows(opened, probsevere, '2026-02-01', 50, NOW_MS);
    await publishMadeRows(opened, uncovered, '2026-02-02', 50, NOW_MS);
  });
  await publishCollections(root);
  const reports = [{ time: '2354', inches: 1.5, lat: 35.3, lon: -97.2 }];
  await publishFeeds(root, [reportList(open, reports, WHOLE_NOW_MS)], WHOLE_NOW_MS);
  await publishBlockage(root, raysOfKtlx([{ tilt_deg: 0.5, distance_km: 20, blocked: 0.5 }], 90, 90));
  await agePartition(root, joined, 'before-added-columns');
  await agePartition(root, 'month-2026-03', 'before-signed-rows');
  await agePartition(root, open, 'before-signed-rows');
  await onRoot(root, { catalogues: recordedCatalogues() }, async () => {});
  return root;
}

/** Rows of the assets of items, by a reader of Parquet that knows nothing of the pipeline. */
async function assetRows(items: readonly StacFile[], table: Table): Promise<string[]> {
  const assets = items.flatMap(assetsOf).filter((asset) => asset['hail:table'] === table.name);
  return rowTexts(table, await parquetRows(assets.map(({ path }) => path)));
}

async function parquetRows(paths: readonly string[]): Promise<Record<string, unknown>[]> {
  const rows: Record<string, unknown>[] = [];
  for (const path of paths)
    rows.push(...(await parquetReadObjects({ file: await asyncBufferFromFile(path), compressors })));
  return rows;
}

/** Items with the rows of a table once: the months hold the day maxima of their dates again. */
function itemsOnce(files: readonly StacFile[]): StacFile[] {
  return itemsOf(files).filter(({ collection }) => collection !== 'hail-months');
}

/** The largest size at every pixel of every date: parts of a running date add up in the view. */
function largest(table: Table, texts: readonly string[]): readonly string[] {
  if (table.name !== dayMax.name) return texts;
  const found = new Map<string, number>();
  for (const text of texts) {
    const row = z.record(z.string(), z.unknown()).parse(Object.fromEntries(JSON.parse(text)));
    if (row.interpolated === true) continue;
    const pixel = `${row.storm_date} ${row.row} ${row.col}`;
    found.set(pixel, Math.max(Number(row.max_mm), found.get(pixel) ?? 0));
  }
  return [...found].map((pair) => pair.join(' ')).sort();
}

async function allAgree(t: ExecutionContext, root: string): Promise<void> {
  const views = await viewTexts(root, TABLES);
  const stac = itemsOnce(walkStac(root));
  t.is(views.edition, editionName((await headsOf(root)).map(shownHead)));
  for (const table of TABLES) {
    const rows = await manifestRows(root, table);
    t.deepEqual(largest(table, views.texts.get(table.name) ?? []), largest(table, rows), `view of ${table.name}`);
    t.deepEqual(await assetRows(stac, table), rows, `assets of ${table.name}`);
    t.deepEqual(await icebergRows(root, table), rows, `Iceberg table ${table.name}`);
  }
}

type Commits = readonly (readonly [partition: string, commit: number])[];

/** Rows of a table in partitions as they were at some commits, by the manifests of these numbers, which never change. */
async function rowsAt(root: string, table: Table, commits: Commits): Promise<string[]> {
  const manifests = await Promise.all(
    commits.map(async ([partition, commit]) => {
      const manifest = await readManifest(root, partition, commit);
      if (manifest === null) throw new Error(`${partition} has no manifest ${commit}`);
      return manifest;
    }),
  );
  return fileRows(root, table, manifests);
}

function digest(texts: readonly string[]): string {
  return createHash('sha256').update(texts.join('\n')).digest('hex');
}

/** What one reader saw of a table: at the commits that it named, or at some edition. */
interface Seen {
  readonly reader: 'manifests' | 'views' | 'assets' | 'Iceberg';
  readonly table: Table;
  readonly digest: string;
  readonly commits: Commits | null;
  readonly edition: string | null;
}

/** Reads the watched tables as every kind of reader does; each pins what it reads before the first file. */
async function readAll(root: string): Promise<Seen[]> {
  const seen: Seen[] = [];
  const commits = await pinnedCommits(root);
  const manifests = await Promise.all(commits.map(([partition, commit]) => readManifest(root, partition, commit)));
  for (const table of WATCHED) {
    const dated = manifests.flatMap((manifest) => (manifest === null || manifest.dates !== null ? [] : [manifest]));
    const files = dated.flatMap(({ files }) => files.filter((file) => file.table === table.name));
    const rows = rowTexts(table, await parquetRows(files.map(({ path }) => join(root, path))));
    seen.push({ reader: 'manifests', table, digest: digest(rows), commits, edition: null });
  }
  const { edition, texts } = await viewTexts(root, WATCHED);
  for (const table of WATCHED) {
    const rows = largest(table, texts.get(table.name) ?? []);
    seen.push({ reader: 'views', table, digest: digest(rows), commits: null, edition });
  }
  for (const item of itemsOf(walkStac(root), 'hail'))
    for (const table of WATCHED) {
      const commits: Commits = [[item.id, z.int().parse(item.properties?.['hail:commit'])]];
      seen.push({ reader: 'assets', table, digest: digest(await assetRows([item], table)), commits, edition: null });
    }
  for (const table of WATCHED) {
    const rows = await icebergRows(root, table, await metadataOf(root, table.name));
    seen.push({ reader: 'Iceberg', table, digest: digest(rows), commits: null, edition: null });
  }
  return seen;
}

/** Open dates at the commits that `current.json` names, other partitions at those of their heads. */
async function pinnedCommits(root: string): Promise<Commits> {
  const open = new Map(Object.entries((await readCurrent(root))?.open_dates ?? {}));
  const names = await fs.readdir(join(root, 'manifests'));
  const partitions = names.filter((name) => !name.includes('.'));
  return Promise.all(
    partitions.map(async (partition) => {
      const commit = open.get(partition) ?? (await readHead(root, partition))?.commit;
      if (commit === undefined) throw new Error(`${partition} has no head`);
      return [partition, commit] as const;
    }),
  );
}

const Recorded = z.array(z.tuple([z.string(), z.int()]));

/** Editions that the writer published, in order. */
async function recordedEditions(root: string): Promise<Commits[]> {
  const lines = (await fs.readFile(join(root, RECORD), 'utf8')).trimEnd().split('\n');
  return lines.map((line) => Recorded.parse(JSON.parse(line)));
}

async function nameOf(root: string, commits: Commits): Promise<string> {
  const heads = await Promise.all(
    commits.map(async ([partition, commit]) => {
      const manifest = await readManifest(root, partition, commit);
      if (manifest === null) throw new Error(`${partition} has no manifest ${commit}`);
      return shownHead(headOf(manifest));
    }),
  );
  return editionName(heads);
}

test('manifests, views, STAC assets and Iceberg give the same rows of every table, also while another process commits', async (t) => {
  t.timeout(300_000);
  const root = await everyState(t);
  for (const table of TABLES) t.true((await manifestRows(root, table)).length > 0, `no row of ${table.name}`);
  await allAgree(t, root);

  const writer = spawn(process.execPath, [WRITER, root], { stdio: ['ignore', 'inherit', 'inherit'] });
  const ended = new Promise<number | null>((resolve) => {
    writer.once('exit', resolve);
  });
  const seen: Seen[] = [];
  while (writer.exitCode === null && writer.signalCode === null) seen.push(...(await readAll(root)));
  t.is(await ended, 0);

  const editions = await recordedEditions(root);
  const names = await Promise.all(editions.map((commits) => nameOf(root, commits)));
  const known = new Map<string, Promise<string>>();
  const expected = (table: Table, commits: Commits, isView: boolean) => {
    const key = JSON.stringify([table.name, isView, commits]);
    const found =
      known.get(key) ?? rowsAt(root, table, commits).then((rows) => digest(isView ? largest(table, rows) : rows));
    known.set(key, found);
    return found;
  };
  const newest = new Map<string, number>();
  for (const { reader, table, digest, commits, edition } of seen) {
    const what = `${reader} of ${table.name}`;
    if (commits !== null) {
      t.is(digest, await expected(table, commits, false), what);
      continue;
    }
    const before = newest.get(what) ?? 0;
    const at = edition === null ? await editionOf(digest, table, before) : names.indexOf(edition, before);
    t.true(at >= before, `${what}: rows of no edition, or of one before those that were read already`);
    if (edition !== null) t.is(digest, await expected(table, editions[at] ?? [], true), what);
    newest.set(what, at);
  }
  async function editionOf(digest: string, table: Table, from: number): Promise<number> {
    for (let at = from; at < editions.length; at++)
      if ((await expected(table, editions[at] ?? [], false)) === digest) return at;
    return -1;
  }
  const viewed = new Set(seen.flatMap(({ edition }) => edition ?? []));
  t.log(`${editions.length} editions, ${viewed.size} of them read through views, ${seen.length} readings`);
  t.true(viewed.size > 2, `the readers met ${viewed.size} editions, expected several`);
  await allAgree(t, root);
});
