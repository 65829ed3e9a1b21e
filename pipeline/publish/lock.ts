import { mkdirSync, readFileSync, renameSync, statSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { systemFault } from '../../schemas/command-line.ts';
import { layout } from '../../schemas/layout.ts';
import { timestamp } from '../../schemas/time.ts';
import { PipelineError, RootHeld, RootLost } from '../error.ts';

/** Result codes of SQLite. */
const BUSY = 5;
const NOT_A_DATABASE = 26;

export interface Lock {
  /**
   * Throws RootLost unless root, lock file and name of the holder are the ones of this process. A lock holds a file, not a path:
   * after the root was moved away or the file deleted, another pipeline may have locked a new file at that path.
   */
  readonly check: () => void;
  readonly release: () => void;
}

/**
 * Takes the writer's lock of a data root. Throws RootHeld that names the holder when another process has the lock, and
 * PipelineError when the root cannot be used at all.
 *
 * The lock is an exclusive transaction on a small SQLite file: the operating system releases it however its holder dies.
 * Each holder puts a new file with its name beside it: a holder whose lock a file server has given to another one sees that.
 */
export function takeLock(dataRoot: string, command: string, now_ms: number): Lock {
  const database = lockDatabase(dataRoot);
  const release = () => database.close();
  const name = join(dataRoot, layout.lockHolder);
  const holder = { pid: process.pid, host: hostname(), command, since: timestamp(now_ms) };
  try {
    writeFileSync(`${name}.${process.pid}`, `${JSON.stringify(holder)}\n`);
    renameSync(`${name}.${process.pid}`, name);
  } catch (error) {
    release();
    throw error;
  }
  const places = [join(dataRoot, layout.lock), name, dataRoot].map((path) => ({ path, locked: identityOf(path) }));
  const check = () => {
    for (const { path, locked } of places) {
      const found = identityOf(path);
      if (found === locked) continue;
      const [fault, noun] = [found === null ? 'is gone' : 'was replaced', path === dataRoot ? 'folder' : 'file'];
      throw new RootLost(path, `${fault}, expected the ${noun} that this pipeline locked`);
    }
  };
  return { check, release };
}

/** The lock file, opened and locked. */
function lockDatabase(dataRoot: string): DatabaseSync {
  let database: DatabaseSync | undefined;
  try {
    mkdirSync(dataRoot, { recursive: true });
    database = new DatabaseSync(join(dataRoot, layout.lock));
    database.exec('PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE');
    return database;
  } catch (cause) {
    database?.close();
    const code = (cause as { errcode?: number }).errcode;
    if (code === BUSY)
      throw new RootHeld(
        'lock',
        dataRoot,
        `held by ${holderOf(dataRoot)}, expected no other pipeline on this data root`,
      );
    if (code === NOT_A_DATABASE) {
      const reason = 'is not what a pipeline writes, expected its lock; remove the file if nothing else needs it';
      throw new PipelineError('lock', join(dataRoot, layout.lock), reason, { cause });
    }
    const reason = `cannot be used (${systemFault(cause) ?? (cause as Error).message})`;
    throw new PipelineError('lock', dataRoot, `${reason}, expected a folder that we may write`, { cause });
  }
}

/** Device and inode of the file at a path; null when nothing is there. */
function identityOf(path: string): string | null {
  const found = statSync(path, { throwIfNoEntry: false });
  return found === undefined ? null : `${found.dev} ${found.ino}`;
}

function holderOf(dataRoot: string): string {
  try {
    const holder = JSON.parse(readFileSync(join(dataRoot, layout.lockHolder), 'utf8'));
    return `process ${holder.pid} on ${holder.host} (${holder.command}) since ${holder.since}`;
  } catch (error) {
    return `a process that has not yet said who it is (${(error as Error).message})`;
  }
}
