import { writeSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { recordsOver } from '../../../api/billing/records.ts';
import { openDatabase } from '../../../api/records/database.ts';
import { openQueue } from '../../../api/records/tasks.ts';
import { SETTINGS } from './diary.ts';

/**
 * Takes one task at a time, says `took <payload>`, and is done with it once it is told so on standard input:
 * `node working-child.ts LOCATION LEASE_MS`.
 */
const [place = '', lease_ms = ''] = process.argv.slice(2);
const location: Parameters<typeof openDatabase>[0] = JSON.parse(place);
const records = await recordsOver(openDatabase(location), { now: Date.now });
const say = (line: string) => writeSync(1, `${line}\n`);
const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
const queue = openQueue(records.store, {
  failed: (_, __, error) => say(`failed ${error}`),
  troubled: (_, error) => say(`troubled ${error}`),
});
const stop = queue.work('write', { ...SETTINGS, at_once: 1, lease_ms: Number(lease_ms) }, async ({ payload }) => {
  say(`took ${payload}`);
  await lines.next();
});
process.once(
  'SIGTERM',
  () =>
    void stop()
      .then(queue.close)
      .then(records.close)
      .then(() => process.exit()),
);
say('works');
