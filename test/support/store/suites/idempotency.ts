import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { hostname } from 'node:os';
import { type ClaimRequest, LEASE_MS, REPLAY_WINDOW_MS, sweepClaims } from '../../../../api/billing/idempotency.ts';
import type { Records } from '../../../../api/billing/records.ts';
import { PROCESS_TABLE } from '../../../../api/records/owner.ts';
import { chargeOf, makeTenant, type Register, type Tenant, usedBy } from '../world.ts';

const ANSWER = { status: 200, type: 'application/json', body: '{"accepted":1}' };
const REFUSAL = { status: 400, type: 'application/json', body: '{"error":"bad_request"}' };

function request({ caller }: Tenant, changes: Partial<ClaimRequest> = {}): ClaimRequest {
  return {
    business_id: caller.business_id,
    route: 'POST /v1/portfolio/locations',
    key: 'key-1',
    fingerprint: 'first body',
    ...changes,
  };
}

async function claimed(records: Records, asked: ClaimRequest): Promise<string> {
  const claim = await records.claim(asked);
  if (claim.kind !== 'claimed') throw new Error(`the claim is ${claim.kind}, expected claimed`);
  return claim.token;
}

/** Number of a process that ran and ended. */
function deadProcess(): number {
  return spawnSync(process.execPath, ['--version']).pid;
}

