import { watch as watchFolder } from 'node:fs';
import { asUnreadable, PipelineError, Unreadable } from '../error.ts';
import { type FolderFile, type FolderListing, listFolder, type UnreadableEntry } from './folder.ts';
import { pause as pauseFor } from './http.ts';
import { faultOf } from './integrity.ts';
import type { SourceFile } from './names.ts';

/** Files that one poll found for the first time. */
export interface Arrival {
  /** Whole files, new or changed, in order of their keys. */
  readonly files: readonly SourceFile[];
  /** Keys of files whose names are unknown. */
  readonly unknown: readonly string[];
  /** Entries that cannot be read at present, each reported once; they arrive when they can be read. */
  readonly unreadable: readonly UnreadableEntry[];
}

export interface WatchOptions {
  readonly folder: string;
  /** Time between two polls; a change in the folder ends the wait early. */
  readonly poll_ms?: number;
  /** An incomplete file counts as arrived once it has not changed for this long: its reader reports the fault. */
  readonly unchanged_ms?: number;
  readonly signal?: AbortSignal;
  /** Monotonic clock, milliseconds. */
  readonly now?: () => number;
  /** Waits until the next poll; returns early when the signal aborts. */
  readonly pause?: (ms: number) => Promise<void>;
}

const POLL_MS = 2000;
const UNCHANGED_MS = 15_000;
/** Wait after a hint, so that a file being written does not cause a poll per block. */
const AFTER_HINT_MS = 100;

/**
 * Arrivals in a folder, at any depth, until the signal aborts; the first poll reports the files that are there already.
 * A whole file arrives with the next poll, a file that is still being written once it is whole. A file whose size or
 * modification time changes arrives again. Entries that cannot be read, the folder itself after the first poll included,
 * are reported and tried again. Change notifications of the operating system shorten the wait; without them polling finds
 * the files.
 */
export async function* watch(given: WatchOptions): AsyncGenerator<Arrival, void, undefined> {
  const { folder, poll_ms = POLL_MS, unchanged_ms = UNCHANGED_MS, signal, now = () => performance.now() } = given;
  const hints = given.pause ? null : watchHints(folder, signal);
  const pause = given.pause ?? hints?.pause ?? (async () => {});
  let seen: SeenFolder | null = null;
  try {
    while (!signal?.aborted) {
      const result: Poll = await poll(folder, seen, now(), unchanged_ms);
      seen = result.seen;
      const { files, unknown, unreadable } = result.arrival;
      if (files.length + unknown.length + unreadable.length > 0) yield result.arrival;
      if (!signal?.aborted) await pause(poll_ms);
    }
  } finally {
    hints?.close();
  }
}

/** State of a file at the last poll. */
interface SeenFile {
  readonly bytes: number;
  readonly modified_ms: number;
  /** When the file was first seen like this. */
  readonly since_ms: number;
  readonly arrived: boolean;
}

interface SeenFolder {
  readonly files: ReadonlyMap<string, SeenFile>;
  readonly unknown: ReadonlySet<string>;
  /** Key -> reason. */
  readonly unreadable: ReadonlyMap<string, string>;
}

/** Outcome of one poll. */
interface Poll {
  readonly seen: SeenFolder;
  readonly arrival: Arrival;
}

/** Lists the folder and compares it with earlier polls; `known` is null at the first. */
async function poll(folder: string, known: SeenFolder | null, now_ms: number, unchanged_ms: number): Promise<Poll> {
  const seen = known ?? { files: new Map(), unknown: new Set(), unreadable: new Map() };
  const listing = await listed(folder, known === null);
  // Files of a folder that is out of reach for now are not new when it comes back.
  if (listing === null) return outOfReach(seen, folder);
  const files: SourceFile[] = [];
  const unreadable = [...listing.unreadable];
  const filesSeen = new Map<string, SeenFile>();
  for (const file of listing.files) {
    const before = seen.files.get(file.key);
    const after = await readAgain(file, before, now_ms, unchanged_ms);
    if (after instanceof Unreadable) {
      if (!after.is_gone) unreadable.push({ key: file.key, reason: after.reason });
      continue;
    }
    filesSeen.set(file.key, after);
    if (after.arrived && !(before?.arrived && isSame(file, before))) files.push(file);
  }
  const unknown = listing.unknown.filter((key) => !seen.unknown.has(key));
  return {
    seen: {
      files: filesSeen,
      unknown: new Set(listing.unknown),
      unreadable: new Map(unreadable.map(({ key, reason }) => [key, reason])),
    },
    arrival: {
      files,
      unknown,
      unreadable: unreadable.filter(({ key, reason }) => seen.unreadable.get(key) !== reason),
    },
  };
}

/** Listing of the folder; null when it is out of reach after it was there once. */
async function listed(folder: string, isFirst: boolean): Promise<FolderListing | null> {
  try {
    return await listFolder(folder);
  } catch (error) {
    if (isFirst || !(error instanceof PipelineError)) throw error;
    return null;
  }
}

function outOfReach(seen: SeenFolder, folder: string): Poll {
  const reason = 'is not a folder that can be read';
  const isKnown = seen.unreadable.get(folder) === reason;
  return {
    seen: { ...seen, unreadable: new Map([[folder, reason]]) },
    arrival: { files: [], unknown: [], unreadable: isKnown ? [] : [{ key: folder, reason }] },
  };
}

/** State of a file after this poll, or why it cannot be read. */
async function readAgain(
  file: FolderFile,
  before: SeenFile | undefined,
  now_ms: number,
  unchanged_ms: number,
): Promise<SeenFile | Unreadable> {
  if (before && isSame(file, before))
    return { ...before, arrived: before.arrived || now_ms - before.since_ms >= unchanged_ms };
  const { bytes, modified_ms } = file;
  try {
    return { bytes, modified_ms, since_ms: now_ms, arrived: (await faultOf(file.location, file.name)) === null };
  } catch (error) {
    const unreadable = asUnreadable(file.location, error);
    if (unreadable instanceof Unreadable) return unreadable;
    throw error;
  }
}

function isSame(file: FolderFile, before: SeenFile): boolean {
  return file.bytes === before.bytes && file.modified_ms === before.modified_ms;
}

function watchHints(folder: string, signal: AbortSignal | undefined) {
  let hinted = false;
  let wake = () => {};
  const hint = () => {
    hinted = true;
    wake();
  };
  const close = openWatcher(folder, hint);
  const pause = async (ms: number) => {
    const woken = new AbortController();
    wake = () => woken.abort();
    if (hinted) wake();
    await pauseFor(ms, signal ? AbortSignal.any([signal, woken.signal]) : woken.signal);
    if (hinted) await pauseFor(Math.min(ms, AFTER_HINT_MS), signal);
    hinted = false;
  };
  return { pause, close };
}

/** Calls `hint` on changes; where watching is impossible or breaks (inotify limits, network drives) it never calls again. */
function openWatcher(folder: string, hint: () => void): () => void {
  try {
    const watcher = watchFolder(folder, { recursive: true }, hint);
    watcher.on('error', () => watcher.close());
    return () => watcher.close();
  } catch {
    return () => {};
  }
}
