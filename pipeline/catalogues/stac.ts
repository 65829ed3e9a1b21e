import fs from 'node:fs/promises';
import { join } from 'node:path';
import type { Head } from '../../schemas/head.ts';
import { layout } from '../../schemas/layout.ts';
import { namesIn, readIfPresent, replaceFile } from '../files.ts';
import type { Catalogue, Edition } from '../publish/catalogues.ts';
import { readManifestOf } from '../publish/manifests.ts';
import { inParallel } from '../sources/parallel.ts';
import { assetsOf } from './stac-assets.ts';
import { STAC_COLLECTIONS } from './stac-collections.ts';
import { collectionFile, rootFile, yearFile } from './stac-files.ts';
import { dataRootFrom, entriesOf, foldersOf, itemOf, type StacEntry, type StacFolder } from './stac-items.ts';

/** Partitions worked on at a time. */
const AT_A_TIME = 16;

const CATALOG = 'catalog.json';
const COLLECTION = 'collection.json';

/** Items by partition. */
type Entries = Map<string, readonly StacEntry[]>;

/**
 * The STAC catalogue: static files with relative links, for any web server or the disk. An item is written before what links to
 * it and removed after it: whoever follows links never meets a missing file. A commit costs its own items, the lists of
 * their years and their collections; a file that stays the same is not written.
 */
export function stacCatalogue(): Catalogue {
  /** Items of every partition; null before the first update of this process, and after one that failed. */
  let known: Entries | null = null;
  return {
    name: 'stac',
    place: layout.stac,
    version: 1,
    update: async (changed, edition) => {
      const entries: Entries = known ?? new Map();
      known = null;
      const top = join(edition.data_root, layout.stac);
      const due = new Set(changed.map(({ partition }) => partition));
      const unknown = [...edition.commits.keys()].filter((partition) => due.has(partition) || !entries.has(partition));
      await inParallel(unknown, AT_A_TIME, async (partition) => {
        const head = await edition.head(partition);
        entries.set(partition, entriesOf(head));
        if (due.has(partition)) await writeItems(top, head, edition);
      });
      const listed = [...entries.values()].flat();
      const touched = [
        ...new Map(changed.flatMap(({ partition }) => foldersOf(partition)).map((one) => [pathOf(one), one])),
      ];
      for (const [path, folder] of touched)
        if (folder.year !== null)
          await writeUnlessEmpty(join(top, path, CATALOG), yearFile(folder, itemsIn(listed, folder)));
      const collections = STAC_COLLECTIONS.filter(({ id }) => touched.some(([, { collection }]) => collection === id));
      for (const one of collections) {
        const items = listed.filter(({ collection }) => collection === one.id);
        await writeUnlessEmpty(join(top, one.id, COLLECTION), collectionFile(one, items));
      }
      await writeIfChanged(join(top, CATALOG), rootFile(listed));
      for (const [path, folder] of touched) {
        const names = itemsIn(listed, folder).map(({ id }) => `${id}.json`);
        await removeOthers(
          join(top, path),
          [...names, folder.year === null ? COLLECTION : CATALOG],
          names.length === 0,
        );
      }
      for (const { id } of collections)
        if (!listed.some(({ collection }) => collection === id))
          await fs.rm(join(top, id), { recursive: true, force: true });
      known = entries;
    },
  };
}

function pathOf({ collection, year }: StacFolder): string {
  return year === null ? collection : `${collection}/${year}`;
}

function itemsIn(entries: readonly StacEntry[], { collection, year }: StacFolder): StacEntry[] {
  return entries.filter((entry) => entry.collection === collection && entry.year === year);
}

/** Writes the items of a partition. The head lists the tables; only the manifest lists the archives. */
async function writeItems(top: string, head: Head, { data_root }: Edition): Promise<void> {
  const entries = entriesOf(head);
  if (entries.length === 0) return;
  const { files } = head.scans.count === 0 ? head : await readManifestOf(data_root, head);
  for (const entry of entries) {
    const assets = assetsOf(files.filter(entry.holds), dataRootFrom(entry));
    await writeIfChanged(join(top, pathOf(entry), `${entry.id}.json`), itemOf(entry, head.partition, assets));
  }
}

async function writeUnlessEmpty(path: string, content: object | null): Promise<void> {
  if (content !== null) await writeIfChanged(path, content);
}

async function writeIfChanged(path: string, content: object): Promise<void> {
  const text = `${JSON.stringify(content)}\n`;
  if ((await readIfPresent(path)) !== text) await replaceFile(path, text);
}

/** Deletes what an earlier commit left in a folder; the folder, too, when nothing is to be in it. */
async function removeOthers(folder: string, wanted: readonly string[], isEmpty: boolean): Promise<void> {
  if (isEmpty) return fs.rm(folder, { recursive: true, force: true });
  const kept = new Set(wanted);
  for (const name of await namesIn(folder))
    if (name.includes('.json') && !kept.has(name)) await fs.rm(join(folder, name));
}
