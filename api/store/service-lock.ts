import { closeSync, mkdirSync, openSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { SQLITE_BUSY } from './write-lock.ts';

/**
 * Takes the lock of the one service that may run on the SQLite records of a data root: rates are counted in its memory, and a
 * second one would double them. Returns what releases it; null: another process has it. An exclusive transaction on a small
 * file, because the system gives such a lock back however its holder dies. Commands do not take it.
 */
export function takeServiceLock(dataRoot: string): (() => void) | null {
  const path = join(dataRoot, 'records', 'service.lock');
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  closeSync(openSync(path, 'a', 0o600));
  const database = new DatabaseSync(path);
  try {
    database.exec('pragma locking_mode = exclusive; begin exclusive');
  } catch (error) {
    database.close();
    if ((((error as { readonly errcode?: number }).errcode ?? 0) & 0xff) === SQLITE_BUSY) return null;
    throw error;
  }
  return () => {
    if (database.isOpen) database.close();
  };
}
