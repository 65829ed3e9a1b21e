import type { Records } from '../../../../api/billing/records.ts';
import { selectPage } from '../../../../api/records/own-rows.ts';
import { ATTEMPTS_KEPT, addAttempt, attemptsOf } from '../../../../api/webhooks/attempts.ts';
import { makeTenant, type Register, type Tenant } from '../world.ts';

const RECEIVER = 'wh_1';

/** Notes attempts, one a second, by a clock that stands at `machine_ms` for the first of them. */
async function attempts(records: Records, { caller }: Tenant, name: string, count: number, machine_ms: number) {
  const made = { event: 'alert.created', attempt: 1, status_code: 200, success: 1, error: null, error_class: null };
  const rest = { answer: '', redelivered_from: null, duration_ms: 1, next_retry_at: null };
  await records.transaction(async (rows) => {
    for (let k = 0; k < count; k++) {
      const id = `${name}-${String(k).padStart(3, '0')}`;
      const at_ms = machine_ms + 1_000 * k;
      const owner = { business_id: caller.business_id, receiver_id: RECEIVER, event_id: `evt_${id}` };
      const row = { id, ...owner, ...made, ...rest, created_at: new Date(at_ms).toISOString() };
      await addAttempt(rows, row);
    }
  });
}

const idsOf = async ({ reader }: Records) =>
  (await selectPage(reader, attemptsOf(RECEIVER), { receiver_id: RECEIVER }, null, 1_000)).map(({ id }) => id);

export function deliverySuite(test: Register): void {
  test('the last hundred attempts of a receiver are kept', async (t, world) => {
    const records = await world.open();
    const tenant = await makeTenant(records, world, 'acme');
    await attempts(records, tenant, 'one', ATTEMPTS_KEPT + 3, world.now_ms);
    const ids = await idsOf(records);
    t.is(ids.length, ATTEMPTS_KEPT);
    t.deepEqual([ids.at(0), ids.at(-1)], ['one-102', 'one-003']);
  });
}
