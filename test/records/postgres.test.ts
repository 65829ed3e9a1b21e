import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import test, { type ExecutionContext } from 'ava';
import pg from 'pg';
import pino from 'pino';
import { createWatch } from '../../api/alerts/watch.ts';
import { recordsOver } from '../../api/billing/records.ts';
import { refundRequest, verifyLedger } from '../../api/billing/usage.ts';
import { openCallLimits } from '../../api/http/call-limits.ts';
import { jobFilePath } from '../../api/jobs/files.ts';
import type { JobHandlers } from '../../api/jobs/kinds.ts';
import { acceptJob, filedJobs, pendingSince } from '../../api/jobs/rows.ts';
import { startJobs } from '../../api/jobs/run.ts';
import { openDatabase } from '../../api/records/database.ts';
import { isOutage, LockNotGiven, OutcomeUnknown } from '../../api/records/errors.ts';
import { openServices } from '../../api/services.ts';
import { newId } from '../../schemas/ids.ts';
import { scanId } from '../../schemas/time.ts';
import { editionOf, START_MS, watchPartsOf } from '../support/data/alert-scans.ts';
import { scratch } from '../support/data/world.ts';
import { BARE_ENVIRONMENT } from '../support/kill/bare-environment.ts';
import { SETTINGS, smallReport } from '../support/kill/jobs-load.ts';
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

  onPostgres('connections that the server ends are replaced, and no charge is lost or doubled', async (t, world) => {
    const records = await world.open();
    const tenant = await makeTenant(records, world, 'acme');
    let charged = 0;
    for (let round = 0; round < 5; round++) {
      const charging = Promise.allSettled(Array.from({ length: 64 }, () => records.charge(chargeOf(tenant, 3, world))));
      await endConnections(world.location);
      for (const outcome of await charging) {
        if (outcome.status === 'fulfilled') charged += 1;
        else t.true(isOutage(outcome.reason));
      }
      t.is(await eventually(() => records.charge(chargeOf(tenant, 3, world))), 'charged');
      charged += 1;
    }
    const { rows, faults } = await verifyLedger(records.reader);
    t.deepEqual([rows, faults, await usedBy(records, tenant)], [charged, [], 3 * charged]);
  });

  onPostgres(
    'calls at once are all charged where the database is set to serializable transactions',
    async (t, world) => {
      const url = new URL('url' in world.location ? world.location.url : '');
      url.searchParams.set(
        'options',
        `${url.searchParams.get('options')} -c default_transaction_isolation=serializable`,
      );
      const records = await recordsOver(openDatabase({ url: url.href }, PATIENCE), { now: () => world.now_ms });
      t.teardown(() => records.close());
      const tenant = await makeTenant(records, world, 'acme');
      const charged = await Promise.all(Array.from({ length: 32 }, () => records.charge(chargeOf(tenant, 3, world))));
      t.deepEqual([new Set(charged), await usedBy(records, tenant)], [new Set(['charged']), 96]);
      const processes = [await openCallLimits(url.href), await openCallLimits(url.href)];
      t.teardown(() => Promise.all(processes.map(({ close }) => close())));
      const calls = Array.from({ length: 20 }, () => processes.map(({ countCall }) => countCall('key', 60))).flat();
      const left = (await Promise.all(calls)).map(({ headers }) => Number(headers['X-RateLimit-Remaining']));
      t.is(Math.min(...left), 20);
    },
  );

  onPostgres('two services on one PostgreSQL run a report once, and one that fails is returned', async (t, world) => {
    const data_root = await scratch(t);
    const database_url = 'url' in world.location ? world.location.url : '';
    const opened = [
      await openServices({ ...SETTINGS, data_root, database_url }),
      await openServices({ ...SETTINGS, data_root, database_url }),
    ];
    t.teardown(() => Promise.all(opened.map(({ close }) => close())));
    const [{ services }] = opened as [Awaited<ReturnType<typeof openServices>>];
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
  });

  onPostgres('a worker that stood still while another ended its job leaves the file of that one', async (t, world) => {
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
  });
} else test.skip('the records on a real PostgreSQL (HAIL_TEST_DATABASE_URL is not set)', () => {});

/** Ends every connection to the schema of a test. */
async function endConnections(location: Parameters<typeof openDatabase>[0]): Promise<void> {
  const url = 'url' in location ? location.url : '';
  const client = new pg.Client(url);
  await client.connect();
  await client.query(
    'select pg_terminate_backend(pid) from pg_stat_activity where application_name = $1 and pid <> pg_backend_pid()',
    [new URL(url).searchParams.get('application_name')],
  );
  await client.end();
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
  const texts = values.map((value) => (typeof value === 'string' ? value : value.caller.business_id));
  await client.query(statement, texts);
  return client;
}

