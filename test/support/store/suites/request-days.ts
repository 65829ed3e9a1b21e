import type { Records } from '../../../../api/billing/records.ts';
import { makeTenant, type Register, type World, withTenant } from '../world.ts';

const LIMIT = 100;

/** How many of so many parallel requests the day still has, by turns in each process. */
async function admitted(
  processes: readonly Records[],
  world: World,
  business_id: string,
  count: number,
  limit = LIMIT,
): Promise<number> {
  const asked = Array.from({ length: count }, (_, k) =>
    (processes[k % processes.length] as Records).admitToday(business_id, limit, world.now_ms),
  );
  return (await Promise.all(asked)).filter(Boolean).length;
}

async function countedToday({ reader }: Records): Promise<number | undefined> {
  return (await reader.selectFrom('request_days').select('requests').executeTakeFirst())?.requests;
}

/** Requests a day, where a plan limits them. */
export function requestDaysSuite(test: Register): void {
  const tenantTest = withTenant(test);
  test('of parallel requests in two processes exactly those that the day has are admitted, and each day has its own', async (t, world) => {
    const processes = [await world.open(), await world.open()];
    const { caller } = await makeTenant(processes[0] as Records, world, 'acme');
    t.is(await admitted(processes, world, caller.business_id, 3 * LIMIT), LIMIT);
    t.is(await countedToday(processes[0] as Records), LIMIT);
    t.is(await admitted(processes, world, caller.business_id, 10), 0);
    world.now_ms = Date.parse('2026-05-21T00:00:00Z');
    t.is(await admitted(processes, world, caller.business_id, 3 * LIMIT), LIMIT);
  });

  tenantTest(
    'calls around midnight, in any order, are counted on their own day, to the request',
    async (t, world, records, { caller }) => {
      const midnight_ms = Date.parse('2026-05-21T00:00:00Z');
      for (let k = 0; k < 10; k += 1)
        for (const now_ms of [midnight_ms, midnight_ms - 1])
          t.true(await records.admitToday(caller.business_id, LIMIT, now_ms));
      await records.close();
      const again = await world.open();
      t.deepEqual(await again.reader.selectFrom('request_days').select(['day', 'requests']).orderBy('day').execute(), [
        { day: '2026-05-20', requests: 10 },
        { day: '2026-05-21', requests: 10 },
      ]);
    },
  );

  tenantTest(
    'a limit that is lowered or raised counts from the next call on, to the request',
    async (t, world, records, { caller }) => {
      t.is(await admitted([records], world, caller.business_id, 5, 20 * LIMIT), 5);
      t.is(await admitted([records], world, caller.business_id, 40, 10), 5);
      t.is(await admitted([records], world, caller.business_id, 1, 9), 0);
      t.is(await admitted([records], world, caller.business_id, 40, 15), 5);
      t.is(await countedToday(records), 15);
    },
  );
}
