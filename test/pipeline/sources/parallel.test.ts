import test from 'ava';
import { inParallel } from '../../../pipeline/sources/parallel.ts';

/** Work that stays open until it is told how to end; `log` shows what began. */
function workshop() {
  const log: number[] = [];
  const open = new Map<number, PromiseWithResolvers<string>>();
  const work = (item: number) => {
    log.push(item);
    const job = Promise.withResolvers<string>();
    open.set(item, job);
    return job.promise;
  };
  const turn = () => new Promise((resolve) => setImmediate(resolve));
  const finish = async (item: number) => {
    open.get(item)?.resolve(`done ${item}`);
    await turn();
  };
  const fail = async (item: number) => {
    open.get(item)?.reject(new Error(`failed ${item}`));
    await turn();
  };
  return { log, work, finish, fail };
}

test('at most so many are under way, the next begins when one ends, and results keep the order of the items', async (t) => {
  const { log, work, finish } = workshop();
  const all = inParallel([1, 2, 3, 4], 2, work);
  t.deepEqual(log, [1, 2]);
  await finish(2);
  t.deepEqual(log, [1, 2, 3]);
  await finish(3);
  t.deepEqual(log, [1, 2, 3, 4]);
  await finish(4);
  await finish(1);
  t.deepEqual(await all, ['done 1', 'done 2', 'done 3', 'done 4']);
});

test('after a failure nothing new begins, what is under way settles, and the first failure is thrown', async (t) => {
  const { log, work, finish, fail } = workshop();
  const all = inParallel([1, 2, 3, 4], 2, work);
  await fail(2);
  await finish(1);
  await t.throwsAsync(all, { message: 'failed 2' });
  t.deepEqual(log, [1, 2]);
});

test('nothing to do is done', async (t) => {
  t.deepEqual(await inParallel([], 3, async () => 'never'), []);
});
