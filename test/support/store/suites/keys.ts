import { purgeBusiness, setStatus } from '../../../../api/accounts/businesses.ts';
import {
  createKey,
  ensureFirstBusiness,
  findKey,
  listKeys,
  ROTATION_GRACE_MS,
  revokeKey,
  rotateKey,
  setKeyCap,
} from '../../../../api/accounts/keys.ts';
import { refundVisibly } from '../../../../api/billing/ledger.ts';
import type { Records } from '../../../../api/billing/records.ts';
import { readUsage, verifyLedger } from '../../../../api/billing/usage.ts';
import { pluck } from '../../data/rows.ts';
import { until } from '../../until.ts';
import { chargeOf, makeTenant, type Register, type Tenant, usedBy, type World, withTenant } from '../world.ts';

const WRONG_SECRET = (key: string) => `${key.slice(0, 20)}${key[20] === 'x' ? 'y' : 'x'}${key.slice(21)}`;

async function rowOf(records: Records, { caller }: Tenant) {
  const row = await findKey(records.reader, caller.key_id);
  if (row === null) throw new Error('the key has no row');
  return row;
}

/** Keys: what opens, until when, and what is never written down. */
export function keysSuite(register: Register): void {
  const test = withTenant(register);
  register('a key opens for its business, with its plan and scopes', async (t, world) => {
    const records = await world.open();
    const { caller, key } = await makeTenant(records, world, 'acme', { rate_per_minute: 600, features: ['exports'] });
    t.like(await records.authenticate(key, world.now_ms), {
      business_id: caller.business_id,
      kind: 'live',
      scopes: ['*'],
      suspended: false,
      rate_bucket: caller.key_id,
    });
    t.is(caller.plan.rate_per_minute, 600);
    t.deepEqual(caller.plan.features, ['exports']);
    t.is(caller.plan.quotas.locations, 10_000);
  });

  test('another secret under the same public id opens nothing, nor does a key with a wrong checksum', async (t, world, records, tenant) => {
    const { key } = tenant;
    const other = await makeTenant(records, world, 'other');
    const mixed = key.slice(0, 16) + other.key.slice(16);
    for (const text of [WRONG_SECRET(key), mixed, key.toLowerCase(), `${key} `, key.slice(1), '', 'hs_live_'])
      t.is(await records.authenticate(text, world.now_ms), null, text);
  });

  test('a key that was rotated opens to the last millisecond of day 30, in the same rate bucket', async (t, world, records, tenant) => {
    const row = await rowOf(records, tenant);
    const made = await records.transaction((rows) => rotateKey(rows, row, ROTATION_GRACE_MS, world.now_ms));
    const second = await world.open();
    const end_ms = world.now_ms + 30 * 24 * 3_600_000;
    t.is((await second.authenticate(tenant.key, end_ms - 1))?.key_id, tenant.caller.key_id);
    t.is(await second.authenticate(tenant.key, end_ms), null);
    const caller = await second.authenticate(made.text, end_ms);
    t.like(caller, { key_id: made.id, rate_bucket: tenant.caller.rate_bucket, scopes: ['*'] });
    t.deepEqual(
      (await listKeys(records.reader, tenant.caller.business_id, world.now_ms)).map(({ id, status }) => [id, status]),
      [
        [tenant.caller.key_id, 'rotating'],
        [made.id, 'active'],
      ],
    );
  });

  test('rotation does not outlive the expiry that the old key had', async (t, world, records, { caller }) => {
    const expires_at = '2026-05-25T00:00:00.000Z';
    const key = { business_id: caller.business_id, kind: 'live' as const, name: 'short', scopes: ['*'], expires_at };
    const made = await records.transaction((rows) => createKey(rows, key, world.now_ms));
    const row = await findKey(records.reader, made.id);
    if (row === null) throw new Error('the key has no row');
    await records.transaction((rows) => rotateKey(rows, row, ROTATION_GRACE_MS, world.now_ms));
    t.is((await findKey(records.reader, made.id))?.expires_at, expires_at);
  });

  test('a revocation by another process is in force soon, without a restart', async (t, world, records, tenant) => {
    const operator = await world.open();
    t.true(
      await operator.transaction((rows) =>
        revokeKey(rows, { ...tenant.caller, id: tenant.caller.key_id }, world.now_ms),
      ),
    );
    await until(async () => (await records.authenticate(tenant.key, world.now_ms)) === null);
    t.is(records.remembered(tenant.key, world.now_ms), null);
  });

  test('a suspended business is known as such, and a purged one opens nothing', async (t, world, records, tenant) => {
    const business = { id: tenant.caller.business_id, name: 'acme' };
    await records.charge(chargeOf(tenant, 15, world));
    await records.transaction((rows) => setStatus(rows, business, 'suspended', world.now_ms));
    t.true((await (await world.open()).authenticate(tenant.key, world.now_ms))?.suspended);
    await records.transaction((rows) => purgeBusiness(rows, records.store, business, world.now_ms));
    t.is(await (await world.open()).authenticate(tenant.key, world.now_ms), null);
    t.deepEqual(await records.reader.selectFrom('ledger').selectAll().execute(), []);
    const acts = await records.reader.selectFrom('audit').select('act').orderBy('id').execute();
    t.deepEqual(pluck(acts, 'act'), ['business.create', 'key.create', 'business.suspend', 'business.purge']);
  });

  test('a key seen before is known from memory, an unknown one is not', async (t, world, records, { key, caller }) => {
    t.is(records.remembered(key, world.now_ms)?.key_id, caller.key_id);
    t.is((await world.open()).remembered(key, world.now_ms), null);
    t.is(records.remembered(WRONG_SECRET(key), world.now_ms), null);
  });

  register('servers that start together make one first business', async (t, world) => {
    const servers = [await world.open(), await world.open(), await world.open()];
    const made = await Promise.all(servers.map((records) => ensureFirstBusiness(records, world.now_ms)));
    t.is(made.filter((keys) => keys !== null).length, 1);
    const [keys] = made.filter((found) => found !== null);
    const live = await servers[0]?.authenticate(keys?.live ?? '', world.now_ms);
    const trial = await servers[1]?.authenticate(keys?.test ?? '', world.now_ms);
    t.deepEqual([live?.kind, trial?.kind, live?.plan.name], ['live', 'test', 'self-hosted']);
    t.is(live?.plan.monthly_limit, null);
  });
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
export function keyCapsSuite(register: Register): void {
  const test = withTenant(register);
  test('of parallel calls with several keys each gets exactly what fits under its cap, in two processes', async (t, world, records, first) => {
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

  register(
    'at the caps of keys and business at once exactly the fitting number of calls is charged',
    async (t, world) => {
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
    },
  );

  test('a cap that is set in the middle of a month counts what the key has used in it', async (t, world, records, tenant) => {
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
  });

  test('the rotation of a key keeps its cap and what was used: both keys share it, and usage lists both', async (t, world, records, old) => {
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
    t.deepEqual(pluck(limited, 'monthly_cap'), [60, 60]);
    t.deepEqual((await verifyLedger(records.reader)).faults, []);
  });

  test('a refund gives credits back to the key too, and a write over its cap leaves nothing', async (t, world, records, tenant) => {
    await limit(records, world, tenant, 20);
    const charge = chargeOf(tenant, 15, world);
    t.is(await records.charge(charge), 'charged');
    const answer = { status: 200, type: 'application/json', body: '{}' };
    const { business_id } = tenant.caller;
    const write = () => records.write(business_id, chargeOf(tenant, 15, world), null, world.now_ms, async () => answer);
    t.is(await write(), 'over_key_cap');
    t.is(await usedBy(records, tenant), 15);
    await records.transaction((rows) => refundVisibly(rows, charge, 'its job failed'));
    t.is(await write(), answer);
    t.deepEqual((await verifyLedger(records.reader)).faults, []);
  });

  test('the check of the ledger names the month of a key that somebody changed', async (t, world, records, tenant) => {
    const { business_id, key_id } = tenant.caller;
    const subject = `2026-05-20 ${key_id} hail.current`;
    await limit(records, world, tenant, 20);
    await records.charge(chargeOf(tenant, 15, world));
    await records.transaction((rows) => rows.updateTable('usage').set({ credits: 14 }).execute());
    t.deepEqual((await verifyLedger(records.reader)).faults, [
      { business_id, subject, what: 'usage', ledger_credits: 15, found_credits: 14 },
    ]);
  });
}
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
export function requestDaysSuite(register: Register): void {
  const test = withTenant(register);
  test('of parallel requests in two processes exactly those that the day has are admitted, and each day has its own', async (t, world, records, tenant) => {
    const processes = [records, await world.open()];
    t.is(await admitted(processes, world, tenant.caller.business_id, 3 * LIMIT), LIMIT);
    t.is(await countedToday(records), LIMIT);
    t.is(await admitted(processes, world, tenant.caller.business_id, 10), 0);
    world.now_ms = Date.parse('2026-05-21T00:00:00Z');
    t.is(await admitted(processes, world, tenant.caller.business_id, 3 * LIMIT), LIMIT);
  });

  test('calls around midnight, in any order, are counted on their own day, to the request', async (t, world, records, tenant) => {
    const midnight_ms = Date.parse('2026-05-21T00:00:00Z');
    for (let k = 0; k < 10; k += 1)
      for (const now_ms of [midnight_ms, midnight_ms - 1])
        t.true(await records.admitToday(tenant.caller.business_id, LIMIT, now_ms));
    await records.close();
    const again = await world.open();
    t.deepEqual(await again.reader.selectFrom('request_days').select(['day', 'requests']).orderBy('day').execute(), [
      { day: '2026-05-20', requests: 10 },
      { day: '2026-05-21', requests: 10 },
    ]);
  });

  test('a limit that is lowered or raised counts from the next call on, to the request', async (t, world, records, tenant) => {
    t.is(await admitted([records], world, tenant.caller.business_id, 5, 20 * LIMIT), 5);
    t.is(await admitted([records], world, tenant.caller.business_id, 40, 10), 5);
    t.is(await admitted([records], world, tenant.caller.business_id, 1, 9), 0);
    t.is(await admitted([records], world, tenant.caller.business_id, 40, 15), 5);
    t.is(await countedToday(records), 15);
  });
}
