import { closeSync, mkdirSync, openSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';
import type { SqliteDatabase } from 'kysely';

/** How long a start waits for another process, which may be migrating. */
const START_WAIT_MS = 5_000;
/** How often a waiting transaction tries: often, for a busy peer lets go of the lock for a fraction of a millisecond only. */
const TRY_EVERY_MS = 1;
/** How often the lock is probed while writers are refused. */
const LOOK_EVERY_MS = 100;
const SQLITE_BUSY = 5;

/**
 * The one write lock of a SQLite file, which other processes take too. Every try ends at once: between tries the event
 * loop turns. The first transaction that times out closes the lock for all: from then on writers are refused at once, until a
 * probe finds the lock free.
 */
export class WriteLock {
  /** How long the first transaction of a queue waits, milliseconds, and with it those behind it. */
  wait_ms = START_WAIT_MS;
  #database: SqliteDatabase | null = null;
  #looking: NodeJS.Timeout | null = null;

  /** Sets the connection that writes, which must not wait for locks by itself, and returns it. */
  of(database: SqliteDatabase): SqliteDatabase {
    this.#database = database;
    return database;
  }

  /** True while another process is known to keep writers out: they are refused at once. */
  get writersBlocked(): boolean {
    return this.#looking !== null;
  }

  /** Begins a transaction that holds the lock. */
  async begin(): Promise<void> {
    const until_ms = performance.now() + this.wait_ms;
    while (!this.writersBlocked) {
      if (this.#begun()) return;
      if (performance.now() < until_ms) await sleep(TRY_EVERY_MS);
      else this.#looking = setInterval(() => this.#look(), LOOK_EVERY_MS).unref();
    }
    throw new Error('another process holds the write lock');
  }

  /** Looks no more: the connection is being closed. */
  close(): void {
    if (this.#looking !== null) clearInterval(this.#looking);
    this.#looking = null;
  }

  /** False when another process holds the lock. */
  #begun(): boolean {
    try {
      this.#run('begin immediate');
      return true;
    } catch (error) {
      const { errcode = 0 } = error as { readonly errcode?: number };
      if ((errcode & 0xff) === SQLITE_BUSY) return false;
      throw error;
    }
  }

  #look(): void {
    try {
      if (!this.#begun()) return;
      this.#run('rollback');
    } catch {
      // The fault is not the lock: the next transaction throws it.
    }
    this.close();
  }

  #run(statement: string): void {
    if (this.#database === null) throw new TypeError('the write lock has no connection');
    this.#database.prepare(statement).run([]);
  }
}

/**
 * Takes the lock of the one service that may run on the SQLite records of a data root: rates are counted in its memory, and a
 * second one would double them. Returns what releases it; null: another process has it. Commands do not take it.
 */
export function takeServiceLock(dataRoot: string): (() => void) | null {
  const path = join(dataRoot, 'records', 'service.lock');
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  return takeLock(path);
}

/**
 * Takes the lock that a file stands for, and makes the file. Returns what releases it; null: another one has it. An exclusive
 * transaction on a small file, because the system gives such a lock back however its holder dies.
 */
export function takeLock(path: string): (() => void) | null {
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
