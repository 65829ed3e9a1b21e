import test from 'ava';
import pg from 'pg';
import { hasPostgres, onPostgres, type Register } from '../../records/world.ts';
import { queueContract } from './contract.ts';
import { urlOf } from './diary.ts';

/** A real PostgreSQL, each test in schemas of its own. */
const onBoss: Register = (title, body) =>
  onPostgres(title, async (t, world) => {
    const url = urlOf(world.location) ?? '';
    t.teardown(async () => {
      const client = new pg.Client(url);
      await client.connect();
      const { rows } = await client.query('select current_schema() as name');
      await client.query(`drop schema if exists ${rows[0].name}_queue cascade`);
      await client.end();
    });
    await body(t, world);
  });

if (hasPostgres) queueContract(onBoss);
else test.skip('the queue on a real PostgreSQL (HAIL_TEST_DATABASE_URL is not set)', () => {});
