import { createHash } from 'node:crypto';
import { setPlan } from '../../../../api/accounts/businesses.ts';
import { SELF_HOSTED } from '../../../../api/accounts/plans.ts';
import { AnsweredBefore, type KeyedCall, REPLAY_WINDOW_MS, sweepAnswers } from '../../../../api/billing/idempotency.ts';
import type { Records } from '../../../../api/billing/records.ts';
import { adjustUsage, readUsage, refundRequest, verifyLedger } from '../../../../api/billing/usage.ts';
import type { Writer } from '../../../../api/records/database.ts';
import { newId } from '../../../../schemas/ids.ts';
import { chargeOf, makeTenant, type Register, type Tenant, usedBy, type World, withTenant } from '../world.ts';

const ANSWER = { status: 200, type: 'application/json', body: '{}' };

const addProbe = (rows: Writer['rows'], name: string) => rows.insertInto('probes').values({ name, at: '' }).execute();

/** Credits: exact, never over the cap, the same in every sum. */
export function chargesSuite(register: Register): void {
  const test = withTenant(register);
  test('a charge counts in used, ledger, daily and operations alike', async (t, world, records, tenant) => {
    t.is(await records.charge(chargeOf(tenant, 15, world)), 'charged');
    t.is(await records.charge({ ...chargeOf(tenant, 24, world, 'hail.current.batch'), count: 3 }), 'charged');
    world.now_ms += 24 * 3_600_000;
    t.is(await records.charge(chargeOf(tenant, 15, world)), 'charged');

    const usage = await readUsage(records.reader, tenant.caller.business_id, '2026-05', world.now_ms);
    t.is(usage.used, 54);
    t.deepEqual(usage.operations, [
      { operation: 'hail.current', count: 2, credits: 30, cost_per_call: 15 },
      { operation: 'hail.current.batch', count: 3, credits: 24, cost_per_call: 8 },
    ]);
    t.is(usage.daily.length, 21);
    t.deepEqual(
      usage.daily.filter(({ credits }) => credits > 0),
      [
        { date: '2026-05-20', credits: 39 },
        { date: '2026-05-21', credits: 15 },
      ],
    );
    t.deepEqual([usage.keys[0]?.requests, usage.last_updated], [3, '2026-05-21T12:00:00.000Z']);
    const check = await verifyLedger(records.reader);
    t.deepEqual([check.rows, check.credits, check.faults], [3, 54, []]);
  });
  register('two processes at the last credits together do not pass the cap', async (t, world) => {
    const first = await world.open();
    const second = await world.open();
    const tenant = await makeTenant(first, world, 'acme', { spend_cap: 20 * 15 });
    const outcomes = await Promise.all(
      Array.from({ length: 64 }, (_, k) => (k % 2 === 0 ? first : second).charge(chargeOf(tenant, 15, world))),
    );
    t.is(outcomes.filter((outcome) => outcome === 'charged').length, 20);
    t.is(await usedBy(first, tenant), 300);
    t.deepEqual((await verifyLedger(first.reader)).faults, []);
  });

  test('in a group a charge over its cap leaves smaller ones and other businesses alone', async (t, world, records, large) => {
    const small = await makeTenant(records, world, 'small', { spend_cap: 20 });
    const outcomes = await Promise.all([
      records.charge(chargeOf(small, 15, world)),
      records.charge(chargeOf(large, 60, world)),
      records.charge(chargeOf(small, 15, world)),
      records.charge(chargeOf(small, 5, world)),
    ]);
    t.deepEqual(outcomes, ['charged', 'charged', 'over_cap', 'charged']);
    t.is(await usedBy(records, small), 20);
    t.is(await usedBy(records, large), 60);
  });

  test('five hundred charges of one turn are all written, each once', async (t, world, records, tenant) => {
    await Promise.all(Array.from({ length: 500 }, () => records.charge(chargeOf(tenant, 3, world))));
    const { rows, credits, faults } = await verifyLedger(records.reader);
    t.deepEqual([rows, credits, faults], [500, 1500, []]);
  });
  test('a new cap is in force for the next charge, without the key being read again', async (t, world, records, tenant) => {
    t.is(await records.charge(chargeOf(tenant, 15, world)), 'charged');
    const business = { id: tenant.caller.business_id, name: tenant.name };
    await records.transaction((rows) => setPlan(rows, business, { ...SELF_HOSTED, spend_cap: 20 }, world.now_ms));
    t.is(await records.charge(chargeOf(tenant, 15, world)), 'over_cap');
  });

  register('a new month begins at zero, at midnight UTC of the data clock', async (t, world) => {
    const records = await world.open();
    const tenant = await makeTenant(records, world, 'acme', { spend_cap: 15 });
    world.now_ms = Date.parse('2026-05-31T23:59:59.999Z');
    t.is(await records.charge(chargeOf(tenant, 15, world)), 'charged');
    t.is(await records.charge(chargeOf(tenant, 15, world)), 'over_cap');
    world.now_ms += 1;
    t.is(await records.charge(chargeOf(tenant, 15, world)), 'charged');
    t.deepEqual([await usedBy(records, tenant, '2026-05'), await usedBy(records, tenant, '2026-06')], [15, 15]);
  });

  register('a write over the cap takes its rows back', async (t, world) => {
    const records = await world.open();
    const tenant = await makeTenant(records, world, 'acme', { spend_cap: 5 });
    const { business_id } = tenant.caller;
    const charge = chargeOf(tenant, 10, world);
    const outcome = await records.write(business_id, charge, null, world.now_ms, async ({ rows }) => {
      await addProbe(rows, 'row of the write');
      return ANSWER;
    });
    t.is(outcome, 'over_cap');
    t.deepEqual(await records.reader.selectFrom('probes').selectAll().execute(), []);
    t.is(await usedBy(records, tenant), 0);
  });

  test('a write that throws is charged nothing, and throws what it threw', async (t, world, records, tenant) => {
    const refusal = new Error('refused');
    const error = await t.throwsAsync(
      records.write(tenant.caller.business_id, chargeOf(tenant, 10, world), null, world.now_ms, async ({ rows }) => {
        await addProbe(rows, 'row of the write');
        throw refusal;
      }),
    );
    t.is(error, refusal);
    t.deepEqual(await records.reader.selectFrom('probes').selectAll().execute(), []);
    t.is(await usedBy(records, tenant), 0);
  });

  test('charges go on while a write waits for nothing but its turn', async (t, world, records, tenant) => {
    const { business_id } = tenant.caller;
    const writes = Array.from({ length: 8 }, (_, k) =>
      records.write(business_id, chargeOf(tenant, 10, world, 'write'), null, world.now_ms, async ({ rows }) => {
        await new Promise((resolve) => setImmediate(resolve));
        await addProbe(rows, `write ${k}`);
        return ANSWER;
      }),
    );
    const reads = Array.from({ length: 64 }, () => records.charge(chargeOf(tenant, 15, world)));
    await Promise.all([...writes, ...reads]);
    t.is(await usedBy(records, tenant), 8 * 10 + 64 * 15);
    t.is((await records.reader.selectFrom('probes').selectAll().execute()).length, 8);
  });

  register('an adjustment is a row of its own and goes past the cap', async (t, world) => {
    const records = await world.open();
    const tenant = await makeTenant(records, world, 'acme', { spend_cap: 15 });
    const business = { id: tenant.caller.business_id, name: tenant.name };
    t.is(await records.charge(chargeOf(tenant, 15, world)), 'charged');
    await records.transaction((rows) => adjustUsage(rows, business, -10, 'outage of 19 May', world.now_ms));
    t.is(await records.charge(chargeOf(tenant, 10, world, 'hail.nowcast')), 'charged');
    await records.transaction((rows) => adjustUsage(rows, business, 100, 'bulk order', world.now_ms));

    const usage = await readUsage(records.reader, business.id, '2026-05', world.now_ms);
    t.is(usage.used, 115);
    t.deepEqual(usage.operations, [
      { operation: 'adjustment', count: 100, credits: 100, cost_per_call: 1 },
      { operation: 'adjustment.refund', count: 10, credits: -10, cost_per_call: -1 },
      { operation: 'hail.current', count: 1, credits: 15, cost_per_call: 15 },
      { operation: 'hail.nowcast', count: 1, credits: 10, cost_per_call: 10 },
    ]);
    const { rows, faults } = await verifyLedger(records.reader);
    t.deepEqual([rows, faults], [4, []]);
  });

  test('the charge of a request is given back once by its id, as a line of its own', async (t, world, records, tenant) => {
    const { business_id } = tenant.caller;
    const request_id = newId('request', world.now_ms);
    await records.charge({ ...chargeOf(tenant, 15, world), request_id });
    const refund = (id: string) => records.transaction((rows) => refundRequest(rows, id, 'answer lost', world.now_ms));
    t.deepEqual(await refund(request_id), { credits: 15, business_id });
    t.is(await refund(request_id), 'refunded before');
    t.is(await refund(newId('request', world.now_ms)), 'unknown');
    t.is(await usedBy(records, tenant), 0);
    const { rows, faults } = await verifyLedger(records.reader);
    t.deepEqual([rows, faults], [2, []]);
  });

  test('the check of the ledger names a month and a sum that somebody changed', async (t, world, records, tenant) => {
    const { business_id, key_id } = tenant.caller;
    const subject = `2026-05-20 ${key_id} hail.current`;
    await records.charge(chargeOf(tenant, 15, world));
    await records.transaction((rows) => rows.updateTable('periods').set({ used: 14 }).execute());
    await records.transaction((rows) => rows.deleteFrom('usage').execute());
    t.deepEqual((await verifyLedger(records.reader)).faults, [
      { business_id, subject: '2026-05', what: 'used', ledger_credits: 15, found_credits: 14 },
      { business_id, subject, what: 'usage', ledger_credits: 15, found_credits: 0 },
    ]);
  });

  test('free requests count in the total of their key, and cost nothing', async (t, world, records, tenant) => {
    const { business_id, key_id } = tenant.caller;
    for (let k = 0; k < 3; k++) records.countRequest(key_id, world.now_ms);
    await records.charge(chargeOf(tenant, 15, world));
    await records.close();
    const again = await world.open();
    const usage = await readUsage(again.reader, business_id, '2026-05', world.now_ms);
    t.deepEqual([usage.total_requests, usage.used, usage.keys[0]?.last_used_at], [4, 15, '2026-05-20T12:00:00.000Z']);
  });

  test('a month to come has no days, and one without charges is all zeros', async (t, world, records, tenant) => {
    const month = (period: string) => readUsage(records.reader, tenant.caller.business_id, period, world.now_ms);
    t.deepEqual((await month('2026-06')).daily, []);
    const april = await month('2026-04');
    t.deepEqual([april.used, april.daily.length, april.operations, april.last_updated], [0, 30, [], null]);
  });
}
const KEPT_ANSWER = { status: 200, type: 'application/json', body: '{"accepted":1}' };
const REFUSAL = { status: 400, type: 'application/json', body: '{"error":"bad_request"}' };

