import { randomUUID } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import test, { type ExecutionContext } from 'ava';
import pg from 'pg';
import { openDatabase } from '../../api/records/database.ts';
import { CommitFailed, OutcomeUnknown, RecordsUnavailable } from '../../api/records/failures.ts';
import { recordsOver } from '../../api/records/open.ts';
import type { Records } from '../../api/records/records.ts';
import { readUsage } from '../../api/records/usage.ts';
import { verifyLedger } from '../../api/records/verify.ts';
import { PATIENCE } from '../support/records/patience.ts';
import { type PostgresProxy, startProxy } from '../support/records/proxy.ts';
import {
  chargeOf,
  hasPostgres,
  makeTenant,
  onPostgres,
  type Tenant,
  usedBy,
  type World,
} from '../support/records/world.ts';

const ANSWER = { status: 200, type: 'application/json', body: '{}' };

/** Records behind a proxy, with a tenant that has used one credit; `again` is another start of the same service. */
async function behindProxy(t: ExecutionContext, world: World) {
  const proxy = await startProxy(urlOf(world));
  t.teardown(proxy.close);
  const folder = mkdtempSync(join(tmpdir(), 'hail-doubt-'));
  t.teardown(() => rmSync(folder, { recursive: true }));
  const journal = join(folder, 'records', 'commits-in-doubt.jsonl');
  const said: string[] = [];
  const again = () =>
    recordsOver(openDatabase({ url: proxy.url }), {
      now: () => world.now_ms,
      // No commits but those of the test.
      notes_wait_ms: 600_000,
      journal,
      report: (line) => said.push(line),
    });
  const records = await again();
  // A server that is still silent at the end takes no notes: that is what some of these tests are about.
  t.teardown(() => refusal(records.close()));
  const tenant = await makeTenant(records, world, 'acme');
  await records.charge(chargeOf(tenant, 1, world));
  return { proxy, records, tenant, journal, said, again };
}

function urlOf({ location }: World): string {
  if (!('url' in location)) throw new Error('the test is on no server, expected PostgreSQL');
  return location.url;
}

/** Waits for something to become true, at most half a minute. */
async function soon(isSo: () => Promise<boolean> | boolean): Promise<boolean> {
  for (const until_ms = performance.now() + 30_000; performance.now() < until_ms; await sleep(20))
    if (await isSo()) return true;
  return false;
}

/** What a promise was rejected with, or null. */
function refusal(promise: Promise<unknown>): Promise<unknown> {
  return promise.then(
    () => null,
    (error: unknown) => error,
  );
}

function passAgain(proxy: PostgresProxy): void {
  proxy.commits = 'passes';
  proxy.silent = false;
  proxy.cut();
}

/** Credits of every row of the ledger, oldest first, each with its reason. */
async function ledgerOf({ reader }: Records): Promise<readonly [number, string | null][]> {
  const rows = await reader.selectFrom('ledger').select(['credits', 'reason']).orderBy('id').execute();
  return rows.map(({ credits, reason }) => [credits, reason]);
}

/** Sums are as if the charge of three credits had not been made, and the ledger shows why. */
async function isTakenBack(t: ExecutionContext, records: Records, tenant: Tenant, world: World): Promise<void> {
  t.deepEqual(await ledgerOf(records), [
    [1, null],
    [3, null],
    [-3, 'the answer to its commit was lost, and nothing was served'],
  ]);
  t.is(await usedBy(records, tenant), 1);
  const usage = await readUsage(records.reader, tenant.caller.business_id, '2026-05', world.now_ms);
  t.deepEqual(usage.operations, [{ operation: 'hail.current', count: 1, credits: 1, cost_per_call: 1 }]);
  t.deepEqual((await verifyLedger(records.reader)).faults, []);
}

