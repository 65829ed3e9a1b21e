import {
  closeSync,
  existsSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { z } from 'zod';
import { takeLock } from '../records/sqlite-locks.ts';

/** A commit whose outcome is not known; no answer was served for its charges. */
export const UnresolvedCommit = z.object({
  /** Request id of its first charge; without charges, the number of its transaction. Earlier versions: a UUID. */
  id: z.string(),
  charges: z.array(
    z.object({
      business_id: z.string(),
      key_id: z.string(),
      operation: z.string(),
      credits: z.number(),
      count: z.number(),
      at_ms: z.number(),
      request_id: z.string().optional(),
    }),
  ),
});
export type UnresolvedCommit = z.infer<typeof UnresolvedCommit>;

/** File that keeps the commits of one process that are in doubt. */
export interface CommitJournal {
  /** What processes that have ended left. */
  readonly left: readonly UnresolvedCommit[];
  /** Replaces what the file holds. */
  readonly write: (commits: readonly UnresolvedCommit[]) => void;
  /** Leaves the file to the next process. */
  readonly close: () => void;
}

/** Processes that share a folder of records: services on one PostgreSQL. */
const FILES_MAX = 64;

/**
 * Opens the journal of a path; null: none is kept. Every process has a file of its own, under a lock that ends with the process: the
 * path, or one with a number in its name. Files that no process has are read, and removed once their commits were
 * written to the own one. Throws when a file is no journal.
 */
export function openCommitJournal(path: string | null): CommitJournal {
  if (path === null) return { left: [], write: () => {}, close: () => {} };
  const left: UnresolvedCommit[] = [];
  /** Locks that this process has, by file; the first file is its own. */
  const locks = new Map<string, () => void>();
  const close = () => {
    for (const release of locks.values()) release();
    locks.clear();
  };
  const take = (file: string): boolean => {
    const release = takeLock(`${file}.lock`);
    if (release !== null) locks.set(file, release);
    return release !== null;
  };
  try {
    for (const file of filesOf(path)) if (take(file)) left.push(...readJournal(file));
  } catch (error) {
    close();
    throw error;
  }
  const ownFile = (): string => {
    const [held] = locks.keys();
    if (held !== undefined) return held;
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    for (let number = 0; number < FILES_MAX; number++) if (take(numbered(path, number))) return numbered(path, number);
    throw new Error(`${FILES_MAX} processes keep commits in doubt in ${dirname(path)}, expected fewer`);
  };
  return {
    left,
    write: (commits) => {
      const own = ownFile();
      writeJournal(own, commits);
      for (const [file, release] of [...locks].slice(1)) {
        rmSync(file);
        locks.delete(file);
        release();
      }
    },
    close,
  };
}

function numbered(path: string, number: number): string {
  return number === 0 ? path : path.replace(/(\.\w+)?$/, `.${number}$1`);
}

function filesOf(path: string): readonly string[] {
  const names = new Set(existsSync(dirname(path)) ? readdirSync(dirname(path)) : []);
  return Array.from({ length: FILES_MAX }, (_, number) => basename(numbered(path, number)))
    .filter((name) => names.has(name))
    .map((name) => join(dirname(path), name));
}

function readJournal(path: string): readonly UnresolvedCommit[] {
  const lines = readFileSync(path, 'utf8').split('\n').filter(Boolean);
  return lines.map((line, k) => {
    try {
      return UnresolvedCommit.parse(JSON.parse(line));
    } catch (cause) {
      throw new Error(`${path}: line ${k + 1} is no commit in doubt, expected what the service writes there`, {
        cause,
      });
    }
  });
}

/** The whole file or the one before, also when the power fails. */
function writeJournal(path: string, commits: readonly UnresolvedCommit[]): void {
  const file = openSync(`${path}.new`, 'w', 0o600);
  try {
    writeSync(file, commits.map((doubt) => `${JSON.stringify(doubt)}\n`).join(''));
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
  renameSync(`${path}.new`, path);
  const folder = openSync(dirname(path), 'r');
  try {
    fsyncSync(folder);
  } finally {
    closeSync(folder);
  }
}
