import { createHash } from 'node:crypto';
import { AnsweredBefore, type KeyedCall, REPLAY_WINDOW_MS, sweepAnswers } from '../../../../api/billing/idempotency.ts';
import type { Records } from '../../../../api/billing/records.ts';
import { chargeOf, makeTenant, type Register, type Tenant, usedBy, type World, withTenant } from '../world.ts';

const ANSWER = { status: 200, type: 'application/json', body: '{"accepted":1}' };
const REFUSAL = { status: 400, type: 'application/json', body: '{"error":"bad_request"}' };

function call({ caller }: Tenant, changes: Partial<KeyedCall> = {}): KeyedCall {
  return {
    business_id: caller.business_id,
    route: 'POST /v1/portfolio/locations',
    key: 'key-1',
    fingerprint: 'first body',
    ...changes,
  };
}

/** Idempotency keys: one original, then replays. */
export function idempotencySuite(test: Register): void {
  const tenantTest = withTenant(test);
  /** Writes once under the key of a call, for 10 credits. */
  const write = (records: Records, tenant: Tenant, world: World, under = call(tenant)) =>
    records.write(under.business_id, chargeOf(tenant, 10, world), under, world.now_ms, async () => ANSWER);

  tenantTest(
    'the answer is stored with the rows and the charge, for its key alone',
    async (t, world, records, tenant) => {
      const other = await makeTenant(records, world, 'other');
      t.is(await records.answerOf(call(tenant)), null);
      await write(records, tenant, world);
      t.deepEqual(await (await world.open()).answerOf(call(tenant)), ANSWER);
      t.is(await records.answerOf(call(tenant, { fingerprint: 'second body' })), 'other_request');
      t.is(await records.answerOf(call(tenant, { route: 'POST /v1/exports' })), null);
      t.is(await records.answerOf(call(other)), null);
      t.is(await usedBy(records, tenant), 10);
    },
  );

  test('of parallel writes under one key in two services one is made and charged', async (t, world) => {
    const servers = [await world.open(), await world.open()] as const;
    const tenant = await makeTenant(servers[0], world, 'acme');
    const made = await Promise.allSettled(
      Array.from({ length: 20 }, (_, k) => write(servers[k % 2] as Records, tenant, world)),
    );
    t.is(made.filter(({ status }) => status === 'fulfilled').length, 1);
    for (const one of made) if (one.status === 'rejected') t.true(one.reason instanceof AnsweredBefore);
    t.is(await usedBy(servers[0], tenant), 10);
  });

  tenantTest('a clock that is years ahead runs no request a second time', async (t, world, records, tenant) => {
    await write(records, tenant, world);
    const clock = { trusted_ms: world.now_ms, passed_ms: 0, wall_ms: world.now_ms, marks: {} };
    const row = {
      name: 'deletion clock',
      value: JSON.stringify(clock),
      noted_at: new Date(world.now_ms).toISOString(),
    };
    await records.transaction((rows) => rows.insertInto('settings').values(row).execute());
    world.now_ms += 2 * 365 * REPLAY_WINDOW_MS;
    t.deepEqual(await records.answerOf(call(tenant)), ANSWER);
    world.now_ms -= 729 * REPLAY_WINDOW_MS;
    t.is(await records.answerOf(call(tenant)), null);
  });

  tenantTest(
    'an idempotency key is stored as its digest alone, for a client may have put a secret there',
    async (t, world, records, tenant) => {
      await write(records, tenant, world, call(tenant, { key: tenant.key }));
      const rows = await records.reader.selectFrom('idempotency').selectAll().execute();
      t.is(rows.length, 1);
      t.false(JSON.stringify(rows).includes(tenant.key));
      t.is(rows[0]?.key, createHash('sha256').update(tenant.key).digest('hex'));
    },
  );

  tenantTest(
    'a refusal is replayed for the same body, gives way to another one, and never replaces a success',
    async (t, world, records, tenant) => {
      const second = call(tenant, { fingerprint: 'second body' });
      await records.keepRefusal(call(tenant), REFUSAL);
      t.deepEqual(await records.answerOf(call(tenant)), REFUSAL);
      await write(records, tenant, world, second);
      await records.keepRefusal(second, REFUSAL);
      t.deepEqual(await records.answerOf(second), ANSWER);
    },
  );

  test('a write over the cap leaves its key free', async (t, world) => {
    const records = await world.open();
    const tenant = await makeTenant(records, world, 'acme', { spend_cap: 5 });
    t.is(await write(records, tenant, world), 'over_cap');
    t.is(await records.answerOf(call(tenant)), null);
  });

  tenantTest('after 24 hours a key is new again, and its answer is wiped', async (t, world, records, tenant) => {
    await write(records, tenant, world);
    const sweep = () => records.transaction((rows) => sweepAnswers(rows, world.now_ms, 100));
    world.now_ms += REPLAY_WINDOW_MS - 1;
    t.deepEqual(await records.answerOf(call(tenant)), ANSWER);
    t.is(await sweep(), 0);
    world.now_ms += 1;
    t.is(await records.answerOf(call(tenant)), null);
    t.is(await sweep(), 1);
  });
}
