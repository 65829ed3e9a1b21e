import fs from 'node:fs/promises';
import { join } from 'node:path';
import { Table as ArrowTable, tableFromIPC, tableToIPC, Uint16, vectorFromArray } from 'apache-arrow';
import { openEngine, sqlText } from '../../../pipeline/duckdb.ts';
import { sha256 } from '../../../pipeline/files.ts';
import { readCurrent, readNewest } from '../../../pipeline/publish/manifests.ts';
import type { Table } from '../../../schemas/columns.ts';
import { headOf } from '../../../schemas/head.ts';
import { layout } from '../../../schemas/layout.ts';
import type { PublishedFile } from '../../../schemas/manifest.ts';
import { TABLES } from '../../../schemas/tables/index.ts';
import { ADDED_COMPANIONS, cells, detections } from '../../../schemas/tables/radar.ts';

/** Two earlier releases: before columns were added to tables, and before the rows and columns of the lattice were signed. */
export type Release = 'before-added-columns' | 'before-signed-rows';

/** The version of a table at an earlier release, and the columns that it had not yet. */
function versionAt(
  { schema_version, older }: Table,
  release: Release,
): { version: number; without: readonly string[] } {
  if (older === undefined) return { version: schema_version, without: [] };
  if (release === 'before-added-columns') return { version: older.readable_from, without: older.without };
  return { version: older.complete_from ?? schema_version - (older.retyped === undefined ? 0 : 1), without: [] };
}

/** Writes the rows of a published Parquet file again as an earlier release wrote them, and gives its new entry of the manifest. */
async function olderFile(root: string, file: PublishedFile, release: Release): Promise<PublishedFile> {
  const table = TABLES.find(({ name }) => name === file.table);
  if (table?.older === undefined) return file;
  const { version, without } = versionAt(table, release);
  const path = join(root, file.path);
  const excluded = without.length === 0 ? '' : `EXCLUDE (${without.join(', ')})`;
  const retyped = (table.older.retyped ?? []).map((name) => `"${name}"::USMALLINT AS "${name}"`).join(', ');
  const engine = await openEngine();
  await engine.connection.run(
    `COPY (SELECT * ${excluded} ${retyped === '' ? '' : `REPLACE (${retyped})`} FROM read_parquet(${sqlText(path)}, hive_partitioning = false))
     TO ${sqlText(`${path}.old`)} (FORMAT parquet, KV_METADATA {hail_table: ${sqlText(table.name)}, schema_version: '${version}'})`,
  );
  engine.close();
  await fs.rename(`${path}.old`, path);
  const bytes = await fs.readFile(path);
  return { ...file, schema_version: version, bytes: bytes.length, sha256: sha256(bytes) };
}

/** Takes the published tables of a partition back to an earlier release: files, manifest and head. */
export async function agePartition(root: string, partition: string, release: Release): Promise<void> {
  const manifest = await readNewest(root, partition);
  if (manifest === null) throw new Error(`${partition} has no manifest`);
  const files: PublishedFile[] = [];
  for (const file of manifest.files) files.push(await olderFile(root, file, release));
  const { feeds, ...old } = { ...manifest, files };
  const kept = release === 'before-added-columns' ? {} : { feeds };
  await fs.writeFile(join(root, layout.manifest(partition, manifest.commit)), JSON.stringify({ ...old, ...kept }));
  const { feeds: _, ...head } = headOf({ ...manifest, files });
  await fs.writeFile(join(root, layout.head(partition)), JSON.stringify({ ...head, ...kept }));
}

/** Takes the columns that an earlier release had not yet out of the live snapshot. */
export async function ageLive(root: string): Promise<void> {
  const current = await readCurrent(root);
  if (current === null) throw new Error('the root has no switch');
  for (const path of [current.live.detections, current.live.cells]) {
    const table = tableFromIPC(await fs.readFile(join(root, path)));
    const added = new Set<string>(ADDED_COMPANIONS);
    const names = table.schema.names.map(String).filter((name) => !added.has(name));
    await fs.writeFile(join(root, path), tableToIPC(table.select(names), 'file'));
  }
}

/** Makes the rows and columns of the lattice in the live snapshot unsigned again, as they were before the second data format. */
export async function unsignLive(root: string): Promise<void> {
  const current = await readCurrent(root);
  if (current === null) throw new Error('the root has no switch');
  for (const { name, older } of [detections, cells]) {
    const path = join(root, current.live[name as 'detections' | 'cells']);
    const table = tableFromIPC(await fs.readFile(path));
    const vectors = table.schema.names.map((column) => {
      const vector = table.getChild(column);
      if (vector === null) throw new Error(`${name} has no column ${String(column)}`);
      return [
        String(column),
        older?.retyped?.includes(String(column)) ? vectorFromArray([...vector], new Uint16()) : vector,
      ] as const;
    });
    await fs.writeFile(path, tableToIPC(new ArrowTable(Object.fromEntries(vectors)), 'file'));
  }
}
