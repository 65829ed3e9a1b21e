import test from 'ava';
import { retryPlan, Transient, Unavailable, withRetries } from '../../../pipeline/sources/retry.ts';

test('waits double up to the longest', (t) => {
  t.deepEqual(retryPlan({ retries: 5, first_ms: 500, longest_ms: 3000 }), [500, 1000, 2000, 3000, 3000]);
  t.deepEqual(retryPlan({ retries: 0, first_ms: 500, longest_ms: 3000 }), []);
});

const patience = { retries: 2, first_ms: 100, longest_ms: 1000 };

/** Runs attempts that fail as listed and then succeed; tells the waits and the outcome. */
async function play(failures: readonly Error[]) {
  const left = [...failures];
  const waits: number[] = [];
  const attempt = async () => {
    const failure = left.shift();
    if (failure) throw failure;
    return 'done';
  };
  const sleep = async (ms: number) => void waits.push(ms);
  const outcome = await withRetries(attempt, { patience, sleep }).catch((error: Error) => error);
  return { waits, outcome };
}

const busy = (wait_ms?: number) => new Transient('url', 'busy', wait_ms === undefined ? {} : { wait_ms });

test('a passing failure is tried again after the planned waits', async (t) => {
  t.deepEqual(await play([busy(), busy()]), { waits: [100, 200], outcome: 'done' });
});

test('a server that asks for a longer wait gets it, up to the longest of ours', async (t) => {
  t.deepEqual(await play([busy(700), busy(60_000)]), { waits: [700, 1000], outcome: 'done' });
  t.deepEqual((await play([busy(5)])).waits, [100]);
});

test('after the last retry the failure is unavailable, with its cause and the number of attempts', async (t) => {
  const { waits, outcome } = await play([busy(), busy(), busy()]);
  t.deepEqual(waits, [100, 200]);
  t.true(outcome instanceof Unavailable);
  t.is(String(outcome), 'Unavailable: sources url: busy, after 3 attempts');
  t.true(outcome instanceof Error && outcome.cause instanceof Transient);
});

test('any other failure is thrown at once', async (t) => {
  const bug = new TypeError('a bug');
  t.deepEqual(await play([bug]), { waits: [], outcome: bug });
});

test('an abort between attempts ends the retries with its reason', async (t) => {
  const stop = new AbortController();
  const reason = new Error('stopped by hand');
  const attempt = async () => {
    stop.abort(reason);
    throw busy();
  };
  const error = await t.throwsAsync(withRetries(attempt, { patience, signal: stop.signal, sleep: async () => {} }));
  t.is(error, reason);
});
