import { setImmediate } from 'node:timers/promises';
import test from 'ava';
import { turns } from '../../api/published/turns.ts';

test('work runs in the order it came, no more at once than may, and a failure gives its turn on', async (t) => {
  const inTurn = turns(2, 10);
  const begun: number[] = [];
  const gates = Array.from({ length: 5 }, () => Promise.withResolvers<number>());
  const all = gates.map(({ promise }, at) =>
    inTurn(() => {
      begun.push(at);
      return promise;
    }),
  );
  await setImmediate();
  t.deepEqual(begun, [0, 1]);
  gates[1]?.reject(new Error('failed'));
  await t.throwsAsync(all[1] as Promise<number>, { message: 'failed' });
  t.deepEqual(begun, [0, 1, 2]);
  for (const [at, { resolve }] of gates.entries()) resolve(at);
  t.deepEqual(await Promise.all([all[0], ...all.slice(2)]), [0, 2, 3, 4]);
  t.deepEqual(begun, [0, 1, 2, 3, 4]);
  t.is(await inTurn(async () => 'free again'), 'free again');
});

test('more than may wait is refused', async (t) => {
  const inTurn = turns(1, 1);
  const gate = Promise.withResolvers<void>();
  const admitted = [inTurn(() => gate.promise), inTurn(() => gate.promise)];
  await t.throwsAsync(
    inTurn(() => gate.promise),
    { message: /at most 1 may/ },
  );
  gate.resolve();
  await t.notThrowsAsync(Promise.all(admitted));
});
