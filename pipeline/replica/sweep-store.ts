import { layout } from '../../schemas/layout.ts';
import type { ListedObject, ObjectStore } from '../../schemas/object-store/client.ts';
import { TABLES } from '../../schemas/tables/index.ts';
import type { Swept } from '../publish/sweep-raw.ts';
import { readNumbered } from './pull.ts';
import { isTagOf, readStoredCurrent, type Stored } from './stored.ts';

/** Readers of other machines may use a list for this long after it was replaced; files are also kept this long after they were stored. */
export const STORE_GRACE_MS = 24 * 3_600_000;
/** Live files that the pointer no longer names. */
const LIVE_GRACE_MS = 2 * 3_600_000;

const NOTHING: Swept = { files: 0, bytes: 0 };

/**
 * Deletes live files that the pointer of a store no longer names. All times are those of the store's clock: it is taken to be as
 * late as the pointer, so that a store in which nothing is published is not swept.
 */
export async function sweepLive(store: ObjectStore, check: () => void): Promise<Swept> {
  const [pointer, current] = [await store.head(layout.current), await readStoredCurrent(store)];
  if (pointer === null || current === null) return NOTHING;
  const wanted = new Set<string>(Object.values(current.current.live));
  const oldest_ms = pointer.modified_ms - LIVE_GRACE_MS;
  return removeOld(store, check, await listed(store, [layout.live]), wanted, oldest_ms);
}

/**
 * Deletes files and lists of a partition that no list in use names and that were stored more than the grace ago. `head`: that of the
 * root; where the store has another one, of a writer that the root does not know, nothing is deleted.
 *
 * Lists in use are those of the head and of the pointer, and the newest one from before the grace: a file that a list in between
 * named was named by that one as well, or was stored since.
 */
export async function sweepPartition(
  store: ObjectStore,
  check: () => void,
  partition: string,
  { commit, md5 }: Stored,
): Promise<Swept> {
  const pointer = await store.head(layout.current);
  if (pointer === null) return NOTHING;
  const oldest_ms = pointer.modified_ms - STORE_GRACE_MS;
  const objects = await listed(store, [layout.manifestFolder(partition), ...foldersOf(partition)]);
  const pinned = (await readStoredCurrent(store))?.current.open_dates[partition] ?? commit;
  const before = objects
    .filter(({ modified_ms }) => modified_ms < oldest_ms)
    .map(({ key }) => numberOf(key, partition));
  const last_before = Math.max(0, ...before.filter((number) => number <= commit));
  const in_use = new Set([commit, pinned, ...(last_before === 0 ? [] : [last_before])]);
  const wanted = new Set([layout.head(partition)]);
  for (const number of in_use) {
    wanted.add(layout.manifest(partition, number));
    for (const { path } of (await readNumbered(store, partition, number)).manifest.files) wanted.add(path);
  }
  // Read after the lists: a head that has moved meanwhile may name files that these do not.
  const head = await store.head(layout.head(partition));
  if (head === null || !isTagOf(head.etag, md5)) return NOTHING;
  return removeOld(store, check, objects, wanted, oldest_ms);
}

async function removeOld(
  store: ObjectStore,
  check: () => void,
  objects: readonly ListedObject[],
  wanted: ReadonlySet<string>,
  oldest_ms: number,
): Promise<Swept> {
  let swept = NOTHING;
  for (const { key, bytes, modified_ms } of objects) {
    if (wanted.has(key) || modified_ms >= oldest_ms) continue;
    check();
    // A writer may have stored it again since it was listed.
    const found = await store.head(key);
    if (found === null || found.modified_ms >= oldest_ms) continue;
    await store.remove(key);
    swept = { files: swept.files + 1, bytes: swept.bytes + bytes };
  }
  return swept;
}

async function listed(store: ObjectStore, folders: readonly string[]): Promise<ListedObject[]> {
  const objects: ListedObject[] = [];
  for (const folder of folders) for await (const object of store.list(`${folder}/`)) objects.push(object);
  return objects;
}

/** Number of a list of a partition by its key; 0 for any other key. */
function numberOf(key: string, partition: string): number {
  const folder = `${layout.manifestFolder(partition)}/`;
  return key.startsWith(folder) ? Number(/^(\d{6,})\.json$/.exec(key.slice(folder.length))?.[1] ?? 0) : 0;
}

/** Every folder that a list of a partition may name files in. */
function foldersOf(partition: string): string[] {
  const tables = TABLES.map(({ name }) => name);
  const [, month] = /^month-(.*)$/.exec(partition) ?? [];
  if (month !== undefined) return tables.map((name) => layout.monthTable(name, month));
  const [, collection] = /^collection-(.*)$/.exec(partition) ?? [];
  if (collection !== undefined)
    return [...tables.map((name) => layout.collectionTable(name, collection)), layout.collectionState(collection)];
  // Folders of static tables also hold the dates of other tables: their few old files stay.
  if (partition === layout.staticPartition) return [];
  const pictures = [layout.scanTiles(partition), layout.reflectivityTiles(partition), layout.dailyTiles(partition)];
  return [...tables.map((name) => layout.table(name, partition)), ...pictures, layout.stateDate(partition)];
}
