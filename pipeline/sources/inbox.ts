import { watch as watchFolder } from 'node:fs';
import { asUnreadable, PipelineError, Unreadable } from '../error.ts';
import { listFolder, type UnreadableEntry } from './folder.ts';
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

interface WatchOptions {
  readonly folder: string;
  /** Time between two polls; a change in the folder ends the wait early. */
  readonly poll_ms: number;
  /** An incomplete file counts as arrived once it has not changed for this long: its reader reports the fault. */
  readonly unchanged_ms?: number;
  readonly signal: AbortSignal;
  /** Monotonic clock, milliseconds. */
  readonly now?: () => number;
  /** Waits until the next poll; returns early when the signal aborts. */
  readonly pause?: (ms: number) => Promise<void>;
}

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
  const { folder, poll_ms, unchanged_ms = UNCHANGED_MS, signal, now = () => performance.now() } = given;
  const hints = given.pause ? null : watchHints(folder, signal);
  const pause = given.pause ?? hints?.pause ?? (async () => {});
  const poll = openPoll(folder, unchanged_ms);
  try {
    while (!signal.aborted) {
      const arrival = await poll(now());
      if (arrival.files.length + arrival.unknown.length + arrival.unreadable.length > 0) yield arrival;
      if (!signal.aborted) await pause(poll_ms);
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

/** Lists the folder and compares it with the poll before. */
function openPoll(folder: string, unchanged_ms: number): (now_ms: number) => Promise<Arrival> {
  let seen: ReadonlyMap<string, SeenFile> | null = null;
  let known: readonly string[] = [];
  let reported: ReadonlyMap<string, string> = new Map();
  const unlessReported = (entries: readonly UnreadableEntry[]) => {
    const before = reported;
    reported = new Map(entries.map(({ key, reason }) => [key, reason]));
    return entries.filter(({ key, reason }) => before.get(key) !== reason);
  };
  return async (now_ms) => {
    const isFirst = seen === null;
    const listing = await listFolder(folder).catch((error: unknown) => {
      if (isFirst || !(error instanceof PipelineError)) throw error;
      return null;
    });
    // Files of an unreachable folder are not new when the folder returns.
    if (listing === null) {
      const unreadable = unlessReported([{ key: folder, reason: 'is not a folder that can be read' }]);
      return { files: [], unknown: [], unreadable };
    }
    const files: SourceFile[] = [];
    const unreadable = [...listing.unreadable];
    const found = new Map<string, SeenFile>();
    for (const file of listing.files) {
      const { key, bytes, modified_ms, location, name } = file;
      const last = seen?.get(key);
      const before = last?.bytes === bytes && last.modified_ms === modified_ms ? last : undefined;
      const since_ms = before?.since_ms ?? now_ms;
      try {
        const isWhole = before === undefined ? (await faultOf(location, name)) === null : before.arrived;
        const arrived = isWhole || now_ms - since_ms >= unchanged_ms;
        found.set(key, { bytes, modified_ms, since_ms, arrived });
        if (arrived && before?.arrived !== true) files.push(file);
      } catch (error) {
        const fault = asUnreadable(location, error);
        if (!(fault instanceof Unreadable)) throw error;
        if (!fault.is_gone) unreadable.push({ key, reason: fault.reason });
      }
    }
    const unknown = listing.unknown.filter((key) => !known.includes(key));
    seen = found;
    known = listing.unknown;
    return { files, unknown, unreadable: unlessReported(unreadable) };
  };
}

function watchHints(folder: string, signal: AbortSignal) {
  let hint = new AbortController();
  const close = openWatcher(folder, () => hint.abort());
  const pause = async (ms: number) => {
    await pauseFor(ms, AbortSignal.any([signal, hint.signal]));
    if (hint.signal.aborted) await pauseFor(Math.min(ms, AFTER_HINT_MS), signal);
    hint = new AbortController();
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
