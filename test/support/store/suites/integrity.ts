import { orphans, planFaults, scopeFaults, tagFaults } from '../../../../api/accounts/integrity.ts';
import { SELF_HOSTED } from '../../../../api/accounts/plans.ts';
import { insertArea, NO_LABELS } from '../../../../api/alerts/areas.ts';
import { verifyLedger } from '../../../../api/metering/verify.ts';
import { isFault, pointShape } from '../../../../api/rules/area-geometry.ts';
import { chargeOf, makeTenant, type Register } from '../world.ts';

/** What an operator is told of records that contradict themselves. */
export function integritySuite(test: Register): void {
  test('sound records have no faults, and each thing that a shell breaks is named', async (t, world) => {
    const records = await world.open();
    const tenant = await makeTenant(records, world, 'acme', { monthly_limit: 100, overage_policy: 'block' });
    const { business_id, key_id } = tenant.caller;
    await records.charge(chargeOf(tenant, 15, world));
    const { reader } = records;
    const found = async () => [
      await planFaults(reader),
      await orphans(reader),
      await scopeFaults(reader),
      await tagFaults(reader),
      (await verifyLedger(reader)).faults,
    ];
    t.deepEqual(await found(), [[], [], [], [], []]);
    await records.transaction(async (rows) => {
      await rows.updateTable('plans').set({ cap: 200 }).execute();
      await rows.updateTable('keys').set({ scopes: '["hail:fly"]' }).execute();
      await rows.updateTable('usage').set({ calls: 2 }).execute();
      await rows
        .insertInto('portfolio_locations')
        .values({
          id: 'loc_1',
          business_id,
          name: 'Depot',
          lat: 35,
          lon: -97,
          address: '',
          tags: 'roof',
          created_at: '',
          updated_at: '',
        })
        .execute();
      const shape = pointShape({ lat: 35, lon: -97 });
      if (isFault(shape)) throw new Error(shape.reason);
      const said = { kind: 'point', name: 'mast', real_time: false, purpose: 'monitoring', group_id: null } as const;
      const writer = { rows, business_id, now_ms: world.now_ms };
      await insertArea(writer, { ...said, ...NO_LABELS, shape }, SELF_HOSTED.quotas);
      await rows.updateTable('areas').set({ id: 'area_1', tags: '{}' }).execute();
      await rows
        .insertInto('periods')
        .values({ business_id: 'biz_gone', period: '2026-05', used: 0, updated_at: '' })
        .execute();
    });
    t.deepEqual(await found(), [
      [`${business_id} has a plan with cap 200, expected 100 by its limits`],
      [{ table: 'periods', rows: 1, missing: 'business', passing: false }],
      [`${key_id} has scopes that do not fit: 0 is no scope`],
      [
        'loc_1 has tags that are not JSON',
        'area_1 has tags that do not fit: Invalid input: expected array, received object',
      ],
      [
        {
          business_id,
          subject: `2026-05-20 ${key_id} hail.current`,
          what: 'calls',
          ledger_count: 1,
          found_count: 2,
        },
      ],
    ]);
  });
}