if (hasPostgres) {
  onPostgres('a connection that is cut right after COMMIT costs no charge its answer', async (t, world) => {
    const { proxy, records, tenant } = await behindProxy(t, world);
    proxy.commits = 'cut after';
    for (let n = 0; n < 10; n++) t.is(await records.charge(chargeOf(tenant, 3, world)), 'charged');
    const charges = Array.from({ length: 20 }, () => records.charge(chargeOf(tenant, 3, world)));
    t.deepEqual(new Set(await Promise.all(charges)), new Set(['charged']));
    const { business_id } = tenant.caller;
    t.is(await records.write(business_id, chargeOf(tenant, 9, world), null, world.now_ms, async () => ANSWER), ANSWER);
    proxy.commits = 'passes';
    t.is(await usedBy(records, tenant), 1 + 30 * 3 + 9);
    const { rows, faults } = await verifyLedger(records.reader);
    t.deepEqual([rows, faults], [32, []]);
  });

  onPostgres('a connection that is cut before COMMIT arrives has charged nothing, and says so', async (t, world) => {
    const { proxy, records, tenant } = await behindProxy(t, world);
    proxy.commits = 'cut before';
    for (let n = 0; n < 5; n++)
      await t.throwsAsync(records.charge(chargeOf(tenant, 3, world)), { instanceOf: CommitFailed });
    proxy.commits = 'passes';
    t.deepEqual(await ledgerOf(records), [[1, null]]);
    t.is(await records.charge(chargeOf(tenant, 3, world)), 'charged');
  });

  onPostgres(
    'a charge that was made on a server that then falls silent is unknown, and taken back later',
    async (t, world) => {
      const { proxy, records, tenant, journal, said } = await behindProxy(t, world);
      proxy.commits = 'silent after';
      await t.throwsAsync(records.charge(chargeOf(tenant, 3, world)), { instanceOf: OutcomeUnknown });
      t.is(readFileSync(journal, 'utf8').split('\n').length, 2);
      passAgain(proxy);
      t.true(await soon(() => said.some((line) => /was made, and its charges are refunded/.test(line))));
      await isTakenBack(t, records, tenant, world);
      t.is(readFileSync(journal, 'utf8'), '');
      t.is(await records.charge(chargeOf(tenant, 3, world)), 'charged');
    },
  );

  onPostgres(
    'a charge that never arrived on a server that fell silent is unknown, and nothing later',
    async (t, world) => {
      const { proxy, records, tenant, said } = await behindProxy(t, world);
      proxy.commits = 'silent before';
      await t.throwsAsync(records.charge(chargeOf(tenant, 3, world)), { instanceOf: OutcomeUnknown });
      passAgain(proxy);
      t.true(await soon(() => said.some((line) => /was not made/.test(line))));
      t.deepEqual(await ledgerOf(records), [[1, null]]);
      t.true(await soon(() => records.health()));
      t.is(await records.charge(chargeOf(tenant, 3, world)), 'charged');
    },
  );

  onPostgres('a charge in doubt is taken back by the next start when this one ends before it can', async (t, world) => {
    const { proxy, records, tenant, said, again } = await behindProxy(t, world);
    proxy.commits = 'silent after';
    await t.throwsAsync(records.charge(chargeOf(tenant, 3, world)), { instanceOf: OutcomeUnknown });
    await refusal(records.close());
    passAgain(proxy);
    const restarted = await again();
    t.teardown(() => restarted.close());
    t.true(await soon(() => said.some((line) => /was made, and its charges are refunded/.test(line))));
    await isTakenBack(t, restarted, tenant, world);
  });

  onPostgres(
    'a silent server is refused, then at once by everybody, and found again when it speaks',
    async (t, world) => {
      const { proxy, records, tenant } = await behindProxy(t, world);
      proxy.silent = true;
      t.false(await records.health());
      const refusals = await Promise.all(
        Array.from({ length: 30 }, () => refusal(records.charge(chargeOf(tenant, 3, world)))),
      );
      t.true(refusals.every((error) => error instanceof RecordsUnavailable));
      t.true(records.store.writersBlocked());
      for (const refused of [
        () => records.charge(chargeOf(tenant, 3, world)),
        () => records.wouldExceed(tenant.caller, 3, world.now_ms),
        () => records.transaction(async () => {}),
        () => usedBy(records, tenant),
      ])
        t.true((await refusal(refused())) instanceof RecordsUnavailable);
      t.false(await records.health());
      passAgain(proxy);
      t.true(await soon(() => records.health()));
      t.is(await records.charge(chargeOf(tenant, 3, world)), 'charged');
      t.is(await usedBy(records, tenant), 4);
    },
  );

  onPostgres(
    'a table that another process locks keeps writers out and lets readers in, until it is free',
    async (t, world) => {
      const records = await world.open({ write_wait_ms: 1_000 });
      const tenant = await makeTenant(records, world, 'acme');
      await records.charge(chargeOf(tenant, 1, world));
      const other = new pg.Client(urlOf(world));
      await other.connect();
      await other.query('begin; lock table ledger in exclusive mode');
      const { business_id } = tenant.caller;
      const refusals = await Promise.all([
        refusal(records.charge(chargeOf(tenant, 3, world))),
        refusal(records.write(business_id, chargeOf(tenant, 3, world), null, world.now_ms, async () => ANSWER)),
      ]);
      t.true(refusals.every((error) => error instanceof RecordsUnavailable));
      t.true(records.store.writersBlocked());
      t.false(await records.health());
      t.true((await refusal(records.wouldExceed(tenant.caller, 3, world.now_ms))) instanceof RecordsUnavailable);
      t.is(await usedBy(records, tenant), 1);
      await other.query('commit');
      await other.end();
      t.true(await soon(() => records.health()));
      t.is(await records.charge(chargeOf(tenant, 3, world)), 'charged');
      t.is(await usedBy(records, tenant), 4);
    },
  );

  onPostgres('sessions that may only read are not kept for the time after', async (t, world) => {
    const owner = new pg.Client(urlOf(world));
    await owner.connect();
    t.teardown(() => owner.end());
    const role = `hail_role_${randomUUID().replaceAll('-', '')}`;
    await owner.query(`create role ${role} login superuser`);
    t.teardown(() => owner.query(`drop owned by ${role} cascade; drop role ${role}`));
    const url = new URL(urlOf(world));
    url.username = role;
    const records = await recordsOver(openDatabase({ url: url.href }), { now: () => world.now_ms });
    records.store.setWaits(PATIENCE);
    t.teardown(() => records.close());
    const tenant = await makeTenant(records, world, 'acme');
    await owner.query(`alter role ${role} set default_transaction_read_only = on`);
    const sessions = `from pg_stat_activity where usename = '${role}'`;
    const { rows: old } = await owner.query(`select pid, pg_terminate_backend(pid) ${sessions}`);
    const pids = old.map(({ pid }) => pid);
    t.true(await soon(async () => (await owner.query(`select ${sessions} and pid = any($1)`, [pids])).rowCount === 0));
    // Many sessions, all of which may only read.
    t.true(await soon(async () => (await refusal(usedBy(records, tenant))) === null));
    await Promise.all(Array.from({ length: 10 }, () => usedBy(records, tenant)));
    // Reads that wait for a session while those that are open are given up get another.
    const refused = refusal(records.transaction(async () => {}));
    await Promise.all(Array.from({ length: 1_000 }, () => usedBy(records, tenant)));
    t.true((await refused) instanceof RecordsUnavailable);
    t.true((await refusal(records.charge(chargeOf(tenant, 3, world)))) instanceof RecordsUnavailable);
    t.false(await records.health());
    await Promise.all(Array.from({ length: 10 }, () => usedBy(records, tenant)));
    await owner.query(`alter role ${role} reset default_transaction_read_only`);
    // The first may find out that its session may only read.
    const first = await refusal(records.charge(chargeOf(tenant, 3, world)));
    for (let n = 0; n < 5; n++) t.is(await records.charge(chargeOf(tenant, 3, world)), 'charged');
    t.is(await usedBy(records, tenant), first === null ? 18 : 15);
  });
} else test.skip('the records on a PostgreSQL in trouble (HAIL_TEST_DATABASE_URL is not set)', () => {});
