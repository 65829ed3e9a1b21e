import { join } from 'node:path';
import { z } from 'zod';
import type { Head } from '../../schemas/head.ts';
import { layout } from '../../schemas/layout.ts';
import { deviceOf, readIfPresent, replaceFile } from '../files.ts';
import { listPartitions, readHead } from './manifests.ts';

/**
 * A list of the published files in the words of other programs, such as SQL views. It is made from the heads of all partitions
 * and follows every commit: it may be older than the heads for a moment, but it never names a missing file.
 */
export interface Catalogue {
  /** Its name, also that of the file that remembers what it was made from. */
  readonly name: string;
  /** The one file or folder below the data root that it lies in. */
  readonly place: string;
  /** Changes when its files are written in another way, so that they are made anew. */
  readonly version: number;
  /**
   * Brings its files up to date. `changed`: heads of the partitions that it does not show as they are, all of them on the first
   * call for an empty catalogue; a call that was interrupted is repeated with the same heads or newer ones. `head` reads the head
   * of any other partition.
   */
  readonly update: (changed: readonly Head[], edition: Edition) => Promise<void>;
}

/** What is published, as a catalogue sees it between two commits. */
export interface Edition {
  /** Below which every path of a head lies. */
  readonly data_root: string;
  /** Every published partition and its newest commit. */
  readonly commits: ReadonlyMap<string, number>;
  readonly head: (partition: string) => Promise<Head>;
}

/** The catalogues of an open data root. */
export interface OpenCatalogues {
  /** Remembers that partitions were committed. */
  readonly committed: (manifests: readonly { readonly partition: string; readonly commit: number }[]) => void;
  /** Brings every catalogue up to date with what was committed; costs nothing when nothing was. */
  readonly update: () => Promise<void>;
}

/** What a catalogue was made from. */
const MadeFrom = z.object({ version: z.int(), commits: z.record(z.string(), z.int().positive()) });

/**
 * Opens catalogues: those that a killed process left behind the heads are due at the first update. A catalogue whose memory is
 * missing, unreadable or of another version is made anew, and so is one that was deleted.
 */
export async function openCatalogues(dataRoot: string, catalogues: readonly Catalogue[]): Promise<OpenCatalogues> {
  if (catalogues.length === 0) return { committed: () => {}, update: async () => {} };
  const commits = new Map<string, number>();
  for (const partition of (await listPartitions(dataRoot)).all) {
    const head = await readHead(dataRoot, partition);
    if (head !== null) commits.set(partition, head.commit);
  }
  const head = async (partition: string): Promise<Head> => {
    const found = await readHead(dataRoot, partition);
    if (found === null)
      throw new Error(`${layout.head(partition)} is missing, expected the head of a published partition`);
    return found;
  };
  const kept = await Promise.all(
    catalogues.map(async (catalogue) => ({ catalogue, shown: await readMadeFrom(dataRoot, catalogue) })),
  );
  let isDue = true;
  return {
    committed: (manifests) => {
      for (const { partition, commit } of manifests) commits.set(partition, commit);
      isDue ||= manifests.length > 0;
    },
    update: async () => {
      if (!isDue) return;
      for (const { catalogue, shown } of kept) {
        const due = [...commits].filter(([partition, commit]) => shown.get(partition) !== commit);
        if (due.length === 0) continue;
        const changed = await Promise.all(due.map(([partition]) => head(partition)));
        await catalogue.update(changed, { data_root: dataRoot, commits, head });
        for (const [partition, commit] of due) shown.set(partition, commit);
        const memory = { version: catalogue.version, commits: Object.fromEntries(shown) };
        await replaceFile(join(dataRoot, layout.catalogueMemory(catalogue.name)), `${JSON.stringify(memory)}\n`);
      }
      isDue = false;
    },
  };
}

async function readMadeFrom(dataRoot: string, { name, place, version }: Catalogue): Promise<Map<string, number>> {
  const text = await readIfPresent(join(dataRoot, layout.catalogueMemory(name)));
  if (text === null || deviceOf(join(dataRoot, place)) === null) return new Map();
  try {
    const memory = MadeFrom.parse(JSON.parse(text));
    return new Map(memory.version === version ? Object.entries(memory.commits) : []);
  } catch {
    return new Map();
  }
}
