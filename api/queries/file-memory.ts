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
const REST_MS = { usually: 5, when_full: 200 } as const;

interface Kept {
  readonly path: string;
  readonly made: Sized;
}

/** Keeps what questions ask for; files are read one at a time, ahead of the statements that wait. */
export function openFileMemory(engine: Engine, options: FileMemoryOptions = {}): FileMemory {
  const { bytes_max = BYTES_MAX, failed = () => {} } = options;
  /** By view and path, asked for longest ago first. */
  const kept = new Map<string, Kept>();
  const waiting = new Map<string, { view: FileView<Sized>; path: string }>();
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
  const readWaiting = async () => {
    for (;;) {
      // What was asked for last is what others ask for now.
      const newest = [...waiting].at(-1);
      if (newest === undefined || closed) return;
      const [key, { view, path }] = newest;
      try {
        const isFull = keep(key, path, await view.read(engine.priority, path));
        await pause(isFull ? REST_MS.when_full : REST_MS.usually);
      } catch (error) {
        if (!closed) failed(path, error);
      } finally {
        waiting.delete(key);
      }
    }
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
        waiting.set(key, { view, path });
        if (waiting.size > WAITING_MAX) waiting.delete(waiting.keys().next().value as string);
        running ??= asNoQuestion(readWaiting).finally(() => {
          running = null;
        });
      }
      return null;
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
