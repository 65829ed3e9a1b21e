import { DatabaseSync, StatementSync } from 'node:sqlite';
import { createWatch } from '../../../api/alerts/watch.ts';
import { recordsOver } from '../../../api/billing/records.ts';
import { openDatabase } from '../../../api/records/database.ts';
import { EPISODE, editionOf, MINUTE_MS, START_MS, watchPartsOf } from '../data/alert-scans.ts';
import { beforeCalls, countdown, step } from './count-calls.ts';

/*
 * Matches an episode of hail, scan by scan, over the records in a file, and is killed, as kill -9 would, just before so many
 * statements.
 */
const [path, statements] = process.argv.slice(2) as [string, string];
let now_ms = START_MS;
beforeCalls(StatementSync.prototype, ['run', 'all', 'get', 'iterate'], step);
beforeCalls(DatabaseSync.prototype, ['exec'], step);

const records = await recordsOver(openDatabase({ path }), { now: () => now_ms });
const match = createWatch(watchPartsOf(records, { now: () => now_ms }));
countdown.left = Number(statements);
for (const [at, { minute }] of EPISODE.entries()) {
  now_ms = START_MS + (minute + 1) * MINUTE_MS;
  await match(editionOf(EPISODE.slice(0, at + 1)));
}
countdown.left = Number.POSITIVE_INFINITY;
await records.close();