/** Idempotency keys: one original, then replays. */
export function idempotencySuite(test: Register): void {
  test('the answer is stored with the rows and the charge, and replayed byte for byte', async (t, world) => {
    const records = await world.open();
    const tenant = await makeTenant(records, world, 'acme');
    const token = await claimed(records, request(tenant));
    t.deepEqual(await records.claim(request(tenant)), { kind: 'in_progress' });
    await records.write(
      tenant.caller.business_id,
      chargeOf(tenant, 10, world),
      token,
      world.now_ms,
      async () => ANSWER,
    );
    t.deepEqual(await (await world.open()).claim(request(tenant)), { kind: 'replay', answer: ANSWER });
    t.is(await usedBy(records, tenant), 10);
  });

  test('a clock that is years ahead runs no request a second time', async (t, world) => {
    const records = await world.open();
    const tenant = await makeTenant(records, world, 'acme');
    const token = await claimed(records, request(tenant));
    const charge = chargeOf(tenant, 10, world);
    await records.write(tenant.caller.business_id, charge, token, world.now_ms, async () => ANSWER);
    const clock = { trusted_ms: world.now_ms, passed_ms: 0, wall_ms: world.now_ms, marks: {} };
    const row = {
      name: 'deletion clock',
      value: JSON.stringify(clock),
      noted_at: new Date(world.now_ms).toISOString(),
    };
    await records.transaction((rows) => rows.insertInto('settings').values(row).execute());
    world.now_ms += 2 * 365 * REPLAY_WINDOW_MS;
    t.deepEqual(await records.claim(request(tenant)), { kind: 'replay', answer: ANSWER });
    world.now_ms -= 729 * REPLAY_WINDOW_MS;
    t.is((await records.claim(request(tenant))).kind, 'claimed');
  });

  test('an idempotency key is stored as its digest alone, for a client may have put a secret there', async (t, world) => {
    const records = await world.open();
    const tenant = await makeTenant(records, world, 'acme');
    await claimed(records, request(tenant, { key: tenant.key }));
    t.deepEqual(await records.claim(request(tenant, { key: tenant.key })), { kind: 'in_progress' });
    const rows = await records.reader.selectFrom('idempotency').selectAll().execute();
    t.is(rows.length, 1);
    t.false(JSON.stringify(rows).includes(tenant.key));
    t.is(rows[0]?.key, createHash('sha256').update(tenant.key).digest('hex'));
  });

  test('of a hundred parallel claims of one key exactly one is granted', async (t, world) => {
    const servers = [await world.open(), await world.open()];
    const tenant = await makeTenant(servers[0] as Records, world, 'acme');
    const claims = await Promise.all(
      Array.from({ length: 100 }, (_, k) => (servers[k % 2] as Records).claim(request(tenant))),
    );
    t.is(claims.filter(({ kind }) => kind === 'claimed').length, 1);
    t.is(claims.filter(({ kind }) => kind === 'in_progress').length, 99);
  });

  test('the same key is another one in another business and on another route', async (t, world) => {
    const records = await world.open();
    const acme = await makeTenant(records, world, 'acme');
    const other = await makeTenant(records, world, 'other');
    const claims = [request(acme), request(other), request(acme, { route: 'POST /v1/exports' })];
    for (const asked of claims) t.is((await records.claim(asked)).kind, 'claimed');
  });

  test('after an answer, the key with another body is another request', async (t, world) => {
    const records = await world.open();
    const tenant = await makeTenant(records, world, 'acme');
    const token = await claimed(records, request(tenant));
    await records.write(tenant.caller.business_id, null, token, world.now_ms, async () => ANSWER);
    t.deepEqual(await records.claim(request(tenant, { fingerprint: 'second body' })), { kind: 'other_request' });
  });

  test('a refusal is replayed for the same body, and another body counts as new', async (t, world) => {
    const records = await world.open();
    const tenant = await makeTenant(records, world, 'acme');
    await records.storeRefusal(await claimed(records, request(tenant)), REFUSAL);
    t.deepEqual(await records.claim(request(tenant)), { kind: 'replay', answer: REFUSAL });
    t.is((await records.claim(request(tenant, { fingerprint: 'second body' }))).kind, 'claimed');
  });

  test('a claim that was released may be made again', async (t, world) => {
    const records = await world.open();
    const tenant = await makeTenant(records, world, 'acme');
    await records.releaseClaim(await claimed(records, request(tenant)));
    t.is((await records.claim(request(tenant))).kind, 'claimed');
  });

  test('a write over the cap leaves its claim to be released', async (t, world) => {
    const records = await world.open();
    const tenant = await makeTenant(records, world, 'acme', { spend_cap: 5 });
    const token = await claimed(records, request(tenant));
    const { business_id } = tenant.caller;
    t.is(
      await records.write(business_id, chargeOf(tenant, 10, world), token, world.now_ms, async () => ANSWER),
      'over_cap',
    );
    await records.releaseClaim(token);
    t.is((await records.claim(request(tenant))).kind, 'claimed');
  });

  test('the claim of a dead process is taken over at once', async (t, world) => {
    const records = await world.open();
    const tenant = await makeTenant(records, world, 'acme');
    const token = await claimed(records, request(tenant));
    const owner = `${PROCESS_TABLE} ${deadProcess()} gone`;
    await records.transaction((rows) => rows.updateTable('idempotency').set({ owner }).execute());
    const second = await claimed(records, request(tenant));
    t.not(second, token);
    t.deepEqual(await records.claim(request(tenant)), { kind: 'in_progress' });
  });

  test('the claim of a process of another machine with the same host name is not taken over', async (t, world) => {
    const records = await world.open();
    const tenant = await makeTenant(records, world, 'acme');
    await claimed(records, request(tenant));
    for (const pid of [deadProcess(), process.pid]) {
      const owner = `${hostname()}/another-boot ${pid} elsewhere`;
      await records.transaction((rows) => rows.updateTable('idempotency').set({ owner }).execute());
      t.deepEqual(await records.claim(request(tenant)), { kind: 'in_progress' });
    }
  });

  test('the claim of a silent process of another machine is taken over when its lease is over', async (t, world) => {
    const records = await world.open();
    const tenant = await makeTenant(records, world, 'acme');
    await claimed(records, request(tenant));
    const lease = (lease_until_ms: number) =>
      records.transaction((rows) =>
        rows.updateTable('idempotency').set({ owner: 'elsewhere 1 silent', lease_until_ms }).execute(),
      );
    await lease(Date.now() + LEASE_MS / 2);
    t.deepEqual(await records.claim(request(tenant)), { kind: 'in_progress' });
    await lease(Date.now());
    t.is((await records.claim(request(tenant))).kind, 'claimed');
    // Given by a machine whose clock was a year ahead.
    await lease(Date.now() + 365 * 86_400_000);
    t.is((await records.claim(request(tenant))).kind, 'claimed');
  });

  test('whoever lost a claim can no longer commit under it', async (t, world) => {
    const records = await world.open();
    const tenant = await makeTenant(records, world, 'acme');
    const lost = await claimed(records, request(tenant));
    await records.transaction((rows) =>
      rows.updateTable('idempotency').set({ owner: 'elsewhere 1 silent', lease_until_ms: 0 }).execute(),
    );
    await claimed(records, request(tenant));
    await t.throwsAsync(
      records.write(tenant.caller.business_id, chargeOf(tenant, 10, world), lost, world.now_ms, async () => ANSWER),
      { name: 'CommitFailed', message: /claim of an idempotency key was lost/ },
    );
    t.is(await usedBy(records, tenant), 0);
  });

  test('after 24 hours a key is new again, and its answer is wiped', async (t, world) => {
    const records = await world.open();
    const tenant = await makeTenant(records, world, 'acme');
    const token = await claimed(records, request(tenant));
    await records.write(tenant.caller.business_id, null, token, world.now_ms, async () => ANSWER);
    world.now_ms += REPLAY_WINDOW_MS - 1;
    t.is((await records.claim(request(tenant))).kind, 'replay');
    t.is(await records.transaction((rows) => sweepClaims(rows, records.store, world.now_ms, 100)), 0);
    world.now_ms += 1;
    t.is(await records.transaction((rows) => sweepClaims(rows, records.store, world.now_ms, 100)), 1);
    t.is((await records.claim(request(tenant))).kind, 'claimed');
  });

  test('an answer older than its window is not replayed, wiped or not', async (t, world) => {
    const records = await world.open();
    const tenant = await makeTenant(records, world, 'acme');
    await records.storeRefusal(await claimed(records, request(tenant)), REFUSAL);
    world.now_ms += REPLAY_WINDOW_MS;
    t.is((await records.claim(request(tenant))).kind, 'claimed');
  });
}
