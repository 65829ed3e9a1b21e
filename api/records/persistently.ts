import { setTimeout as sleep } from 'node:timers/promises';
import { isOutage } from './errors.ts';

/** Pause between two tries. */
const WAIT_MS = 250;

/** Result of work with the records, repeated for `longest_ms` during an outage while `may_repeat` allows it. */
export async function persistently<Result>(
  longest_ms: number,
  work: () => Promise<Result>,
  may_repeat = () => true,
): Promise<Result> {
  const until_ms = performance.now() + longest_ms;
  for (;;)
    try {
      return await work();
    } catch (error) {
      if (!isOutage(error) || performance.now() > until_ms || !may_repeat()) throw error;
      await sleep(WAIT_MS);
    }
}
