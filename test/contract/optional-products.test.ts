import fs from 'node:fs/promises';
import { join } from 'node:path';
import { tableFromIPC, tableToIPC } from 'apache-arrow';
import test, { type ExecutionContext } from 'ava';
import { parse } from 'csv-parse/sync';
import { openCatalog } from '../../api/catalog.ts';
import { writeExport } from '../../api/jobs/export.ts';
import { hailCurrent } from '../../api/routes/hail-current.ts';
import { hailHistory } from '../../api/routes/hail-history.ts';
import { stormsGet, stormsList } from '../../api/routes/storms.ts';
import { openEngine, sqlText } from '../../pipeline/duckdb.ts';
import { sha256 } from '../../pipeline/files.ts';
import { readCurrent, readNewest } from '../../pipeline/publish/manifests.ts';
import { headOf } from '../../schemas/head.ts';
import { layout } from '../../schemas/layout.ts';
import type { Current, Manifest, PublishedFile } from '../../schemas/manifest.ts';
import type { HailCurrent } from '../../schemas/resources/hail-cell.ts';
import type { HailHistory } from '../../schemas/resources/history-event.ts';
import type { Storms, StormTrack } from '../../schemas/resources/storm.ts';
import { ADDED_COMPANIONS } from '../../schemas/tables/detections.ts';
import { TABLES } from '../../schemas/tables/index.ts';
import { withOptionalProducts } from '../support/data/optional-products.ts';
import { ingest, MONTH_LATER_MS, publish, publishedRoot, scansBetween, scratch } from '../support/data/world.ts';
import { faultsOf } from '../support/kill/killed.ts';
import { type RunningService, startService } from '../support/service/service.ts';

const DATE = '2026-05-02';
const ALL = 'lat=35.2&lon=-97&radius_km=100&detail=advanced';
const NOW_MS = Date.parse('2026-05-02T00:20:00Z');

async function serve(t: ExecutionContext, data_root: string): Promise<RunningService> {
  const endpoints = [hailCurrent, hailHistory, stormsList, stormsGet];
  const service = await startService({ endpoints, data_root, now_ms: NOW_MS });
  t.teardown(async () => {
    await service.close();
    if (service.failures.length > 0) throw service.failures[0];
  });
  return service;
}

/** Every radar block of the advanced answers. */
async function radarBlocks(service: RunningService) {
  const current = (await service.json(`/v1/hail/current?${ALL}`)) as HailCurrent;
  const history = (await service.json(`/v1/hail/history?${ALL}`)) as HailHistory;
  const storms = (await service.json(`/v1/storms?${ALL}`)) as Storms;
  const track_id = storms.cells[0]?.track_id;
  const track = (await service.json(`/v1/storms/${track_id}?date=${DATE}&detail=advanced`)) as StormTrack;
  const blocks = {
    current: current.cells.map(({ radar }) => radar),
    history: history.events.map(({ radar }) => radar),
    storms: storms.cells.map(({ radar_signals }) => radar_signals),
    track: track.points.map(({ radar_signals }) => radar_signals),
  };
  return { blocks, impacts: current.cells.map(({ impact }) => impact) };
}

test('products beside the usual ones are carried from their files to every advanced answer', async (t) => {
  const root = await scratch(t);
  await publish(root, await withOptionalProducts(t, await scansBetween('00:00', '00:10')));
  t.deepEqual(await faultsOf(root), []);
  const { blocks, impacts } = await radarBlocks(await serve(t, root));
  for (const [answer, radars] of Object.entries(blocks)) {
    t.true(radars.length > 0, answer);
    for (const radar of radars) {
      const dbz = radar?.max_reflectivity_dbz ?? Number.NaN;
      t.is(radar?.reflectivity_minus20c_dbz, dbz, answer);
      t.is(radar?.azshear_0_2km_per_s, Math.round(dbz * 10) / 10_000, answer);
    }
  }
  t.true(impacts.every((impact) => (impact?.kinetic_energy_j_m2 ?? 0) > 0));
});

test('without those products their fields are null', async (t) => {
  const root = await publishedRoot(t, await scansBetween('00:00', '00:10'));
  const { blocks, impacts } = await radarBlocks(await serve(t, root));
  for (const radar of Object.values(blocks).flat())
    t.like(radar, { reflectivity_minus20c_dbz: null, azshear_0_2km_per_s: null });
  t.true(impacts.every((impact) => impact?.kinetic_energy_j_m2 === null));
});

