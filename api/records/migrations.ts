import { setTimeout as sleep } from 'node:timers/promises';
import type { Kysely, Transaction } from 'kysely';
import type { Store } from './database.ts';
import { RecordsUnavailable } from './failures.ts';
import { storedKey } from './idempotency.ts';
import type { Database } from './tables.ts';

interface Migration {
  readonly name: string;
  readonly up: (rows: Transaction<Database>, store: Store) => Promise<void>;
}

/** Every change of the tables, oldest first. Released ones never change: the next change is a new entry. */
const MIGRATIONS: readonly Migration[] = [
  { name: '001-businesses-keys-credits-portfolio', up: firstTables },
  { name: '002-data-root', up: dataRoot },
  { name: '003-idempotency-key-digests', up: digestKeys },
  { name: '004-commits', up: commits },
];

/** How long one process waits for another that is migrating. */
const MIGRATION_WAIT_MS = 60_000;
const MIGRATION_POLL_MS = 100;

/** Names of the migrations that this version knows, oldest first. */
export const MIGRATION_NAMES: readonly string[] = MIGRATIONS.map(({ name }) => name);

/**
 * Brings the tables up to date and returns the names of the migrations that it applied, [] when there was nothing to do.
 * All in one transaction: a failure, or a death, leaves the tables as they were. Processes that start together take turns.
 * Throws when the records were written by a newer version.
 */
export async function migrate(store: Store, now_ms: number): Promise<readonly string[]> {
  const until_ms = performance.now() + MIGRATION_WAIT_MS;
  for (;;) {
    const applied = await store.writer.transaction().execute(async (rows) => {
      const missing = await missingMigrations(rows, store);
      if (missing.length === 0) return [];
      if (!(await store.lockMigrations(rows))) return null;
      return await apply(rows, store, await missingMigrations(rows, store), now_ms);
    });
    if (applied !== null) return applied;
    if (performance.now() > until_ms)
      throw new RecordsUnavailable(`another process migrates ${store.name} for over ${MIGRATION_WAIT_MS / 1000} s`);
    await sleep(MIGRATION_POLL_MS);
  }
}

async function missingMigrations(rows: Transaction<Database>, store: Store): Promise<readonly Migration[]> {
  const done = await appliedMigrations(rows, store);
  const unknown = done.filter((name) => !MIGRATION_NAMES.includes(name));
  if (unknown.length > 0)
    throw new Error(`records ${store.name}: hold ${unknown.join(', ')}, expected none newer than this version`);
  return MIGRATIONS.filter(({ name }) => !done.includes(name));
}

/** Names of the migrations that were applied; [] before the first. */
export async function appliedMigrations(rows: Kysely<Database>, store: Store): Promise<readonly string[]> {
  if (!(await store.hasTable(rows, 'migrations'))) return [];
  return (await rows.selectFrom('migrations').select('name').orderBy('name').execute()).map(({ name }) => name);
}

async function apply(
  rows: Transaction<Database>,
  store: Store,
  missing: readonly Migration[],
  now_ms: number,
): Promise<readonly string[]> {
  const applied_at = new Date(now_ms).toISOString();
  for (const { name, up } of missing) {
    await up(rows, store);
    await rows.insertInto('migrations').values({ name, applied_at }).execute();
  }
  return missing.map(({ name }) => name);
}

