import test from 'ava';
import { createObservers, type Observer } from '../../api/observers.ts';

const unexpected = (error: unknown) => {
  throw error;
};

async function runPending(): Promise<void> {
  for (let iteration = 0; iteration < 5; iteration++) await new Promise(setImmediate);
}

test('observers react in the order in which they were added, one at a time', async (t) => {
  const observers = createObservers<number>();
  const seen: string[] = [];
  const observer = (name: string): Observer<number> => ({
    react: async (item) => {
      seen.push(`${name} begins ${item}`);
      await new Promise(setImmediate);
      seen.push(`${name} ends ${item}`);
    },
    failed: unexpected,
  });
  observers.add(observer('a'));
  observers.add(observer('b'));
  observers.publish(1);
  await runPending();
  t.deepEqual(seen, ['a begins 1', 'a ends 1', 'b begins 1', 'b ends 1']);
});

test('an observer that fails keeps none of the others from reacting', async (t) => {
  const observers = createObservers<number>();
  const [seen, failures]: [number[], unknown[]] = [[], []];
  observers.add({
    react: () => {
      throw new Error('at once');
    },
    failed: (error) => failures.push(error),
  });
  observers.add({ react: () => Promise.reject(new Error('later')), failed: (error) => failures.push(error) });
  observers.add({ react: async (item) => void seen.push(item), failed: unexpected });
  observers.publish(1);
  await runPending();
  observers.publish(2);
  await runPending();
  t.deepEqual(seen, [1, 2]);
  t.deepEqual(failures.map(String), ['Error: at once', 'Error: later', 'Error: at once', 'Error: later']);
});

test('an observer behind a slow one is not passed over, however often items come', async (t) => {
  const observers = createObservers<number>();
  const seen: number[] = [];
  observers.add({ react: async (item) => void (item < 5 && observers.publish(item + 1)), failed: unexpected });
  observers.add({ react: async (item) => void seen.push(item), failed: unexpected });
  observers.publish(1);
  await runPending();
  t.deepEqual(seen, [1, 2, 3, 4, 5]);
});

test('an observer that is removed while it reacts is waited for, and told nothing more', async (t) => {
  const observers = createObservers<number>();
  const reacting = Promise.withResolvers<void>();
  const [begun, ended]: [number[], number[]] = [[], []];
  const remove = observers.add({
    react: async (item) => {
      begun.push(item);
      await reacting.promise;
      ended.push(item);
    },
    failed: unexpected,
  });
  observers.publish(1);
  await runPending();
  observers.publish(2);
  const removed = remove().then(() => [...ended]);
  reacting.resolve();
  t.deepEqual(await removed, [1]);
  await runPending();
  t.deepEqual(begun, [1]);
});
