import { DatabaseSync, StatementSync } from 'node:sqlite';
import { createWatch } from '../../../api/alerts/watch.ts';
import { recordsOver } from '../../../api/billing/records.ts';
import { openDatabase } from '../../../api/records/database.ts';
import { EPISODE, editionOf, MINUTE_MS, START_MS, watchPartsOf } from '../data/alert-scans.ts';

/*
 * Matches an episode of hail, scan by scan, over the records in a file, and is killed, as kill -9 would, right after so many
 * statements.
 */
const [path, statements] = process.argv.slice(2) as [string, string];
let left = Number.POSITIVE_INFINITY;
let now_ms = START_MS;

/** Counts every call of a method that runs a statement. */
function watch(target: object, name: string): void {
  const original: (...args: unknown[]) => unknown = Reflect.get(target, name);
  Reflect.set(target, name, function (this: unknown, ...args: unknown[]) {
    const result = original.apply(this, args);
    left -= 1;
    if (left === 0) process.kill(process.pid, 'SIGKILL');
    return result;
  });
}
for (const name of ['run', 'all', 'get', 'iterate']) watch(StatementSync.prototype, name);
watch(DatabaseSync.prototype, 'exec');

const records = await recordsOver(openDatabase({ path }), { now: () => now_ms });
const match = createWatch(watchPartsOf(records, { now: () => now_ms }));
left = Number(statements);
for (const [at, { minute }] of EPISODE.entries()) {
  now_ms = START_MS + (minute + 1) * MINUTE_MS;
  await match(editionOf(EPISODE.slice(0, at + 1)));
}
left = Number.POSITIVE_INFINITY;
await records.close();
