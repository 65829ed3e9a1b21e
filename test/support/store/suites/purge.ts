import { purgeBusiness } from '../../../../api/accounts/businesses.ts';
import { verifyLedger } from '../../../../api/billing/usage.ts';
import { BusinessGone } from '../../../../api/records/errors.ts';
import { chargeOf, makeTenant, type Register } from '../world.ts';

const ANSWER = { status: 200, type: 'application/json', body: '{}' };
/** Tables that hold rows of a business. */
const OWNED = [
  'plans',
  'keys',
  'periods',
  'ledger',
  'usage',
  'request_counts',
  'cursors',
  'portfolio_locations',
] as const;
const ROUNDS = 6;

/** A business is removed while it is used. */
export function purgeSuite(test: Register): void {
  test('a business that is gone is neither charged nor over its cap, and no rows of it come back', async (t, world) => {
    const records = await world.open();
    const tenant = await makeTenant(records, world, 'acme');
    const { business_id, key_id } = tenant.caller;
    await records.transaction((rows) =>
      purgeBusiness(rows, records.store, { id: business_id, name: 'acme' }, world.now_ms),
    );
    await t.throwsAsync(records.charge(chargeOf(tenant, 3, world)), { instanceOf: BusinessGone });
    const write = records.write(business_id, chargeOf(tenant, 3, world), null, world.now_ms, async () => ANSWER);
    await t.throwsAsync(write, { instanceOf: BusinessGone });
    records.countRequest(key_id, world.now_ms);
    await records.close();
    const reopened = await world.open();
    for (const table of OWNED) t.deepEqual(await reopened.reader.selectFrom(table).selectAll().execute(), [], table);
  });

  // PostgreSQL finds a circle out by itself within a second.
  test('a business that is removed while it is charged and written to makes nobody wait in a circle', async (t, world) => {
    const all = [await world.open(), await world.open()] as const;
    const [records] = all;
    for (let round = 0; round < ROUNDS; round++) {
      const stays = await makeTenant(records, world, `stays ${round}`);
      const goes = await makeTenant(records, world, `goes ${round}`);
      const { business_id, key_id } = goes.caller;
      const outcomes: unknown[] = [];
      let gone = false;
      const use = async (each: typeof records, k: number) => {
        while (!gone) {
          each.countRequest(key_id, world.now_ms);
          const charges = [goes, stays].map((tenant) => each.charge(chargeOf(tenant, 1, world, `operation ${k}`)));
          if (k === 0)
            charges.push(
              each
                .write(business_id, chargeOf(goes, 1, world), null, world.now_ms, async () => ANSWER)
                .then((answer) => (answer === 'over_cap' ? answer : 'charged')),
            );
          outcomes.push(...(await Promise.allSettled(charges)));
        }
      };
      const using = all.flatMap((each) => [0, 1, 2].map((k) => use(each, k)));
      await records.charge(chargeOf(goes, 1, world));
      try {
        await records.transaction((rows) =>
          purgeBusiness(rows, records.store, { id: business_id, name: goes.name }, world.now_ms),
        );
      } finally {
        gone = true;
      }
      await Promise.all(using);
      for (const outcome of outcomes as PromiseSettledResult<string>[])
        if (outcome.status === 'fulfilled') t.is(outcome.value, 'charged');
        else t.true(outcome.reason instanceof BusinessGone, String(outcome.reason));
      for (const table of ['periods', 'ledger', 'usage'] as const)
        t.deepEqual(
          await records.reader.selectFrom(table).selectAll().where('business_id', '=', business_id).execute(),
          [],
        );
    }
    t.deepEqual((await verifyLedger(records.reader)).faults, []);
  });
}
