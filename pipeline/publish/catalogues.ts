import fs from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import type { Head } from '../../schemas/head.ts';
import { layout } from '../../schemas/layout.ts';
import { CATALOGUES } from '../../schemas/settings.ts';
import { deviceOf, orNull, readIfPresent, replaceFile, sizeOf } from '../files.ts';
import type { Log } from '../log.ts';
import { inParallel } from '../sources/parallel.ts';
import { listPartitions, readHead } from './manifests.ts';
import type { Swept } from './sweep-raw.ts';

/**
 * A list of the published files in the words of other programs, such as SQL views. It is made from the heads of all partitions
 * and follows every commit: it may be older than the heads for a moment, but it never names a missing file.
 */
export interface Catalogue {
  /** Its name, also that of the file that remembers what it was made from. */
  readonly name: string;
  /** The one file or folder below the data root that it lies in; of a catalogue kept by a setting, its name. */
  readonly place: string;
  /** Changes when its files are written in another way, so that they are made anew. */
  readonly version: number;
  /**
   * Brings its files up to date. `changed`: the partitions that it does not show as they are, all of them on the first call for an
   * empty catalogue, so that their heads are read in turn; a call that was interrupted is repeated with the same commits or newer ones.
   */
  readonly update: (changed: readonly PartitionCommit[], edition: Edition) => Promise<void>;
  /** Asked when a root is opened: false for a catalogue that has to be made anew, such as one of a root that was moved. */
  readonly stands?: (data_root: string) => Promise<boolean>;
  /** Deletes files of its own that it stopped naming before an instant, epoch milliseconds. Part of every sweep. */
  readonly expire?: (data_root: string, oldest_ms: number) => Promise<Swept>;
}

/** A partition and its newest commit. */
export type PartitionCommit = Pick<Head, 'partition' | 'commit'>;

/** What is published, as a catalogue sees it between two commits. */
export interface Edition {
  /** Below which every path of a head lies. */
  readonly data_root: string;
  /** Every published partition and its newest commit. */
  readonly commits: ReadonlyMap<string, number>;
  /** Reads the head of a partition. */
  readonly head: (partition: string) => Promise<Head>;
}

/** The catalogues of an open data root. */
export interface OpenCatalogues {
  /** Remembers that partitions were committed. */
  readonly committed: (manifests: readonly PartitionCommit[]) => void;
  /** Remembers that a commit failed: some of its heads may have moved, so that the next update reads all of them. */
  readonly commitFailed: () => void;
  /**
   * Brings every catalogue up to date with what was committed; costs nothing when nothing was. A catalogue that fails is logged
   * and tried again after the next commit: it stays behind, and everything that it names still lies there until the next sweep.
   */
  readonly update: () => Promise<void>;
  /**
   * To be called before files are deleted: afterwards no catalogue names a file that the newest manifests do not name. One that is
   * behind and fails again is withdrawn, and made anew later; so is one that a setting kept once and keeps no more.
   */
  readonly beforeDeletion: () => Promise<void>;
}

/** What a catalogue was made from. */
const MadeFrom = z.object({ version: z.int(), commits: z.record(z.string(), z.int().positive()) });

/** Heads read at a time: a first call reads thousands, and a process may open only so many files. */
const HEADS_AT_A_TIME = 4;

/** A catalogue, and the partitions as it shows them; null: it has to be made anew. */
interface Kept {
  readonly catalogue: Catalogue;
  shown: Map<string, number> | null;
}

/**
 * Opens catalogues: those that a killed process left behind the heads are due at the first update. A catalogue is made anew when
 * it was deleted, or when its memory is missing, unreadable, of another version, or of a partition that is no longer there.
 * `heads`: those that were read while the root was opened, which are not read again for their commits.
 */
