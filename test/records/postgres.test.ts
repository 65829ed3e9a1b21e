import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import test from 'ava';
import pg from 'pg';
import pino from 'pino';
import { acceptJob } from '../../api/jobs/accept.ts';
import { jobFilePath } from '../../api/jobs/files.ts';
import type { Makers } from '../../api/jobs/kinds.ts';
import { startJobs } from '../../api/jobs/start.ts';
import type { Location } from '../../api/records/database.ts';
import { CommitFailed, RecordsUnavailable } from '../../api/records/failures.ts';
import { filedJobs, pendingSince } from '../../api/records/jobs.ts';
import { verifyLedger } from '../../api/records/verify.ts';
import { type OpenedServices, openServices } from '../../api/services.ts';
import { scratch } from '../support/data/world.ts';
import { BARE_ENVIRONMENT } from '../support/kill/bare-environment.ts';
import { SETTINGS, smallReport } from '../support/kill/jobs-load.ts';
import { PATIENCE } from '../support/records/patience.ts';
import { everySuite } from '../support/records/suites/every.ts';
import { killSuite } from '../support/records/suites/kill.ts';
import { chargeOf, hasPostgres, makeTenant, onPostgres, usedBy } from '../support/records/world.ts';

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
      const makers: Makers = {
        report: async ({ id, params, path }) => {
          made.push(id);
          if (params.lat === 0) throw new Error('no report of the equator');
          await writeFile(path, id);
          return smallReport(1);
        },
        export: () => Promise.reject(new Error('there are no exports here')),
      };
      const ends = opened.map((each) => startJobs(each.services, pino({ level: 'silent' }), makers));
      while ((await pendingSince(records.reader, Date.UTC(2100, 0))).length > 0) await sleep(20);
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
      const makers: Makers = {
        report: async ({ path }) => {
          await writeFile(path, CONTENT);
          return smallReport(1);
        },
        export: () => Promise.reject(new Error('there are no exports here')),
      };
      const end = startJobs(services, pino({ level: 'silent' }), makers, { lease_ms: 300, retry_wait_ms: 0 });
      while ((await pendingSince(records.reader, Date.UTC(2100, 0))).length > 0) await sleep(20);
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
async function endConnections(location: Location): Promise<void> {
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
