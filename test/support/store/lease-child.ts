import { appendFileSync, readFileSync, writeSync } from 'node:fs';
import { takeLease } from '../../../pipeline/cluster/lease.ts';
import { LeaseLost } from '../../../pipeline/error.ts';

/**
 * Takes a lease again and again, and writes its fence into a journal as long as it holds one: `node lease-child.ts DATABASE_URL NAME
 * JOURNAL`. The journal stands for the store. Each event of the log is a line on standard output; so is each loss that `check` reported.
 */
const [database_url = '', name = '', journal = ''] = process.argv.slice(2);
const WRITE_EVERY_MS = 20;
const say = (event: string, fields: object) => writeSync(1, `${JSON.stringify({ msg: event, ...fields })}\n`);
const log = { info: say, warn: say, progress: () => {}, close: () => {} };
const highestFence = async () => Math.max(0, ...readFileSync(journal, 'utf8').trim().split('\n').map(Number));

for (;;) {
  try {
    const lease = await takeLease({ database_url, name, highestFence, log, patience_ms: null });
    for (;;) {
      lease?.check();
      appendFileSync(journal, `${lease?.fence}\n`);
      await new Promise((resolve) => setTimeout(resolve, WRITE_EVERY_MS));
    }
  } catch (error) {
    if (!(error instanceof LeaseLost)) throw error;
    say('refused', { reason: error.message });
  }
}
