import test from 'ava';
import pg from 'pg';
import type { Location } from '../../api/records/database.ts';
import { CommitFailed, RecordsUnavailable } from '../../api/records/failures.ts';
import { verifyLedger } from '../../api/records/verify.ts';
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
    }
}