/** Records behind a proxy, with a tenant that has used one credit. */
async function behindProxy(t: ExecutionContext, world: World) {
  const proxy = await startProxy(urlOf(world));
  t.teardown(proxy.close);
  const records = await recordsOver(openDatabase({ url: proxy.url }), { now: () => world.now_ms });
  t.teardown(() => refusal(records.close()));
  const tenant = await makeTenant(records, world, 'acme');
  await records.charge(chargeOf(tenant, 1, world));
  return { proxy, records, tenant };
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

if (hasPostgres) {
  onPostgres('a connection that is cut right after COMMIT costs no call its answer', async (t, world) => {
    const { proxy, records, tenant } = await behindProxy(t, world);
    const { business_id } = tenant.caller;
    const cutAfter = async <Result>(run: () => Promise<Result>): Promise<Result> => {
      proxy.commits = 'cut after';
      const running = run();
      await until(() => proxy.commits_seen > 0);
      proxy.commits = 'passes';
      return await running;
    };
    for (let n = 0; n < 5; n++) {
      proxy.commits_seen = 0;
      t.is(await cutAfter(() => records.charge(chargeOf(tenant, 3, world))), 'charged');
      proxy.commits_seen = 0;
      let runs = 0;
      const write = () =>
        records.write(business_id, chargeOf(tenant, 9, world), null, world.now_ms, async ({ rows }) => {
          runs += 1;
          await rows
            .insertInto('probes')
            .values({ name: `row ${n}`, at: '' })
            .execute();
          return ANSWER;
        });
      t.is(await cutAfter(write), ANSWER);
      t.is(runs, 1);
    }
    t.is(await usedBy(records, tenant), 1 + 5 * (3 + 9));
    const { rows, faults } = await verifyLedger(records.reader);
    t.deepEqual([rows, faults], [11, []]);
  });

  onPostgres('a call whose COMMIT never arrived is made by the next try, once', async (t, world) => {
    const { proxy, records, tenant } = await behindProxy(t, world);
    for (let n = 0; n < 5; n++) {
      proxy.commits_seen = 0;
      proxy.commits = 'cut before';
      const charging = records.charge(chargeOf(tenant, 3, world));
      await until(() => proxy.commits_seen > 0);
      proxy.commits = 'passes';
      t.is(await charging, 'charged');
    }
    t.is(await usedBy(records, tenant), 16);
    const { rows, faults } = await verifyLedger(records.reader);
    t.deepEqual([rows, faults], [6, []]);
  });

  for (const [fate, charged] of [
    ['silent after', true],
    ['silent before', false],
  ] as const)
    onPostgres(`a server ${fate} a COMMIT leaves the call unknown, and a refund mends one made`, async (t, world) => {
      const { proxy, records, tenant } = await behindProxy(t, world);
      const request_id = newId('request', world.now_ms);
      proxy.commits = fate;
      const refused = records.charge({ ...chargeOf(tenant, 3, world), request_id });
      await t.throwsAsync(refused, { instanceOf: OutcomeUnknown });
      passAgain(proxy);
      await until(() => records.health());
      const refund = () => records.transaction((rows) => refundRequest(rows, request_id, 'answer lost', world.now_ms));
      t.is(await usedBy(records, tenant), charged ? 4 : 1);
      t.deepEqual(
        [await refund(), await refund()],
        charged ? [{ credits: 3, business_id: tenant.caller.business_id }, 'refunded before'] : ['unknown', 'unknown'],
      );
      t.is(await usedBy(records, tenant), 1);
      t.deepEqual((await verifyLedger(records.reader)).faults, []);
      t.is(await records.charge(chargeOf(tenant, 3, world)), 'charged');
    });

  onPostgres('a silent server refuses every call in bounded time, and is found when it speaks', async (t, world) => {
    const { proxy, records, tenant } = await behindProxy(t, world);
    proxy.silent = true;
    const calls = [
      usedBy(records, tenant),
      records.charge(chargeOf(tenant, 3, world)),
      records.transaction(async () => {}),
    ];
    for (const refused of await Promise.all(calls.map(refusal))) t.true(isOutage(refused));
    t.false(await records.health());
    passAgain(proxy);
    await until(() => records.health());
    t.is(await records.charge(chargeOf(tenant, 3, world)), 'charged');
    t.is(await usedBy(records, tenant), 4);
  });

  onPostgres('a row that another process holds keeps out who needs it, and nobody else', async (t, world) => {
    const records = await world.open({ waits: { lock_ms: 500, statement_ms: 20_000 } });
    const [held, free] = [await makeTenant(records, world, 'acme'), await makeTenant(records, world, 'free')];
    for (const each of [held, free]) await records.charge(chargeOf(each, 1, world));
    const other = await holding(t, world, 'update periods set used = used where business_id = $1', held);
    const [refused, charged] = [held, free].map((each) => records.charge(chargeOf(each, 3, world)));
    t.true((await refusal(refused as Promise<unknown>)) instanceof LockNotGiven);
    t.is(await charged, 'charged');
    t.true(await records.health());
    await other.query('rollback');
    t.is(await records.charge(chargeOf(held, 3, world)), 'charged');
    t.deepEqual([await usedBy(records, held), await usedBy(records, free)], [4, 4]);
    t.deepEqual((await verifyLedger(records.reader)).faults, []);
  });

  onPostgres('a service that waits for another which raises alerts finds the scan matched', async (t, world) => {
    const records = await world.open({ waits: { lock_ms: 200, statement_ms: 20_000 } });
    const other = await holding(t, world, 'insert into matched_scans values ($1, $2)', scanId(START_MS), '');
    const lines: { readonly level: number; readonly msg: string }[] = [];
    const log = pino({ level: 'debug' }, { write: (line: string) => lines.push(JSON.parse(line)) });
    const edition = editionOf([{ minute: 0 }]);
    const watch = createWatch({ ...watchPartsOf(records, { now: () => START_MS }), log });
    await t.throwsAsync(watch(edition), { instanceOf: LockNotGiven });
    await other.query('commit');
    await watch(edition);
    t.deepEqual(lines, []);
  });
} else test.skip('the records on a PostgreSQL in trouble (HAIL_TEST_DATABASE_URL is not set)', () => {});
