import { RecordsUnavailable } from '../../../../api/store/errors.ts';
import { forgetRoot, rememberedRoot, rootMemory } from '../../../../api/store/remembered-root.ts';
import type { Register } from '../world.ts';

const FIRST = { root_id: 'root_1', commits: { '2026-05-01': 3, undated: 1 } };
const SECOND = { root_id: 'root_1', commits: { '2026-05-01': 4, '2026-05-02': 1, undated: 1 } };

/** The data root, as the records remember it. */
export function rememberedRootSuite(test: Register): void {
  test('the records remember what the data root held last, until they are told to forget', async (t, world) => {
    const records = await world.open();
    const memory = rootMemory(
      records,
      () => world.now_ms,
      (error) => t.fail(String(error)),
    );
    t.is(await memory.recall(), null);
    t.true(await memory.remember(FIRST));
    t.true(await memory.remember(SECOND));
    t.like(await memory.recall(), SECOND);
    t.is((await rememberedRoot(records.reader))?.noted_at, new Date(world.now_ms).toISOString());
    t.true(await records.transaction(forgetRoot));
    t.is(await memory.recall(), null);
    t.false(await records.transaction(forgetRoot));
  });

  test('a data root that cannot be noted now is told once, and noted when it can', async (t, world) => {
    const records = await world.open();
    const told: unknown[] = [];
    let reachable = false;
    const transaction: typeof records.transaction = (work) =>
      reachable ? records.transaction(work) : Promise.reject(new RecordsUnavailable('out of reach'));
    const memory = rootMemory(
      { reader: records.reader, transaction },
      () => world.now_ms,
      (error) => told.push(error),
    );
    t.false(await memory.remember(FIRST));
    t.false(await memory.remember(FIRST));
    t.is(told.length, 1);
    reachable = true;
    t.true(await memory.remember(FIRST));
    reachable = false;
    t.false(await memory.remember(SECOND));
    t.is(told.length, 2);
    t.like(await memory.recall(), FIRST);
  });
}