async function firstTables(rows: Transaction<Database>, store: Store): Promise<void> {
  const { schema } = rows;
  const { text } = store;
  await schema
    .createTable('migrations')
    .addColumn('name', text, (c) => c.primaryKey())
    .addColumn('applied_at', text, (c) => c.notNull())
    .execute();
  await schema
    .createTable('businesses')
    .addColumn('id', text, (c) => c.primaryKey())
    .addColumn('name', text, (c) => c.notNull().unique())
    .addColumn('status', text, (c) => c.notNull())
    .addColumn('writes', 'bigint', (c) => c.notNull())
    .addColumn('created_at', text, (c) => c.notNull())
    .execute();
  await schema
    .createTable('plans')
    .addColumn('business_id', text, (c) => c.primaryKey().references('businesses.id'))
    .addColumn('name', text, (c) => c.notNull())
    .addColumn('monthly_limit', 'bigint')
    .addColumn('spend_cap', 'bigint')
    .addColumn('overage_policy', text, (c) => c.notNull())
    .addColumn('overage_rate', 'double precision', (c) => c.notNull())
    .addColumn('rate_per_minute', 'bigint', (c) => c.notNull())
    .addColumn('features', text, (c) => c.notNull())
    .addColumn('quotas', text, (c) => c.notNull())
    .addColumn('cap', 'bigint')
    .execute();
  await schema
    .createTable('members')
    .addColumn('business_id', text, (c) => c.notNull().references('businesses.id'))
    .addColumn('email', text, (c) => c.notNull())
    .addColumn('role', text, (c) => c.notNull())
    .addColumn('created_at', text, (c) => c.notNull())
    .addPrimaryKeyConstraint('members_pk', ['business_id', 'email'])
    .execute();
  await schema
    .createTable('keys')
    .addColumn('id', text, (c) => c.primaryKey())
    .addColumn('business_id', text, (c) => c.notNull().references('businesses.id'))
    .addColumn('public_id', text, (c) => c.notNull().unique())
    .addColumn('digest', text, (c) => c.notNull())
    .addColumn('kind', text, (c) => c.notNull())
    .addColumn('name', text, (c) => c.notNull())
    .addColumn('scopes', text, (c) => c.notNull())
    .addColumn('rate_bucket', text, (c) => c.notNull())
    .addColumn('created_at', text, (c) => c.notNull())
    .addColumn('expires_at', text)
    .addColumn('revoked_at', text)
    .addColumn('replaced_by', text)
    .addColumn('last_used_at', text)
    .execute();
  await schema.createIndex('keys_by_business').on('keys').column('business_id').execute();
  await schema
    .createTable('periods')
    .addColumn('business_id', text, (c) => c.notNull())
    .addColumn('period', text, (c) => c.notNull())
    .addColumn('used', 'bigint', (c) => c.notNull())
    .addColumn('updated_at', text, (c) => c.notNull())
    .addPrimaryKeyConstraint('periods_pk', ['business_id', 'period'])
    .execute();
  await schema
    .createTable('ledger')
    .addColumn('id', store.counter)
    .addColumn('business_id', text, (c) => c.notNull())
    .addColumn('key_id', text)
    .addColumn('operation', text, (c) => c.notNull())
    .addColumn('count', 'bigint', (c) => c.notNull())
    .addColumn('credits', 'bigint', (c) => c.notNull())
    .addColumn('at', text, (c) => c.notNull())
    .addColumn('reason', text)
    .execute();
  await schema
    .createTable('usage')
    .addColumn('business_id', text, (c) => c.notNull())
    .addColumn('day', text, (c) => c.notNull())
    .addColumn('key_id', text, (c) => c.notNull())
    .addColumn('operation', text, (c) => c.notNull())
    .addColumn('calls', 'bigint', (c) => c.notNull())
    .addColumn('count', 'bigint', (c) => c.notNull())
    .addColumn('credits', 'bigint', (c) => c.notNull())
    .addPrimaryKeyConstraint('usage_pk', ['business_id', 'day', 'key_id', 'operation'])
    .execute();
  await schema
    .createTable('request_counts')
    .addColumn('key_id', text, (c) => c.notNull())
    .addColumn('day', text, (c) => c.notNull())
    .addColumn('requests', 'bigint', (c) => c.notNull())
    .addPrimaryKeyConstraint('request_counts_pk', ['key_id', 'day'])
    .execute();
  await schema
    .createTable('idempotency')
    .addColumn('business_id', text, (c) => c.notNull())
    .addColumn('route', text, (c) => c.notNull())
    .addColumn('key', text, (c) => c.notNull())
    .addColumn('fingerprint', text, (c) => c.notNull())
    .addColumn('token', text, (c) => c.notNull().unique())
    .addColumn('owner', text, (c) => c.notNull())
    .addColumn('lease_until_ms', 'bigint', (c) => c.notNull())
    .addColumn('state', text, (c) => c.notNull())
    .addColumn('status', 'bigint')
    .addColumn('type', text)
    .addColumn('body', text)
    .addColumn('created_at', text, (c) => c.notNull())
    .addPrimaryKeyConstraint('idempotency_pk', ['business_id', 'route', 'key'])
    .execute();
  await schema.createIndex('idempotency_by_age').on('idempotency').column('created_at').execute();
  await schema
    .createTable('portfolio_locations')
    .addColumn('id', text, (c) => c.primaryKey())
    .addColumn('business_id', text, (c) => c.notNull().references('businesses.id'))
    .addColumn('name', text, (c) => c.notNull())
    .addColumn('lat', 'double precision', (c) => c.notNull())
    .addColumn('lon', 'double precision', (c) => c.notNull())
    .addColumn('address', text, (c) => c.notNull())
    .addColumn('tags', text, (c) => c.notNull())
    .addColumn('created_at', text, (c) => c.notNull())
    .addColumn('updated_at', text, (c) => c.notNull())
    .execute();
  await schema
    .createIndex('portfolio_locations_by_name')
    .on('portfolio_locations')
    .columns(['business_id', 'name', 'id'])
    .execute();
  await schema
    .createIndex('portfolio_locations_by_id')
    .on('portfolio_locations')
    .columns(['business_id', 'id'])
    .execute();
  await schema
    .createTable('cursors')
    .addColumn('business_id', text, (c) => c.notNull())
    .addColumn('holder', text, (c) => c.notNull())
    .addColumn('list', text, (c) => c.notNull())
    .addColumn('item_id', text, (c) => c.notNull())
    .addColumn('sort_key', text, (c) => c.notNull())
    .addColumn('expires_at', text, (c) => c.notNull())
    .addPrimaryKeyConstraint('cursors_pk', ['business_id', 'list', 'item_id', 'holder'])
    .execute();
  await schema.createIndex('cursors_by_age').on('cursors').column('expires_at').execute();
  await schema
    .createTable('audit')
    .addColumn('id', store.counter)
    .addColumn('at', text, (c) => c.notNull())
    .addColumn('actor', text, (c) => c.notNull())
    .addColumn('act', text, (c) => c.notNull())
    .addColumn('business_id', text)
    .addColumn('subject', text, (c) => c.notNull())
    .addColumn('detail', text, (c) => c.notNull())
    .execute();
  await schema
    .createTable('probes')
    .addColumn('name', text, (c) => c.primaryKey())
    .addColumn('at', text, (c) => c.notNull())
    .execute();
}

async function dataRoot({ schema }: Transaction<Database>, { text }: Store): Promise<void> {
  await schema
    .createTable('data_root')
    .addColumn('name', text, (c) => c.primaryKey())
    .addColumn('state', text, (c) => c.notNull())
    .addColumn('noted_at', text, (c) => c.notNull())
    .execute();
}

/** Idempotency keys were stored as clients sent them. */
async function digestKeys(rows: Transaction<Database>): Promise<void> {
  for (const { token, key } of await rows.selectFrom('idempotency').select(['token', 'key']).execute())
    await rows
      .updateTable('idempotency')
      .set({ key: storedKey(key) })
      .where('token', '=', token)
      .execute();
}

async function commits(rows: Transaction<Database>, { text }: Store): Promise<void> {
  await rows.schema
    .createTable('commits')
    .addColumn('id', text, (c) => c.primaryKey())
    .addColumn('at', text, (c) => c.notNull())
    .execute();
}
