import fs, { openSync, writeSync } from 'node:fs';
import fsPromises, { type FileHandle } from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';
import { isMainThread } from 'node:worker_threads';
import { DuckDBConnection } from '@duckdb/node-api';
import { beforeCalls } from './count-calls.ts';

/*
 * Loaded before a command with --import: counts everything that may leave something on the disk, and kills the process,
 * as kill -9 would, just before the KILL_AT-th. Where whole content is written there is a point in the middle of it, too.
 * With KILL_LOG, every point is written down there.
 */
const killAt = Number(process.env.KILL_AT ?? Number.POSITIVE_INFINITY);
const log = process.env.KILL_LOG === undefined ? null : openSync(process.env.KILL_LOG, 'a');
let points = 0;

function point(what: string): void {
  points += 1;
  // One line for each point, whatever is written: the n-th line is the n-th point.
  if (log !== null) writeSync(log, `${points} ${what.replaceAll('\n', ' ')}\n`);
  if (points === killAt) process.kill(process.pid, 'SIGKILL');
}

/** Puts a point before every call of some methods. */
function watch(target: object, ...names: string[]): void {
  beforeCalls(target, names, (name, [first, second]) =>
    point(`${name} ${String(first ?? '').slice(-60)} ${String(second ?? '').slice(-60)}`),
  );
}

function isWrite(flags: unknown): boolean {
  return typeof flags === 'string' && flags !== 'r';
}

if (isMainThread) {
  watch(fsPromises, 'rename', 'link', 'rm', 'mkdir', 'copyFile', 'writeFile', 'truncate');
  watch(fs, 'writeFileSync', 'mkdirSync', 'renameSync', 'rmSync');
  const open = fsPromises.open;
  fsPromises.open = async (path, flags, mode) => {
    if (isWrite(flags)) point(`open ${String(path).slice(-60)}`);
    const handle = await open(path, flags, mode);
    watchHandle(handle);
    return handle;
  };
  watch(DuckDBConnection.prototype, 'run');
  syncBuiltinESMExports();
}

function watchHandle(handle: FileHandle): void {
  watch(handle, 'sync');
  const writeFile = handle.writeFile.bind(handle);
  handle.writeFile = async (content, options) => {
    point('writeFile of a handle');
    if (points + 1 === killAt && (typeof content === 'string' || content instanceof Uint8Array))
      await writeFile(content.slice(0, content.length >> 1), options);
    point('half of a writeFile of a handle');
    await writeFile(content, options);
  };
}
