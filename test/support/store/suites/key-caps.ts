import { createKey, findKey, listKeys, rotateKey, setKeyCap } from '../../../../api/accounts/keys.ts';
import { refundVisibly } from '../../../../api/billing/ledger.ts';
import type { Records } from '../../../../api/billing/records.ts';
import { readUsage, verifyLedger } from '../../../../api/billing/usage.ts';
import { chargeOf, makeTenant, type Register, type Tenant, usedBy, type World, withTenant } from '../world.ts';

async function rowOf(records: Records, { caller }: Tenant) {
  const row = await findKey(records.reader, caller.key_id);
  if (row === null) throw new Error('the key has no row');
  return row;
}

async function limit(records: Records, world: World, tenant: Tenant, cap: number | null): Promise<boolean> {
  const row = await rowOf(records, tenant);
  return await records.transaction((rows) => setKeyCap(rows, row, cap, world.now_ms));
}

/** Another key of the same business. */
async function secondKey(records: Records, world: World, { caller, name }: Tenant): Promise<Tenant> {
  const { business_id } = caller;
  const key = { business_id, kind: 'live' as const, name: 'second', scopes: ['*'], expires_at: null };
  const { text } = await records.transaction((rows) => createKey(rows, key, world.now_ms));
  return await opened(records, world, text, name);
}

async function opened(records: Records, world: World, text: string, name: string): Promise<Tenant> {
  const caller = await records.authenticate(text, world.now_ms);
  if (caller === null) throw new Error('the key opens nothing');
  return { caller, key: text, name };
}

/** How many of 24 parallel calls of 15 credits with each key are charged, half of them by another process. */
async function race(processes: readonly Records[], world: World, tenants: readonly Tenant[]): Promise<number[]> {
  const calls = Array.from({ length: 24 }, (_, k) => k).flatMap((k) => tenants.map((tenant) => ({ k, tenant })));
  const outcomes = await Promise.all(
    calls.map(async ({ k, tenant }) => ({
      tenant,
      outcome: await (processes[k % processes.length] as Records).charge(chargeOf(tenant, 15, world)),
    })),
  );
  return tenants.map((of) => outcomes.filter(({ tenant, outcome }) => tenant === of && outcome === 'charged').length);
}

