import { purgeBusiness, setStatus } from '../../../../api/accounts/businesses.ts';
import {
  createKey,
  ensureFirstBusiness,
  findKey,
  listKeys,
  ROTATION_GRACE_MS,
  revokeKey,
  rotateKey,
} from '../../../../api/accounts/keys.ts';
import type { Records } from '../../../../api/billing/records.ts';
import { until } from '../../until.ts';
import { chargeOf, makeTenant, type Register, type Tenant, withTenant } from '../world.ts';

const WRONG_SECRET = (key: string) => `${key.slice(0, 20)}${key[20] === 'x' ? 'y' : 'x'}${key.slice(21)}`;

async function rowOf(records: Records, { caller }: Tenant) {
  const row = await findKey(records.reader, caller.key_id);
  if (row === null) throw new Error('the key has no row');
  return row;
}

/** Keys: what opens, until when, and what is never written down. */
export function keysSuite(test: Register): void {
  const tenantTest = withTenant(test);
  test('a key opens for its business, with its plan and scopes', async (t, world) => {
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

  tenantTest(
    'another secret under the same public id opens nothing, nor does a key with a wrong checksum',
    async (t, world, records, { key }) => {
      const other = await makeTenant(records, world, 'other');
      const mixed = key.slice(0, 16) + other.key.slice(16);
      for (const text of [WRONG_SECRET(key), mixed, key.toLowerCase(), `${key} `, key.slice(1), '', 'hs_live_'])
        t.is(await records.authenticate(text, world.now_ms), null, text);
    },
  );

  tenantTest(
    'a key that was rotated opens to the last millisecond of day 30, in the same rate bucket',
    async (t, world, records, tenant) => {
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
    },
  );

  tenantTest('rotation does not outlive the expiry that the old key had', async (t, world, records, { caller }) => {
    const expires_at = '2026-05-25T00:00:00.000Z';
    const key = { business_id: caller.business_id, kind: 'live' as const, name: 'short', scopes: ['*'], expires_at };
    const made = await records.transaction((rows) => createKey(rows, key, world.now_ms));
    const row = await findKey(records.reader, made.id);
    if (row === null) throw new Error('the key has no row');
    await records.transaction((rows) => rotateKey(rows, row, ROTATION_GRACE_MS, world.now_ms));
    t.is((await findKey(records.reader, made.id))?.expires_at, expires_at);
  });

  tenantTest(
    'a revocation by another process is in force soon, without a restart',
    async (t, world, records, tenant) => {
      const operator = await world.open();
      t.true(
        await operator.transaction((rows) =>
          revokeKey(rows, { ...tenant.caller, id: tenant.caller.key_id }, world.now_ms),
        ),
      );
      await until(async () => (await records.authenticate(tenant.key, world.now_ms)) === null);
      t.is(records.remembered(tenant.key, world.now_ms), null);
    },
  );

  tenantTest(
    'a suspended business is known as such, and a purged one opens nothing',
    async (t, world, records, tenant) => {
      const business = { id: tenant.caller.business_id, name: 'acme' };
      await records.charge(chargeOf(tenant, 15, world));
      await records.transaction((rows) => setStatus(rows, business, 'suspended', world.now_ms));
      t.true((await (await world.open()).authenticate(tenant.key, world.now_ms))?.suspended);
      await records.transaction((rows) => purgeBusiness(rows, records.store, business, world.now_ms));
      t.is(await (await world.open()).authenticate(tenant.key, world.now_ms), null);
      t.deepEqual(await records.reader.selectFrom('ledger').selectAll().execute(), []);
      const acts = await records.reader.selectFrom('audit').select('act').orderBy('id').execute();
      t.deepEqual(
        acts.map(({ act }) => act),
        ['business.create', 'key.create', 'business.suspend', 'business.purge'],
      );
    },
  );

  tenantTest(
    'a key seen before is known from memory, an unknown one is not',
    async (t, world, records, { key, caller }) => {
      t.is(records.remembered(key, world.now_ms)?.key_id, caller.key_id);
      t.is((await world.open()).remembered(key, world.now_ms), null);
      t.is(records.remembered(WRONG_SECRET(key), world.now_ms), null);
    },
  );

  test('servers that start together make one first business', async (t, world) => {
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
