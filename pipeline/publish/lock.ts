import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { layout } from '../../schemas/layout.ts';
import { timestamp } from '../../schemas/time.ts';
import { Conflict } from '../error.ts';

export interface Lock {
  readonly release: () => void;
}

/**
 * Takes the one writer's lock of a data root; throws Conflict that names the holder when somebody has it.
 *
 * The lock is an exclusive transaction on a small SQLite file, because the operating system gives such a lock back however
 * its holder dies: a file with a process number in it cannot tell a dead holder from a number used again.
 */
export function takeLock(dataRoot: string, command: string, now_ms: number): Lock {
  mkdirSync(dataRoot, { recursive: true });
  const database = new DatabaseSync(join(dataRoot, layout.lock));
  try {
    database.exec('PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE');
  } catch (error) {
    database.close();
    if ((error as { errcode?: number }).errcode !== 5) throw error;
    throw new Conflict('lock', dataRoot, `held by ${holderOf(dataRoot)}, expected no other pipeline on this data root`);
  }
  const release = () => {
    database.exec('ROLLBACK');
    database.close();
  };
  const holder = { pid: process.pid, host: hostname(), command, since: timestamp(now_ms) };
  try {
    writeFileSync(join(dataRoot, layout.lockHolder), `${JSON.stringify(holder)}\n`);
  } catch (error) {
    release();
    throw error;
  }
  return { release };
}

function holderOf(dataRoot: string): string {
  try {
    const holder = JSON.parse(readFileSync(join(dataRoot, layout.lockHolder), 'utf8'));
    return `process ${holder.pid} on ${holder.host} (${holder.command}) since ${holder.since}`;
  } catch (error) {
    return `a process that has not yet said who it is (${(error as Error).message})`;
  }
}
