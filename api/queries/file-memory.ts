import { existsSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { asNoQuestion, type Engine, type Queries } from '../duckdb.ts';

/** Something that knows its size in memory. */
export interface Sized {
  readonly bytes: number;
}

/** What is made of a published file, once: published files never change under their name. */
export interface FileView<Made extends Sized> {
  readonly name: string;
  /** Reads one file; it must not return more than it says. */
  readonly read: (queries: Queries, path: string) => Promise<Made>;
}

/** What questions need of published files, in memory up to a bound; what was asked for longest ago goes first. */
export interface FileMemory {
  /**
   * What a view makes of a file; null when that is not in memory, or when the file has gone. The caller then reads the file
   * itself, and fails if it is missing; the memory reads it too, afterwards, for those who ask next.
   */
  readonly of: <Made extends Sized>(view: FileView<Made>, path: string) => Made | null;
  /**
   * Reads files that nobody has asked for yet, in this order: after all that was asked for, in turn with the statements of
   * questions, and only while there is room. Nothing goes for them, and of what nobody has asked for the last goes first.
   * Replaces what was still to be read so, and makes room by what has gone.
   */
  readonly readAhead: (view: FileView<Sized>, paths: readonly string[]) => void;
  readonly bytes: () => number;
  /** Resolves once nothing is being read and nothing waits. */
  readonly settled: () => Promise<void>;
  /** Stops reading once the file that is being read has been. */
  readonly close: () => Promise<void>;
}

export interface FileMemoryOptions {
  readonly bytes_max?: number;
  /** Told of a file that could not be read. Nothing else follows from it: who asked reads the file itself. */
  readonly failed?: (path: string, error: unknown) => void;
}

/** Three times what a usual year of CONUS takes: 2.4 million pixels, 40 MB. */
const BYTES_MAX = 128_000_000;
/** Files that wait to be read; of more the one asked for longest ago is forgotten until it is asked for again. */
const WAITING_MAX = 1024;
/**
 * Rest after each file: questions go on meanwhile. Where they need more than fits, what is read is soon driven out again, and
 * must not cost more than a fraction of a core.
 */
const REST_MS = { usually: 5, ahead: 20, when_full: 200 } as const;

interface Kept {
  readonly path: string;
  readonly made: Sized;
}

interface Wanted {
  readonly key: string;
  readonly view: FileView<Sized>;
  readonly path: string;
}

/** Keeps what questions ask for; files are read one at a time, ahead of the statements that wait. */
export function openFileMemory(engine: Engine, options: FileMemoryOptions = {}): FileMemory {
  const { bytes_max = BYTES_MAX, failed = () => {} } = options;
  /** By view and path, asked for longest ago first. */
  let kept = new Map<string, Kept>();
  const waiting = new Map<string, Wanted>();
  /** Nobody has asked for these; the next one first. */
  let ahead: Wanted[] = [];
  let bytes = 0;
  let running: Promise<void> | null = null;
  let closed = false;

  const drop = (key: string, { made }: Kept) => {
    kept.delete(key);
    bytes -= made.bytes;
  };
  /** True when something had to go for it. */
  const keep = (key: string, path: string, made: Sized): boolean => {
    if (made.bytes > bytes_max) return false;
    let isFull = false;
    for (const [oldest, entry] of kept) {
      if (bytes + made.bytes <= bytes_max) break;
      drop(oldest, entry);
      isFull = true;
    }
    kept.set(key, { path, made });
    bytes += made.bytes;
    return isFull;
  };
  /** Keeps what nobody asked for, as what goes first; where there is no room, nothing more is read ahead. */
  const keepAhead = ({ key, path }: Wanted, made: Sized) => {
    if (bytes + made.bytes > bytes_max) ahead = [];
    else {
      kept = new Map([[key, { path, made }], ...kept]);
      bytes += made.bytes;
    }
  };
  const readAsked = async ({ key, view, path }: Wanted) => {
    try {
      const isFull = keep(key, path, await view.read(engine.priority, path));
      await pause(isFull ? REST_MS.when_full : REST_MS.usually);
    } finally {
      waiting.delete(key);
    }
  };
  const readNext = async (wanted: Wanted) => {
    try {
      keepAhead(wanted, await wanted.view.read(engine, wanted.path));
    } finally {
      await pause(REST_MS.ahead);
    }
  };
  const readAll = async () => {
    for (;;) {
      // What was asked for last is what others ask for now.
      const asked = [...waiting.values()].at(-1);
      const wanted = asked ?? ahead.shift();
      if (wanted === undefined || closed) return;
      if (kept.has(wanted.key)) {
        waiting.delete(wanted.key);
        continue;
      }
      try {
        await (asked === undefined ? readNext(wanted) : readAsked(asked));
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
  return {
    of: <Made extends Sized>(view: FileView<Made>, path: string) => {
      const key = `${view.name} ${path}`;
      const entry = kept.get(key);
      if (entry !== undefined && !existsSync(path)) drop(key, entry);
      else if (entry !== undefined) {
        kept.delete(key);
        kept.set(key, entry);
        return entry.made as Made;
      } else if (!waiting.has(key) && !closed) {
        waiting.set(key, { key, view, path });
        if (waiting.size > WAITING_MAX) waiting.delete(waiting.keys().next().value as string);
        read();
      }
      return null;
    },
    readAhead: (view, paths) => {
      if (closed) return;
      for (const [key, entry] of kept) if (!existsSync(entry.path)) drop(key, entry);
      ahead = paths.map((path) => ({ key: `${view.name} ${path}`, view, path }));
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