/** Takes a file back to the version of its table before the added columns. */
async function aged(root: string, file: PublishedFile): Promise<PublishedFile> {
  const older = TABLES.find(({ name }) => name === file.table)?.older;
  if (older === undefined) return file;
  const path = join(root, file.path);
  const engine = await openEngine();
  await engine.connection.run(
    `COPY (SELECT * EXCLUDE (${older.without.join(', ')}) FROM read_parquet(${sqlText(path)}, hive_partitioning = false))
     TO ${sqlText(`${path}.old`)} (FORMAT parquet, KV_METADATA {hail_table: ${sqlText(file.table ?? '')}, schema_version: '${older.readable_from}'})`,
  );
  engine.close();
  await fs.rename(`${path}.old`, path);
  const bytes = await fs.readFile(path);
  return { ...file, schema_version: older.readable_from, bytes: bytes.length, sha256: sha256(bytes) };
}

/** A root as the release before the added columns left it. */
async function agedRoot(t: ExecutionContext): Promise<string> {
  const root = await publishedRoot(t, await scansBetween('00:00', '00:10'));
  const manifest = (await readNewest(root, DATE)) as Manifest;
  const files = await Promise.all(manifest.files.map((file) => aged(root, file)));
  const { feeds: _, ...old } = { ...manifest, files };
  await fs.writeFile(join(root, layout.manifest(DATE, manifest.commit)), JSON.stringify(old));
  const { feeds: __, ...head } = headOf({ ...manifest, files });
  await fs.writeFile(join(root, layout.head(DATE)), JSON.stringify(head));
  const { live } = (await readCurrent(root)) as Current;
  for (const path of [live.detections, live.cells]) {
    const table = tableFromIPC(await fs.readFile(join(root, path)));
    const added = new Set<string>(ADDED_COMPANIONS);
    const names = table.schema.names.map(String).filter((name) => !added.has(name));
    await fs.writeFile(join(root, path), tableToIPC(table.select(names), 'file'));
  }
  return root;
}

test('files of the version before the added columns are still answered from, as null', async (t) => {
  const root = await agedRoot(t);
  t.deepEqual(await faultsOf(root), []);
  const { blocks } = await radarBlocks(await serve(t, root));
  for (const [answer, radars] of Object.entries(blocks)) {
    t.true(radars.length > 0, answer);
    for (const radar of radars) t.like(radar, { reflectivity_minus20c_dbz: null, azshear_0_2km_per_s: null }, answer);
  }
  t.true(blocks.history.every((radar) => radar?.max_reflectivity_dbz !== null));
});

test('an export of files of the version before has the added columns, as null', async (t) => {
  const catalog = await openCatalog(await agedRoot(t), 0);
  t.teardown(catalog.close);
  const path = await scratch(t, 'rows.csv');
  const params = {
    dataset: 'detections',
    date_start: DATE,
    date_end: DATE,
    bbox: null,
    state: null,
    format: 'csv',
  } as const;
  const { summary } = await writeExport(catalog, params, path, { signal: new AbortController().signal });
  const rows: Record<string, string>[] = parse(await fs.readFile(path, 'utf8'), { columns: true });
  t.true(rows.length > 0);
  t.is(rows.length, summary.row_count);
  t.true(rows.every(({ reflectivity_minus20c_dbz }) => reflectivity_minus20c_dbz === ''));
});

test('new scans join those of the version before, and the closed date is of the new version throughout', async (t) => {
  const root = await agedRoot(t);
  const scans = await scansBetween('00:10', '00:20');
  await ingest(root, await withOptionalProducts(t, scans));
  const { blocks } = await radarBlocks(await serve(t, root));
  t.deepEqual(await faultsOf(root), []);
  t.true(blocks.track.some((radar) => radar?.reflectivity_minus20c_dbz === null));
  t.true(blocks.track.some((radar) => radar?.reflectivity_minus20c_dbz !== null));
  await ingest(root, [], { now_ms: MONTH_LATER_MS });
  const { files, closed } = (await readNewest(root, DATE)) as Manifest;
  t.true(closed);
  for (const { table, schema_version } of files.filter(({ kind }) => kind === 'table'))
    t.is(schema_version, TABLES.find(({ name }) => name === table)?.schema_version ?? 0, table ?? '');
  t.deepEqual(await faultsOf(root), []);
});
