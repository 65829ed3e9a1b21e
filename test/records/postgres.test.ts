import { type ChildProcess, fork, type Serializable, spawn } from 'node:child_process';
import { createHash, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import test, { type ExecutionContext } from 'ava';
import pg from 'pg';
import pino from 'pino';
import { createBusiness } from '../../api/accounts/businesses.ts';
import { SELF_HOSTED } from '../../api/accounts/plans.ts';
import { isMatched } from '../../api/alerts/alerts.ts';
import { createSubscription } from '../../api/alerts/subscriptions.ts';
import { startWatch, type WatchParts } from '../../api/alerts/watch.ts';
import { withRequestId } from '../../api/billing/ledger.ts';
import { wasCommitted } from '../../api/billing/outcome.ts';
import { type Records, recordsOver } from '../../api/billing/records.ts';
import { readUsage } from '../../api/billing/usage.ts';
import { verifyLedger } from '../../api/billing/verify.ts';
import { jobFilePath } from '../../api/jobs/files.ts';
import type { JobHandlers } from '../../api/jobs/kinds.ts';
import { acceptJob, filedJobs, pendingSince } from '../../api/jobs/rows.ts';
import { startJobs } from '../../api/jobs/run.ts';
import { type DatabaseLocation, openDatabase } from '../../api/records/database.ts';
import { CommitFailed, isOutage, LockNotGiven, OutcomeUnknown, RecordsUnavailable } from '../../api/records/errors.ts';
import { openSecrets } from '../../api/records/secrets.ts';
import { RETRIES_MAX } from '../../api/rules/webhook-retry.ts';
import { type OpenedServices, openServices } from '../../api/services.ts';
import { insertWebhook } from '../../api/webhooks/endpoints.ts';
import { messageBacklog } from '../../api/webhooks/messages.ts';
import { newSecret } from '../../api/webhooks/signing-secrets.ts';
import { instant, scanId } from '../../schemas/time.ts';
import { editionOf, type Hail, type MadeScan, START_MS, timeOf, watchPartsOf } from '../support/data/alert-scans.ts';
import { scratch } from '../support/data/world.ts';
import { BARE_ENVIRONMENT } from '../support/kill/bare-environment.ts';
import { SETTINGS, smallReport } from '../support/kill/jobs-load.ts';
import { type Receiver, startReceiver } from '../support/service/receiver.ts';
import { PATIENCE } from '../support/store/patience.ts';
import { type PostgresProxy, startProxy } from '../support/store/proxy.ts';
import { everySuite } from '../support/store/suites/every.ts';
import { killSuite } from '../support/store/suites/kill.ts';
import {
  chargeOf,
  hasPostgres,
  makeTenant,
  onPostgres,
  type Tenant,
  usedBy,
  type World,
} from '../support/store/world.ts';
import { until } from '../support/until.ts';

const STANDS_STILL = fileURLToPath(new URL('../support/kill/paused-child.ts', import.meta.url));

if (hasPostgres) {
  everySuite(onPostgres);
  killSuite(onPostgres);

  onPostgres(
    'connections that the server ends are replaced; no answered charge is lost or doubled',
    async (t, world) => {
      const records = await world.open();
      const tenant = await makeTenant(records, world, 'acme');
      let charged = 0;
      for (let round = 0; round < 5; round++) {
        const charging = Promise.allSettled(
          Array.from({ length: 64 }, () => records.charge(chargeOf(tenant, 3, world))),
        );
        await endConnections(world.location);
        for (const outcome of await charging) {
          if (outcome.status === 'fulfilled') charged += 1;
          else t.true(outcome.reason instanceof CommitFailed || outcome.reason instanceof RecordsUnavailable);
        }
        t.is(await eventually(() => records.charge(chargeOf(tenant, 3, world))), 'charged');
        charged += 1;
      }
      const { rows, faults } = await verifyLedger(records.reader);
      t.deepEqual([rows, faults, await usedBy(records, tenant)], [charged, [], 3 * charged]);
    },
  );

  onPostgres(
    'connections that the server ends while the last calls of a day are counted and charged: none is refused before the limit, none charged twice',
    async (t, world) => {
      const LIMIT = 30;
      const processes = [await world.open(), await world.open()];
      const [first] = processes as [Records];
      let charged = 0;
      for (let round = 0; round < 8; round++) {
        const tenant = await makeTenant(first, world, `business ${round}`);
        const { business_id } = tenant.caller;
        const call = async (records: Records) => {
          if (!(await records.admitToday(business_id, LIMIT, world.now_ms))) return 'refused';
          const outcome = await records.charge(chargeOf(tenant, 3, world)).catch(outage);
          if (outcome === 'charged') charged += 1;
          return outcome;
        };
        const counted = async () => {
          const day = first.reader.selectFrom('request_days').select('requests');
          return await eventually(() => day.where('business_id', '=', business_id).execute());
        };
        for (let burst = 0; burst < 8; burst++) {
          const calls = Promise.all(Array.from({ length: 10 }, (_, k) => call(processes[k % 2] as Records)));
          await sleep(burst % 4);
          if (burst % 2 === round % 2) await endConnections(world.location);
          if ((await calls).includes('refused')) t.deepEqual(await counted(), [{ requests: LIMIT }]);
        }
        t.deepEqual(await counted(), [{ requests: LIMIT }]);
      }
      const { rows, faults } = await eventually(() => verifyLedger(first.reader));
      t.deepEqual([rows, faults], [charged, []]);
    },
  );

  onPostgres(
    'two services on one PostgreSQL run each report once, and one that fails is given back',
    async (t, world) => {
      const data_root = await scratch(t);
      const database_url = 'url' in world.location ? world.location.url : '';
      const opened = [
        await openServices({ ...SETTINGS, data_root, database_url }),
        await openServices({ ...SETTINGS, data_root, database_url }),
      ];
      t.teardown(() => Promise.all(opened.map(({ close }) => close())));
      for (const { services } of opened) services.records.store.setWaits(PATIENCE);
      const [{ services }] = opened as [OpenedServices];
      const { records } = services;
      const tenant = await makeTenant(records, world, 'acme');
      const { business_id, key_id } = tenant.caller;
      const price = { operation: 'verify.report.create', credits: 100, count: 1 };
      const ids: string[] = [];
      for (let k = 0; k < 8; k++)
        await records.write(
          business_id,
          chargeOf(tenant, 100, world, price.operation),
          null,
          world.now_ms,
          async (writer) => {
            const params = { lat: k, lon: -97, date_start: '2026-04-01', date_end: '2026-05-01' };
            ids.push(await acceptJob(writer, services.queue, { kind: 'report', params, caller: { key_id }, price }));
            return { status: 202, type: 'application/json', body: '{}' };
          },
        );
      const made: string[] = [];
      const makers: JobHandlers = {
        report: async ({ id, params, path }) => {
          made.push(id);
          if (params.lat === 0) throw new Error('no report of the equator');
          await writeFile(path, id);
          return smallReport(1);
        },
        export: () => Promise.reject(new Error('there are no exports here')),
      };
      const ends = opened.map((each) => startJobs(each.services, pino({ level: 'silent' }), makers));
      await until(async () => (await pendingSince(records.reader, Date.UTC(2100, 0))).length === 0);
      await Promise.all(ends.map((end) => end()));
      t.deepEqual(made.toSorted(), ids.toSorted());
      t.is(readdirSync(join(data_root, 'reports')).length, 7 + 1);
      t.is(await usedBy(records, tenant), 700);
      t.deepEqual((await verifyLedger(records.reader)).faults, []);
    },
  );

  onPostgres(
    'a worker that stood still while another ended its job puts nothing over the file of that one',
    async (t, world) => {
      const data_root = await scratch(t);
      const url = new URL('url' in world.location ? world.location.url : '');
      // The server gives up on a transaction whose client is still.
      url.searchParams.set('idle_in_transaction_session_timeout', '500');
      const database_url = url.href;
      const { services, close } = await openServices({ ...SETTINGS, data_root, database_url });
      t.teardown(close);
      const { records, queue } = services;
      const tenant = await makeTenant(records, world, 'acme');
      const { business_id, key_id } = tenant.caller;
      const price = { operation: 'verify.report.create', credits: 100, count: 1 };
      const charge = chargeOf(tenant, 100, world, price.operation);
      const params = { lat: 35, lon: -97, date_start: '2026-04-01', date_end: '2026-05-01' };
      await records.write(business_id, charge, null, world.now_ms, async (writer) => {
        await acceptJob(writer, queue, { kind: 'report', params, caller: { key_id }, price });
        return { status: 202, type: 'application/json', body: '{}' };
      });
      const still = spawn(process.execPath, [STANDS_STILL, data_root, database_url], {
        env: { ...BARE_ENVIRONMENT, PATH: process.env.PATH ?? '' },
        stdio: ['ignore', 'pipe', 'inherit'],
      });
      t.teardown(() => still.kill('SIGKILL'));
      await once(still.stdout, 'data');
      const CONTENT = 'by the one that took it over, and longer';
      const makers: JobHandlers = {
        report: async ({ path }) => {
          await writeFile(path, CONTENT);
          return smallReport(1);
        },
        export: () => Promise.reject(new Error('there are no exports here')),
      };
      const end = startJobs(services, pino({ level: 'silent' }), makers, { lease_ms: 300, retry_wait_ms: 0 });
      await until(async () => (await pendingSince(records.reader, Date.UTC(2100, 0))).length === 0);
      await end();
      still.kill('SIGCONT');
      t.deepEqual(await once(still, 'exit'), [0, null]);
      const [job] = await filedJobs(records.reader, business_id);
      if (job === undefined) throw new Error('no job has a file, expected one');
      const content = readFileSync(jobFilePath(data_root, job), 'utf8');
      t.deepEqual([content, job.sha256], [CONTENT, createHash('sha256').update(content).digest('hex')]);
      t.is(await usedBy(records, tenant), 100);
    },
  );
} else test.skip('the records on a real PostgreSQL (HAIL_TEST_DATABASE_URL is not set)', () => {});

/** Ends every connection to the schema of a test. */
async function endConnections(location: DatabaseLocation): Promise<void> {
  const url = 'url' in location ? location.url : '';
  const client = new pg.Client(url);
  await client.connect();
  await client.query(
    'select pg_terminate_backend(pid) from pg_stat_activity where application_name = $1 and pid <> pg_backend_pid()',
    [new URL(url).searchParams.get('application_name')],
  );
  await client.end();
}

/** Passes an outage on as the outcome of a call. */
function outage(error: unknown): 'outage' {
  if (isOutage(error)) return 'outage';
  throw error;
}

/** The result, once connections have been replaced. */
async function eventually<T>(run: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++)
    try {
      return await run();
    } catch (error) {
      if (attempt === 20) throw error;
      await sleep(50);
    }
}