export function openCatalogues(
  dataRoot: string,
  catalogues: readonly Catalogue[],
  log: Log,
  heads: Iterable<PartitionCommit> = [],
): OpenCatalogues {
  const kept: Kept[] = catalogues.map((catalogue) => ({ catalogue, shown: null }));
  let opening: readonly PartitionCommit[] = [...heads];
  let edition: (Edition & { readonly commits: Map<string, number> }) | null = null;
  let isDue = catalogues.length > 0;
  let behind: readonly Catalogue[] = [];
  const open = async () => {
    const commits = await publishedCommits(dataRoot, opening);
    // After a commit that failed the disk alone says what is published.
    opening = [];
    for (const one of kept) {
      const shown = await readMadeFrom(dataRoot, one.catalogue);
      const isWhole = shown !== null && [...shown.keys()].every((partition) => commits.has(partition));
      one.shown = isWhole && ((await one.catalogue.stands?.(dataRoot)) ?? true) ? shown : null;
    }
    edition = { data_root: dataRoot, commits, head: (partition) => publishedHead(dataRoot, partition) };
    return edition;
  };
  /** The catalogues that cannot be brought up to date. */
  const follow = async (): Promise<Catalogue[]> => {
    let opened: Edition;
    try {
      opened = edition ?? (await open());
    } catch (error) {
      for (const { name } of catalogues) sayFailure(log, name, error);
      return [...catalogues];
    }
    const failed: Catalogue[] = [];
    for (const one of kept) {
      try {
        await bringUpToDate(dataRoot, one, opened);
      } catch (error) {
        sayFailure(log, one.catalogue.name, error);
        failed.push(one.catalogue);
      }
    }
    return failed;
  };
  const update = async () => {
    if (!isDue) return;
    isDue = false;
    behind = await follow();
  };
  return {
    committed: (manifests) => {
      for (const { partition, commit } of manifests) edition?.commits.set(partition, commit);
      isDue ||= catalogues.length > 0 && manifests.length > 0;
    },
    commitFailed: () => {
      edition = null;
      isDue = catalogues.length > 0;
    },
    update,
    beforeDeletion: async () => {
      isDue ||= behind.length > 0;
      await update();
      for (const { name, place } of behind) {
        await withdraw(dataRoot, name, place);
        const one = kept.find(({ catalogue }) => catalogue.name === name);
        if (one !== undefined) one.shown = null;
        log.warn('Catalogue:Withdrawn', { catalogue: name });
      }
      for (const name of CATALOGUES) {
        if (catalogues.some((one) => one.name === name)) continue;
        const traces = [layout.catalogueMemory(name), layout.withdrawnCatalogue(name)];
        const sizes = await Promise.all(traces.map((path) => sizeOf(join(dataRoot, path))));
        if (sizes.every((size) => size === null)) continue;
        await withdraw(dataRoot, name, name);
        log.info('Catalogue:Withdrawn', { catalogue: name });
      }
    },
  };
}

/** Says that a catalogue failed. Its fault costs itself only. */
export function sayFailure(log: Log, catalogue: string, error: unknown): void {
  log.warn('Catalogue:Update:Failed', { catalogue, reason: error instanceof Error ? error.message : String(error) });
}

async function bringUpToDate(dataRoot: string, kept: Kept, edition: Edition): Promise<void> {
  const { catalogue } = kept;
  // What a catalogue of another version, or of other partitions, left must not stay beside the new one.
  if (kept.shown === null) await withdraw(dataRoot, catalogue.name, catalogue.place);
  const shown = kept.shown ?? new Map<string, number>();
  const due = [...edition.commits].filter(([partition, commit]) => shown.get(partition) !== commit);
  if (due.length > 0) {
    await catalogue.update(
      due.map(([partition, commit]) => ({ partition, commit })),
      edition,
    );
    for (const [partition, commit] of due) shown.set(partition, commit);
    const memory = { version: catalogue.version, commits: Object.fromEntries(shown) };
    await replaceFile(memoryOf(dataRoot, catalogue.name), `${JSON.stringify(memory)}\n`);
  }
  kept.shown = shown;
}

/**
 * Removes a catalogue whole. A mark stands for its memory meanwhile: a process that is killed leaves neither a catalogue that
 * seems whole, nor a rest that nobody removes. Renaming needs no room: a full disk is a reason to remove one.
 */
async function withdraw(dataRoot: string, name: string, place: string): Promise<void> {
  const mark = join(dataRoot, layout.withdrawnCatalogue(name));
  await orNull(() => fs.rename(memoryOf(dataRoot, name), mark));
  await fs.rm(join(dataRoot, place), { recursive: true, force: true });
  await fs.rm(mark, { recursive: true, force: true });
}

function memoryOf(dataRoot: string, name: string): string {
  return join(dataRoot, layout.catalogueMemory(name));
}

async function publishedCommits(dataRoot: string, known: readonly PartitionCommit[]): Promise<Map<string, number>> {
  const commits = new Map(known.map(({ partition, commit }) => [partition, commit]));
  const others = (await listPartitions(dataRoot)).all.filter((partition) => !commits.has(partition));
  await inParallel(others, HEADS_AT_A_TIME, async (partition) => {
    const head = await readHead(dataRoot, partition);
    // A partition without a head was never published: its process was killed before.
    if (head !== null) commits.set(partition, head.commit);
  });
  return commits;
}

async function publishedHead(dataRoot: string, partition: string): Promise<Head> {
  const found = await readHead(dataRoot, partition);
  if (found !== null) return found;
  throw new Error(`${layout.head(partition)} is missing, expected the head of a published partition`);
}

async function readMadeFrom(
  dataRoot: string,
  { name, place, version }: Catalogue,
): Promise<Map<string, number> | null> {
  try {
    const text = await readIfPresent(memoryOf(dataRoot, name));
    if (text === null || deviceOf(join(dataRoot, place)) === null) return null;
    const memory = MadeFrom.parse(JSON.parse(text));
    return memory.version === version ? new Map(Object.entries(memory.commits)) : null;
  } catch {
    return null;
  }
}
