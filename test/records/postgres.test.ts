import { readdirSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import test from 'ava';
import pg from 'pg';
import pino from 'pino';
import { acceptJob } from '../../api/jobs/accept.ts';
import type { Makers } from '../../api/jobs/kinds.ts';
import { startJobs } from '../../api/jobs/start.ts';
import type { Location } from '../../api/records/database.ts';
import { CommitFailed, RecordsUnavailable } from '../../api/records/failures.ts';
import { pendingSince } from '../../api/records/jobs.ts';
import { verifyLedger } from '../../api/records/verify.ts';
import { type OpenedServices, openServices } from '../../api/services.ts';
import { scratch } from '../support/data/world.ts';
import { SETTINGS, smallReport } from '../support/kill/jobs-load.ts';
import { PATIENCE } from './patience.ts';
import { everySuite } from './suites/every.ts';
import { killSuite } from './suites/kill.ts';
import { chargeOf, hasPostgres, makeTenant, onPostgres, usedBy } from './world.ts';

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