const ANSWER = { status: 200, type: 'application/json', body: '{}' };

/** A session that has run a statement in a transaction, and holds the rows that it locks. */
async function holding(
  t: ExecutionContext,
  world: World,
  statement: string,
  ...values: readonly (string | Tenant)[]
): Promise<pg.Client> {
  const client = new pg.Client(urlOf(world));
  await client.connect();
  t.teardown(() => client.end());
  await client.query('begin');
  await client.query(
    statement,
    values.map((value) => (typeof value === 'string' ? value : value.caller.business_id)),
  );
  return client;
}

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
      deferred_wait_ms: 600_000,
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
      await until(() => said.some((line) => /was made, and its charges are refunded/.test(line)));
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
      await until(() => said.some((line) => /was not made/.test(line)));
      t.deepEqual(await ledgerOf(records), [[1, null]]);
      await until(() => records.health());
      t.is(await records.charge(chargeOf(tenant, 3, world)), 'charged');
    },
  );

  onPostgres(
    'a commit whose number the server has not reached, as after a failover, was not made',
    async (t, world) => {
      const records = await world.open();
      const id = await records.store.writer.transaction().execute((rows) => records.store.transactionId(rows));
      t.true(await wasCommitted(records.store, String(id)));
      t.false(await wasCommitted(records.store, '999999999999'));
    },
  );

  onPostgres('two services that read one journal take the charges of its commit back once', async (t, world) => {
    const records = await world.open();
    const tenant = await makeTenant(records, world, 'acme');
    await records.charge(chargeOf(tenant, 1, world));
    const charge = withRequestId(chargeOf(tenant, 3, world));
    await records.charge(charge);
    const folder = mkdtempSync(join(tmpdir(), 'hail-doubt-'));
    t.teardown(() => rmSync(folder, { recursive: true }));
    const starts = Array.from({ length: 6 }, async (_, k) => {
      const journal = join(folder, `${k}.jsonl`);
      await writeFile(journal, `${JSON.stringify({ id: charge.request_id, charges: [charge] })}\n`);
      return await world.open({ journal });
    });
    await Promise.all((await Promise.all(starts)).map((started) => started.close()));
    await isTakenBack(t, records, tenant, world);
  });

  onPostgres('a charge in doubt is taken back by the next start when this one ends before it can', async (t, world) => {
    const { proxy, records, tenant, said, again } = await behindProxy(t, world);
    proxy.commits = 'silent after';
    await t.throwsAsync(records.charge(chargeOf(tenant, 3, world)), { instanceOf: OutcomeUnknown });
    await refusal(records.close());
    passAgain(proxy);
    const restarted = await again();
    t.teardown(() => restarted.close());
    await until(() => said.some((line) => /was made, and its charges are refunded/.test(line)));
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
      await until(() => records.health());
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
      await until(() => records.health());
      t.is(await records.charge(chargeOf(tenant, 3, world)), 'charged');
      t.is(await usedBy(records, tenant), 4);
    },
  );

  onPostgres('a row that another process locks keeps out who needs it, and nobody else', async (t, world) => {
    const records = await world.open({ write_wait_ms: 1_000 });
    const [tenant, free] = [await makeTenant(records, world, 'acme'), await makeTenant(records, world, 'free')];
    for (const each of [tenant, free]) await records.charge(chargeOf(each, 1, world));
    const other = new pg.Client(urlOf(world));
    await other.connect();
    await other.query('begin');
    await other.query('select * from businesses where id = $1 for update', [tenant.caller.business_id]);
    const updated = records.transaction((rows) =>
      rows.updateTable('businesses').set({ name: 'other' }).where('id', '=', tenant.caller.business_id).execute(),
    );
    t.true((await refusal(updated)) instanceof RecordsUnavailable);
    t.false(records.store.writersBlocked());
    t.is(await records.charge(chargeOf(free, 3, world)), 'charged');
    await other.query('rollback');
    await other.end();
  });

  onPostgres(
    'a month that a node holds which was cut off keeps out the calls of its business, and no other one that is charged with them',
    async (t, world) => {
      const records = await world.open({ write_wait_ms: 1_000 });
      const [held, free] = [await makeTenant(records, world, 'acme'), await makeTenant(records, world, 'free')];
      for (const each of [held, free]) await records.charge(chargeOf(each, 1, world));
      const other = await holding(t, world, 'update periods set used = used where business_id = $1', held);
      const { business_id, rate_bucket: holder } = held.caller;
      const cursor = { business_id, holder, list: 'alerts', item_id: 'one', sort_key: '', expires_at: '9999' };
      const columns = Object.keys(cursor);
      const places = columns.map((_, k) => `$${k + 1}`);
      await other.query(`insert into cursors (${columns}) values (${places})`, Object.values(cursor));
      records.rememberCursor(cursor);
      const together = () => [held, free].map((each) => records.charge(chargeOf(each, 3, world)));
      const [refused, charged] = together() as [Promise<unknown>, Promise<unknown>];
      t.true((await refusal(refused)) instanceof LockNotGiven);
      t.is(await charged, 'charged');
      t.true(await records.health());
      const began_ms = performance.now();
      const [waits, isCharged] = together() as [Promise<unknown>, Promise<unknown>];
      t.is(await isCharged, 'charged');
      t.true(performance.now() - began_ms < 900);
      await other.query('rollback');
      t.is(await waits, 'charged');
      const cursors = records.reader.selectFrom('cursors').select('item_id');
      await until(async () => (await cursors.execute()).length === 1);
      t.deepEqual([await usedBy(records, held), await usedBy(records, free)], [4, 7]);
      const { rows, faults } = await verifyLedger(records.reader);
      t.deepEqual([rows, faults], [5, []]);
    },
  );

  onPostgres(
    'writes of a business whose row a node holds that was cut off take no connection from anyone else',
    async (t, world) => {
      const records = await world.open({ write_wait_ms: 1_000 });
      const [held, free] = [await makeTenant(records, world, 'acme'), await makeTenant(records, world, 'free')];
      const other = await holding(t, world, 'select * from businesses where id = $1 for update', held);
      const write = ({ caller }: Tenant) =>
        records.write(caller.business_id, null, null, world.now_ms, async () => ANSWER);
      const refusals = Array.from({ length: 60 }, () => refusal(write(held)));
      await sleep(50);
      const began_ms = performance.now();
      t.is(await write(free), ANSWER);
      t.is(await records.charge(chargeOf(free, 1, world)), 'charged');
      t.true(await records.health());
      t.true(performance.now() - began_ms < 900);
      for (const refused of await Promise.all(refusals)) t.true(refused instanceof LockNotGiven);
      t.true(performance.now() - began_ms < 3_000);
      await other.query('rollback');
      t.deepEqual(new Set(await Promise.all(Array.from({ length: 20 }, () => write(held)))), new Set([ANSWER]));
    },
  );

  onPostgres(
    'writers that wait for rows with every connection close the server to nobody, and others get in once they gave up',
    async (t, world) => {
      const records = await world.open({ write_wait_ms: 1_000 });
      const tenants = await Promise.all(
        Array.from({ length: 24 }, (_, k) => makeTenant(records, world, `business ${k}`)),
      );
      const other = await holding(t, world, 'select * from businesses where name like $1 for update', 'business %');
      const refusals = tenants.map(({ caller }) =>
        refusal(records.write(caller.business_id, null, null, world.now_ms, async () => ANSWER)),
      );
      const began_ms = performance.now();
      const blocked: boolean[] = [];
      const looking = setInterval(() => blocked.push(records.store.writersBlocked()), 10);
      for (const refused of await Promise.all(refusals)) t.true(refused instanceof RecordsUnavailable);
      clearInterval(looking);
      t.true(performance.now() - began_ms < 4_000);
      t.false(blocked.includes(true));
      t.is(await usedBy(records, tenants[0] as Tenant), 0);
      await other.query('rollback');
      t.true(await records.health());
    },
  );

  onPostgres('a probe of commits that was cut off makes no other service unready', async (t, world) => {
    const records = await world.open();
    await holding(t, world, "insert into probes values ('health', $1)", '');
    for (let k = 0; k < 8; k++) {
      t.true(await records.health());
      await sleep(200);
    }
  });

  onPostgres(
    'a service that waits for another which raises the alerts of a scan defers it, and finds it matched',
    async (t, world) => {
      const records = await world.open({ write_wait_ms: 200 });
      const other = await holding(t, world, 'insert into matched_scans values ($1, $2)', scanId(START_MS), '');
      const lines: { readonly level: number; readonly msg: string }[] = [];
      const log = pino({ level: 'debug' }, { write: (line: string) => lines.push(JSON.parse(line)) });
      const edition = editionOf([{ minute: 0 }]);
      const catalog: WatchParts['catalog'] = {
        edition: () => edition,
        failure: () => null,
        afterEdition: ({ react, failed }) => {
          void react(edition, null).catch(failed);
          return async () => {};
        },
      };
      const end = startWatch({ ...watchPartsOf(records, { now: () => START_MS }), catalog, log }, 50);
      await until(() => lines.length > 0);
      await other.query('commit');
      await sleep(300);
      await end();
      t.deepEqual(new Set(lines.map(({ msg }) => msg)), new Set(['Scan:Match:Deferred']));
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
    await until(async () => (await owner.query(`select ${sessions} and pid = any($1)`, [pids])).rowCount === 0);
    // Many sessions, all of which may only read.
    await until(async () => (await refusal(usedBy(records, tenant))) === null);
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

const CHILD = fileURLToPath(new URL('../support/store/service-child.ts', import.meta.url));
const EPISODES = 4;
/** From the beginning of an episode to that of the next. */
const EVERY_MIN = 40;
/** Attempts that fail are made again after a tenth of a second. */
const TIME_SCALE = 0.01;
const FAILING = 0.2;
/** So often a test looks whether what it waits for is so, and at most so long. */

const PLACES = Array.from({ length: 12 }, (_, k) => ({ lat: 33.005 + k / 2, lon: -97.005 }));
const HAIL: readonly Hail[] = PLACES.map(({ lat, lon }) => [lat, lon, 40]);
const BEGINS = Array.from({ length: EPISODES }, (_, episode) => EVERY_MIN * episode + 2);
/** Hail at all places in two scans, clear ones, the last of which is half an hour after the hail. */
const SCANS: readonly MadeScan[] = [
  { minute: 0 },
  ...BEGINS.flatMap((minute) => [
    { minute, hail: HAIL },
    { minute: minute + 2, hail: HAIL },
    { minute: minute + 4 },
    { minute: minute + 32 },
  ]),
];

if (hasPostgres)
  onPostgres(
    'two services on one PostgreSQL raise and resolve each episode of hail once, and send each attempt once',
    async (t, world) => {
      const folder = await scratch(t);
      await mkdir(folder);
      const receiver = await startReceiver(t);
      const records = await world.open();
      await subscribe(records, folder, receiver);
      const requests = listen(receiver);
      const url = 'url' in world.location ? world.location.url : '';
      const services = await Promise.all([1, 2].map(() => startChild(t, [folder, url, receiver.ca_file])));
      for (const [at, scan] of SCANS.entries()) {
        await Promise.all(services.map((service) => asked(service, SCANS.slice(0, at + 1))));
        await until(async () => await isMatched(records.reader, scanId(timeOf(scan))));
      }
      await until(async () => (await messageBacklog(records.reader, Date.now())).events === 0);
      const attempts = (await Promise.all(services.map((service) => asked(service, 'end')))).map(Number);

      const alerts = await records.reader
        .selectFrom('alerts')
        .innerJoin('subscriptions', 'subscriptions.id', 'location_id')
        .select(['location_name as name', 'alerts.status', 'triggered_at', 'resolved_at', 'trigger_count'])
        .orderBy('location_name')
        .orderBy('triggered_at')
        .execute();
      t.deepEqual(
        alerts,
        PLACES.flatMap((_, k) => BEGINS.map((begin) => episodeOf(k, begin))),
      );
      const messages = await records.reader.selectFrom('messages').selectAll().orderBy('id').execute();
      const expected = PLACES.length * EPISODES;
      for (const event of ['alert.created', 'alert.resolved'] as const) {
        const told = messages.filter((push) => push.event === event);
        t.is(new Set(told.map(({ receiver_id, alert_id }) => `${receiver_id} ${alert_id}`)).size, 2 * expected);
        t.is(told.length, 2 * expected);
      }
      t.deepEqual([...new Set(messages.map(({ state }) => state))], ['delivered']);
      const made = new Map(messages.map(({ id, attempts }) => [id, attempts]));
      const came = Map.groupBy(requests, ({ id }) => id);
      t.deepEqual(
        new Map([...came].map(([id, all]) => [id, all.length])),
        new Map([...came.keys()].map((id) => [id, made.get(id)])),
      );
      t.is(came.size, messages.length);
      t.true(requests.length > messages.length);
      t.deepEqual(
        messages.filter(({ id, after_id }) => after_id !== null && !goesAfter(requests, id, after_id)),
        [],
      );
      t.is(
        attempts.reduce((sum, count) => sum + count, 0),
        requests.length,
      );
      t.true(
        attempts.every((count) => count > 0),
        `attempts of each: ${attempts}`,
      );
    },
  );
else test.skip('two services on a real PostgreSQL (HAIL_TEST_DATABASE_URL is not set)', () => {});

/** What the records say of an episode at the k-th place. */
function episodeOf(k: number, begin: number) {
  return {
    name: nameOf(k),
    status: 'resolved',
    triggered_at: instant(timeOf({ minute: begin })),
    // Half an hour after its last hail.
    resolved_at: instant(timeOf({ minute: begin + 32 })),
    trigger_count: EPISODES,
  };
}

function nameOf(k: number): string {
  return `place ${String(k).padStart(2, '0')}`;
}

/** A business with a subscription at each place, and a webhook that is told of all of them. */
async function subscribe(records: Records, folder: string, { url }: Receiver): Promise<void> {
  const secrets = await openSecrets(records, { records_root: folder, master_keys: null, now: () => START_MS });
  await records.transaction(async (rows) => {
    const business = await createBusiness(rows, 'acme', SELF_HOSTED, START_MS);
    const writer = { rows, business_id: business?.id ?? '', now_ms: START_MS };
    await insertWebhook(writer, secrets, { url, events: ['alert.created', 'alert.resolved'] }, 10);
    for (const [k, place] of PLACES.entries()) {
      const secret = secrets.encrypt(newSecret());
      const wanted = { name: nameOf(k), ...place, radius_km: 5, min_size_mm: 25, webhook_url: `${url}/${k}`, secret };
      await createSubscription(writer, wanted, PLACES.length);
    }
  });
}

interface Request {
  readonly id: string;
  readonly taken: boolean;
}

/**
 * Makes the receiver fail its share of the requests, evenly spread, and returns those that come. The last attempt of an event is
 * always taken: that all of one fail is rare, not impossible, and would rightly drop it.
 */
function listen(receiver: Receiver): readonly Request[] {
  const requests: Request[] = [];
  receiver.answer = ({ headers }, response) => {
    const id = String(headers['webhook-id']);
    const failed = requests.filter((request) => request.id === id).length;
    const taken = failed === RETRIES_MAX || (requests.length * 0.61803398875) % 1 >= FAILING;
    requests.push({ id, taken });
    response.writeHead(taken ? 200 : 500).end();
  };
  return requests;
}

/** True when an event was sent for the first time after another was taken. */
function goesAfter(requests: readonly Request[], id: string, after_id: string): boolean {
  const taken = requests.findIndex((request) => request.id === after_id && request.taken);
  return taken !== -1 && requests.findIndex((request) => request.id === id) > taken;
}

async function startChild(t: ExecutionContext, args: readonly string[]): Promise<ChildProcess> {
  const child = fork(CHILD, [...args, String(TIME_SCALE)]);
  t.teardown(() => child.kill('SIGKILL'));
  await answer(child);
  return child;
}

/** What a service answers to a message. */
async function asked(child: ChildProcess, message: readonly MadeScan[] | 'end'): Promise<unknown> {
  const answered = answer(child);
  child.send(message as Serializable);
  return await answered;
}

async function answer(child: ChildProcess): Promise<unknown> {
  const ended = new AbortController();
  const { signal } = ended;
  try {
    return await Promise.race([
      once(child, 'message', { signal }).then(([message]) => message),
      once(child, 'exit', { signal }).then(([code]) => {
        throw new Error(`a service ended with ${code} before it answered`);
      }),
    ]);
  } finally {
    ended.abort();
  }
}