/** Caps of single keys, beside that of their business. */
export function keyCapsSuite(test: Register): void {
  const tenantTest = withTenant(test);
  test('of parallel calls with several keys each gets exactly what fits under its cap, in two processes', async (t, world) => {
    const records = await world.open();
    const first = await makeTenant(records, world, 'acme');
    const second = await secondKey(records, world, first);
    const free = await secondKey(records, world, first);
    await limit(records, world, first, 100);
    await limit(records, world, second, 165);
    t.deepEqual(await race([records, await world.open()], world, [first, second, free]), [6, 11, 24]);
    t.is(await usedBy(records, first), (6 + 11 + 24) * 15);
    t.is(await records.charge(chargeOf(first, 10, world)), 'charged');
    t.is(await records.charge(chargeOf(first, 1, world)), 'over_key_cap');
    t.deepEqual((await verifyLedger(records.reader)).faults, []);
  });

  test('at the caps of keys and business at once exactly the fitting number of calls is charged', async (t, world) => {
    const records = await world.open();
    const first = await makeTenant(records, world, 'acme', { spend_cap: 20 * 15 + 7 });
    const second = await secondKey(records, world, first);
    const free = await secondKey(records, world, first);
    await limit(records, world, first, 100);
    await limit(records, world, second, 165);
    const charged = await race([records, await world.open()], world, [first, second, free]);
    t.is(
      charged.reduce((sum, each) => sum + each),
      20,
    );
    t.true((charged[0] ?? 0) <= 6 && (charged[1] ?? 0) <= 11);
    t.is(await records.charge(chargeOf(free, 15, world)), 'over_cap');
    t.deepEqual((await verifyLedger(records.reader)).faults, []);
  });

  tenantTest(
    'a cap that is set in the middle of a month counts what the key has used in it',
    async (t, world, records, tenant) => {
      await records.charge(chargeOf(tenant, 40, world));
      world.now_ms += 24 * 3_600_000;
      t.true(await limit(records, world, tenant, 50));
      t.false(await limit(records, world, tenant, 50));
      t.is(await records.charge(chargeOf(tenant, 11, world)), 'over_key_cap');
      t.is(await records.charge(chargeOf(tenant, 10, world)), 'charged');
      await limit(records, world, tenant, null);
      t.is(await records.charge(chargeOf(tenant, 5, world)), 'charged');
      await limit(records, world, tenant, 60);
      t.is(await records.charge(chargeOf(tenant, 6, world)), 'over_key_cap');
      t.is(await records.charge(chargeOf(tenant, 5, world)), 'charged');
      world.now_ms = Date.parse('2026-06-01T00:00:00Z');
      t.is(await records.charge(chargeOf(tenant, 60, world)), 'charged');
      t.deepEqual((await verifyLedger(records.reader)).faults, []);
    },
  );

  test('the rotation of a key keeps its cap and what was used: both keys share it, and usage lists both', async (t, world) => {
    const records = await world.open();
    const old = await makeTenant(records, world, 'acme');
    await limit(records, world, old, 50);
    t.is(await records.charge(chargeOf(old, 30, world)), 'charged');
    const row = await rowOf(records, old);
    const { text } = await records.transaction((rows) => rotateKey(rows, row, 86_400_000, world.now_ms));
    const next = await opened(records, world, text, old.name);
    t.is(next.caller.key_cap, 50);
    t.is(await records.charge(chargeOf(next, 15, world)), 'charged');
    t.is(await records.wouldExceed(next.caller, 6, world.now_ms), 'over_key_cap');
    t.is(await records.charge(chargeOf(old, 6, world)), 'over_key_cap');
    t.is(await records.charge(chargeOf(old, 5, world)), 'charged');
    const { keys } = await readUsage(records.reader, old.caller.business_id, '2026-05', world.now_ms);
    t.deepEqual(
      keys.map(({ id, monthly_cap, requests }) => [id, monthly_cap, requests]),
      [
        [old.caller.key_id, 50, 2],
        [next.caller.key_id, 50, 1],
      ],
    );
    await limit(records, world, next, 60);
    const limited = await listKeys(records.reader, old.caller.business_id, world.now_ms);
    t.deepEqual(
      limited.map(({ monthly_cap }) => monthly_cap),
      [60, 60],
    );
    t.deepEqual((await verifyLedger(records.reader)).faults, []);
  });

  tenantTest(
    'a refund gives credits back to the key too, and a write over its cap leaves nothing',
    async (t, world, records, tenant) => {
      await limit(records, world, tenant, 20);
      const charge = chargeOf(tenant, 15, world);
      t.is(await records.charge(charge), 'charged');
      const answer = { status: 200, type: 'application/json', body: '{}' };
      const { business_id } = tenant.caller;
      const write = () =>
        records.write(business_id, chargeOf(tenant, 15, world), null, world.now_ms, async () => answer);
      t.is(await write(), 'over_key_cap');
      t.is(await usedBy(records, tenant), 15);
      await records.transaction((rows) => refundVisibly(rows, charge, 'its job failed'));
      t.is(await write(), answer);
      t.deepEqual((await verifyLedger(records.reader)).faults, []);
    },
  );

  tenantTest(
    'the check of the ledger names the month of a key that somebody changed',
    async (t, world, records, tenant) => {
      const { business_id, key_id } = tenant.caller;
      await limit(records, world, tenant, 20);
      await records.charge(chargeOf(tenant, 15, world));
      await records.transaction((rows) => rows.updateTable('usage').set({ credits: 14 }).execute());
      t.deepEqual((await verifyLedger(records.reader)).faults, [
        {
          business_id,
          subject: `2026-05-20 ${key_id} hail.current`,
          what: 'usage',
          ledger_credits: 15,
          found_credits: 14,
        },
      ]);
    },
  );
}
