import { setTimeout as sleep } from 'node:timers/promises';
import type { SqliteDatabase } from 'kysely';

/** How long a start waits for another process, which may be migrating. */
const START_WAIT_MS = 5_000;
/** How often a waiting transaction tries: often, for a busy peer lets go of the lock for a fraction of a millisecond only. */
const TRY_EVERY_MS = 1;
/** How often the lock is looked at while nobody waits for it any more. */
const LOOK_EVERY_MS = 100;
export const SQLITE_BUSY = 5;

/**
 * The one write lock of a SQLite file, for which other processes ask too. Every try ends at once: between tries the event
 * loop turns. A transaction that has waited in vain gives up for all: from then on everybody is refused at once, until a
 * look finds the lock free.
 */
export class WriteLock {
  /** How long the first transaction of a queue waits, milliseconds, and with it everybody behind it. */
  wait_ms = START_WAIT_MS;
  #database: SqliteDatabase | null = null;
  #looking: NodeJS.Timeout | null = null;

  /** Tells the connection that writes, which must not wait for locks by itself, and returns it. */
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
