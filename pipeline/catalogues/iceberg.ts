import { join, resolve } from 'node:path';
import type { Table } from '../../schemas/columns.ts';
import type { Head } from '../../schemas/head.ts';
import { layout } from '../../schemas/layout.ts';
import type { PublishedFile } from '../../schemas/manifest.ts';
import { RootName } from '../../schemas/manifest.ts';
import { TABLES } from '../../schemas/tables/index.ts';
import { deviceOf, namesIn, readIfPresent, sizeOf } from '../files.ts';
import type { Catalogue, Edition } from '../publish/catalogues.ts';
import { inParallel } from '../sources/parallel.ts';
import { readManifestList } from './iceberg/avro-files.ts';
import { expireTable } from './iceberg/expire.ts';
import { readFooters } from './iceberg/footers.ts';
import { partsOf, scopeOf } from './iceberg/listed-files.ts';
import { fileName } from './iceberg/manifest-files.ts';
import {
  commitTable,
  newFiles,
  openTableChange,
  type ScopeChange,
  scopeChange,
  type TableChange,
  writeScope,
} from './iceberg/table-change.ts';
import { readNewestMetadata } from './iceberg/table-metadata.ts';

const AT_A_TIME = 16;
/** Heads in memory: those of the running month, so that a scan does not read those of its closed dates again. */
const HEADS_MAX = 40;
/** Commits that a snapshot names one by one; the first one of a large root has thousands. */
const NAMED_COMMITS_MAX = 40;

const KNOWN_TABLES = new Map<string, Table>(TABLES.map((table) => [table.name, table]));

/**
 * Apache Iceberg metadata of every published table, version 2: `iceberg/<table>/metadata/`, which names the published files where
 * they lie. A commit is one snapshot of each table that it changes, and rewrites the manifests of its partitions only.
 */
export function icebergCatalogue(): Catalogue {
  const heads = new Map<string, Head>();
  return {
    name: 'iceberg',
    place: layout.iceberg,
    version: 1,
    stands,
    expire: async (data_root, oldest_ms) => {
      const expired = { files: 0, bytes: 0 };
      for (const name of await namesIn(join(data_root, layout.iceberg))) {
        const { files, bytes } = await expireTable(metadataFolder(data_root, name), oldest_ms);
        expired.files += files;
        expired.bytes += bytes;
      }
      return expired;
    },
    update: async (due, edition) => {
      const changed = await inParallel(due, AT_A_TIME, ({ partition }) => edition.head(partition));
      for (const head of changed) remember(heads, head);
      await update(changed, { ...edition, head: (partition) => knownHead(heads, edition, partition) });
    },
  };
}

async function update(changed: readonly Head[], edition: Edition): Promise<void> {
  const { data_root, commits } = edition;
  const kept = await namesIn(join(data_root, layout.iceberg));
  const named = new Set([...kept, ...changed.flatMap(({ files }) => files.flatMap(({ table }) => table ?? []))]);
  const root_id = await readRootId(data_root);
  const changes = await inParallel(
    [...named].flatMap((name) => KNOWN_TABLES.get(name) ?? []),
    AT_A_TIME,
    (table) =>
      openTableChange(
        { table, root_id, location: locationOf(data_root, table.name) },
        metadataFolder(data_root, table.name),
      ),
  );
  // A table that shows nothing yet has to show what every partition holds of it.
  const isNew = changes.some(({ newest }) => newest.version === 0);
  const scopes = Map.groupBy(commits.keys(), scopeOf);
  const touched = isNew ? scopes.keys() : new Set(changed.map(({ partition }) => scopeOf(partition)));
  for (const scope of touched) {
    const heads = await inParallel(scopes.get(scope) ?? [], AT_A_TIME, edition.head);
    await updateScope(data_root, scope, heads, changes);
  }
  const summary = {
    'hail.partitions': String(changed.length),
    ...(changed.length > NAMED_COMMITS_MAX
      ? {}
      : { 'hail.commits': changed.map(({ partition, commit }) => `${partition}=${commit}`).join(' ') }),
  };
  const time_ms = changed.reduce((newest, { committed_at }) => Math.max(newest, Date.parse(committed_at)), 0);
  await inParallel(changes, AT_A_TIME, (change) => commitTable(change, summary, time_ms));
}

async function updateScope(
  data_root: string,
  scope: string,
  heads: readonly Head[],
  changes: readonly TableChange[],
): Promise<void> {
  const parts = partsOf(heads);
  const address = ({ path }: PublishedFile) => `${addressOf(data_root)}/${path}`;
  const due: { change: TableChange; scoped: ScopeChange }[] = [];
  for (const change of changes) {
    const scoped = await scopeChange(change, scope, parts.get(change.table.name) ?? new Map());
    if (scoped !== null) due.push({ change, scoped });
  }
  const added = due.flatMap(({ scoped }) => newFiles(scoped, address));
  const footers = await readFooters(added.map(({ path }) => join(data_root, path)));
  await inParallel(due, AT_A_TIME, ({ change, scoped }) => writeScope(change, scoped, footers, data_root, address));
}

/**
 * False for a catalogue that has to be made anew: files of it were deleted or damaged, or the data root lies elsewhere than it
 * did, since Iceberg names files by their full address.
 */
async function stands(data_root: string): Promise<boolean> {
  if (deviceOf(join(data_root, layout.iceberg)) === null) return false;
  const tables = await namesIn(join(data_root, layout.iceberg));
  return (await inParallel(tables, AT_A_TIME, (name) => tableStands(data_root, name))).every((is) => is);
}

async function tableStands(data_root: string, name: string): Promise<boolean> {
  const folder = metadataFolder(data_root, name);
  const { metadata } = await readNewestMetadata(folder);
  const snapshot = metadata?.snapshots.at(-1);
  if (metadata?.location !== locationOf(data_root, name) || snapshot === undefined) return false;
  try {
    for (const { manifest_path, manifest_length } of await readManifestList(
      join(folder, fileName(snapshot['manifest-list'])),
    ))
      if ((await sizeOf(join(folder, fileName(manifest_path)))) !== manifest_length) return false;
    return true;
  } catch {
    // Whatever is missing or damaged, all of it is made anew.
    return false;
  }
}

/** Address of a data root: Iceberg's own readers take names as they are, without percent signs for other letters. */
function addressOf(data_root: string): string {
  return `file://${resolve(data_root)}`;
}

function locationOf(data_root: string, table: string): string {
  return `${addressOf(data_root)}/${layout.iceberg}/${table}`;
}

function metadataFolder(data_root: string, table: string): string {
  return join(data_root, layout.iceberg, table, 'metadata');
}

async function readRootId(data_root: string): Promise<string | null> {
  const text = await readIfPresent(join(data_root, layout.root));
  return text === null ? null : RootName.parse(JSON.parse(text)).root_id;
}

async function knownHead(heads: Map<string, Head>, edition: Edition, partition: string): Promise<Head> {
  const known = heads.get(partition);
  const head = known?.commit === edition.commits.get(partition) ? known : undefined;
  const found = head ?? (await edition.head(partition));
  remember(heads, found);
  return found;
}

function remember(heads: Map<string, Head>, head: Head): void {
  heads.delete(head.partition);
  heads.set(head.partition, head);
  for (const oldest of [...heads.keys()].slice(0, -HEADS_MAX)) heads.delete(oldest);
}