function call({ caller }: Tenant, changes: Partial<KeyedCall> = {}): KeyedCall {
  const { business_id } = caller;
  const route = 'POST /v1/portfolio/locations';
  return { business_id, route, key: 'key-1', fingerprint: 'first body', ...changes };
}

/** Idempotency keys: one original, then replays. */
export function idempotencySuite(register: Register): void {
  const test = withTenant(register);
  /** Writes once under the key of a call, for 10 credits. */
  const write = (records: Records, tenant: Tenant, world: World, under = call(tenant)) =>
    records.write(under.business_id, chargeOf(tenant, 10, world), under, world.now_ms, async () => KEPT_ANSWER);

  test('the answer is stored with the rows and the charge, for its key alone', async (t, world, records, tenant) => {
    const other = await makeTenant(records, world, 'other');
    t.is(await records.answerOf(call(tenant)), null);
    await write(records, tenant, world);
    t.deepEqual(await (await world.open()).answerOf(call(tenant)), KEPT_ANSWER);
    t.is(await records.answerOf(call(tenant, { fingerprint: 'second body' })), 'other_request');
    t.is(await records.answerOf(call(tenant, { route: 'POST /v1/exports' })), null);
    t.is(await records.answerOf(call(other)), null);
    t.is(await usedBy(records, tenant), 10);
  });

  test('of parallel writes under one key in two services one is made and charged', async (t, world, records, tenant) => {
    const servers = [records, await world.open()] as const;
    const made = await Promise.allSettled(
      Array.from({ length: 20 }, (_, k) => write(servers[k % 2] as Records, tenant, world)),
    );
    t.is(made.filter(({ status }) => status === 'fulfilled').length, 1);
    for (const one of made) if (one.status === 'rejected') t.true(one.reason instanceof AnsweredBefore);
    t.is(await usedBy(records, tenant), 10);
  });

  test('a clock that is years ahead runs no request a second time', async (t, world, records, tenant) => {
    await write(records, tenant, world);
    const clock = { trusted_ms: world.now_ms, passed_ms: 0, wall_ms: world.now_ms, marks: {} };
    const noted_at = new Date(world.now_ms).toISOString();
    const row = { name: 'deletion clock', value: JSON.stringify(clock), noted_at };
    await records.transaction((rows) => rows.insertInto('settings').values(row).execute());
    world.now_ms += 2 * 365 * REPLAY_WINDOW_MS;
    t.deepEqual(await records.answerOf(call(tenant)), KEPT_ANSWER);
    world.now_ms -= 729 * REPLAY_WINDOW_MS;
    t.is(await records.answerOf(call(tenant)), null);
  });

  test('an idempotency key is stored as its digest alone, for a client may have put a secret there', async (t, world, records, tenant) => {
    await write(records, tenant, world, call(tenant, { key: tenant.key }));
    const rows = await records.reader.selectFrom('idempotency').selectAll().execute();
    t.is(rows.length, 1);
    t.false(JSON.stringify(rows).includes(tenant.key));
    t.is(rows[0]?.key, createHash('sha256').update(tenant.key).digest('hex'));
  });

  test('a refusal is replayed for the same body, gives way to another one, and never replaces a success', async (t, world, records, tenant) => {
    const second = call(tenant, { fingerprint: 'second body' });
    await records.keepRefusal(call(tenant), REFUSAL);
    t.deepEqual(await records.answerOf(call(tenant)), REFUSAL);
    await write(records, tenant, world, second);
    await records.keepRefusal(second, REFUSAL);
    t.deepEqual(await records.answerOf(second), KEPT_ANSWER);
  });

  register('a write over the cap leaves its key free', async (t, world) => {
    const records = await world.open();
    const tenant = await makeTenant(records, world, 'acme', { spend_cap: 5 });
    t.is(await write(records, tenant, world), 'over_cap');
    t.is(await records.answerOf(call(tenant)), null);
  });

  test('after 24 hours a key is new again, and its answer is wiped', async (t, world, records, tenant) => {
    await write(records, tenant, world);
    const sweep = () => records.transaction((rows) => sweepAnswers(rows, world.now_ms, 100));
    world.now_ms += REPLAY_WINDOW_MS - 1;
    t.deepEqual(await records.answerOf(call(tenant)), KEPT_ANSWER);
    t.is(await sweep(), 0);
    world.now_ms += 1;
    t.is(await records.answerOf(call(tenant)), null);
    t.is(await sweep(), 1);
  });
}
