import { existsSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { asNoQuestion, type Engine, type Queries } from '../published/duckdb.ts';

/** A value with its size in memory. */
export interface Sized {
  readonly bytes: number;
}

/** Makes a value from a published file, once: published files never change under their name. */
export interface FileView<Made extends Sized> {
  readonly name: string;
  /** Reads one file; the value must not take more than its `bytes`. */
  readonly read: (queries: Queries, path: string) => Promise<Made>;
}

/** Values of published files in memory, up to a bound; the least recently used go first. */
export interface FileMemory {
  /**
   * The value of a file; null when it is not in memory, or when the file has gone. The caller then reads the file itself, and
   * fails if it is missing; the memory reads it too, afterwards, for later questions.
   */
  readonly of: <Made extends Sized>(view: FileView<Made>, path: string) => Made | null;
  /** The values of the files that are in memory, and the paths of the others. */
  readonly split: <Made extends Sized>(
    view: FileView<Made>,
    paths: readonly string[],
  ) => { readonly inMemory: Made[]; readonly unread: string[] };
  /**
   * Reads files before any question needs them, in this order: after all that questions asked for, in turn with their
   * statements, and only while there is room. No value is removed for them, and the last of them is the first to be removed.
   * Replaces the files that were still to be read ahead, and removes the values of files that have gone.
   */
  readonly readAhead: (view: FileView<Sized>, paths: readonly string[]) => void;
  readonly bytes: () => number;
  /** Resolves once no file is being read and none waits. */
  readonly settled: () => Promise<void>;
  /** Stops reading, after the file that is being read. */
  readonly close: () => Promise<void>;
}

export interface FileMemoryOptions {
  readonly bytes_max?: number;
  /** False for a file that has gone; looks for the file itself when left out. */
  readonly has?: (path: string) => boolean;
  /** Called for a file that could not be read. It has no other effect: the question reads the file itself. */
  readonly failed?: (path: string, error: unknown) => void;
}

/** Three times what a usual year of CONUS takes: 2.4 million pixels, 40 MB. */
const BYTES_MAX = 128_000_000;
/** Files that wait to be read; of more the oldest is dropped until it is asked for again. */
const WAITING_MAX = 1024;
/**
 * Pause after each file, so that questions go on. Where they need more files than fit, a value is soon removed again, and reading
 * must not cost more than a fraction of a core.
 */
const PAUSE_MS = { usually: 5, ahead: 20, when_full: 200 } as const;

interface Entry {
  readonly path: string;
  readonly made: Sized;
}

interface Wanted {
  readonly key: string;
  readonly view: FileView<Sized>;
  readonly path: string;
}

/** Opens an empty memory. It reads one file at a time, ahead of the statements that wait for the engine. */
export function openFileMemory(engine: Engine, options: FileMemoryOptions = {}): FileMemory {
  const { bytes_max = BYTES_MAX, has = existsSync, failed = () => {} } = options;
  /** By view and path, least recently used first. A plain map: files that are read ahead are inserted at its old end. */
  let entries = new Map<string, Entry>();
  const waiting = new Map<string, Wanted>();
  /** Files to be read ahead, the next one first. */
  let ahead: Wanted[] = [];
  let bytes = 0;
  let running: Promise<void> | null = null;
  let closed = false;

  const wantedFile = (view: FileView<Sized>, path: string): Wanted => ({ key: `${view.name} ${path}`, view, path });
  const remove = (key: string, { made }: Entry) => {
    entries.delete(key);
    bytes -= made.bytes;
  };
  /** True when other values were removed to make room. */
  const insert = ({ key, path }: Wanted, made: Sized): boolean => {
    if (made.bytes > bytes_max) return false;
    let isFull = false;
    for (const [oldest, entry] of entries) {
      if (bytes + made.bytes <= bytes_max) break;
      remove(oldest, entry);
      isFull = true;
    }
    entries.set(key, { path, made });
    bytes += made.bytes;
    return isFull;
  };
  const readAsked = async (wanted: Wanted) => {
    try {
      const isFull = insert(wanted, await wanted.view.read(engine.priority, wanted.path));
      await pause(isFull ? PAUSE_MS.when_full : PAUSE_MS.usually);
    } finally {
      waiting.delete(wanted.key);
    }
  };
  const readNextAhead = async ({ key, view, path }: Wanted) => {
    try {
      const made = await view.read(engine, path);
      if (bytes + made.bytes > bytes_max) ahead = [];
      else {
        entries = new Map([[key, { path, made }], ...entries]);
        bytes += made.bytes;
      }
    } finally {
      await pause(PAUSE_MS.ahead);
    }
  };
  const readAll = async () => {
    for (;;) {
      // The file that was asked for last is the one that other questions need now.
      const asked = [...waiting.values()].at(-1);
      const wanted = asked ?? ahead.shift();
      if (wanted === undefined || closed) return;
      if (entries.has(wanted.key)) {
        waiting.delete(wanted.key);
        continue;
      }
      try {
        await (asked === undefined ? readNextAhead(wanted) : readAsked(asked));
      } catch (error) {
        if (!closed) failed(wanted.path, error);
      }
    }
  };
  const read = () => {
    running ??= asNoQuestion(readAll).finally(() => {
      running = null;
      if (waiting.size + ahead.length > 0 && !closed) read();
    });
  };
  const of = <Made extends Sized>(view: FileView<Made>, path: string): Made | null => {
    const wanted = wantedFile(view, path);
    const entry = entries.get(wanted.key);
    if (entry !== undefined && !has(path)) remove(wanted.key, entry);
    else if (entry !== undefined) {
      entries.delete(wanted.key);
      entries.set(wanted.key, entry);
      return entry.made as Made;
    } else if (!waiting.has(wanted.key) && !closed) {
      waiting.set(wanted.key, wanted);
      if (waiting.size > WAITING_MAX) waiting.delete(waiting.keys().next().value as string);
      read();
    }
    return null;
  };
  return {
    of,
    split: (view, paths) => {
      const found = paths.map((path) => of(view, path));
      return {
        inMemory: found.filter((made) => made !== null),
        unread: paths.filter((_, index) => found[index] === null),
      };
    },
    readAhead: (view, paths) => {
      if (closed) return;
      for (const [key, entry] of entries) if (!has(entry.path)) remove(key, entry);
      ahead = paths.map((path) => wantedFile(view, path));
      read();
    },
    bytes: () => bytes,
    settled: async () => {
      while (running !== null) await running;
    },
    close: async () => {
      closed = true;
      await running;
    },
  };
}
