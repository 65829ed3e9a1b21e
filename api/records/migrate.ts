import { createHash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { type CreateTableBuilder, type Kysely, sql, type Transaction } from 'kysely';
import type { Store } from './database.ts';
import { RecordsUnavailable } from './errors.ts';
import {
  ALL_TABLES,
  type Database,
  MIGRATION_NAMES,
  type MigrationName,
  TABLES,
  type Table,
  type TableName,
} from './schema.ts';

/**
 * Changes of a migration besides the tables and columns that name it in `since`; they run after those are made. New records run
 * every migration too, and never had the tables that `TABLES` no longer names: a change that renames or drops one checks first
 * whether it exists.
 */
const CHANGES: Partial<Record<MigrationName, (rows: Transaction<Database>, store: Store) => Promise<void>>> = {
  '003-idempotency-key-digests': digestKeys,
  '010-messages-and-attempts': async (rows, store) => {
    await renameTable(rows, store, 'pushes', 'messages');
    await renameTable(rows, store, 'deliveries', 'attempts');
  },
  '011-ledger-outcome': async (rows, store) => {
    if (!(await store.hasTable(rows, 'commits'))) return;
    // The ledger is locked by its new column: no charge is under way that would still insert its id.
    await sql`insert into settings (name, value, noted_at)
      select ${sql.lit(EARLIER_COMMIT)} || id, 'true', at from commits`.execute(rows);
    await rows.schema.dropTable('commits').execute();
  },
  '012-key-columns': async (rows, store) => {
    await createIndex(rows, 'usage', 'usage_by_key', ['key_id', 'day']);
    await createIndex(rows, 'keys', 'keys_by_rotation', ['rate_bucket']);
    if (!(await store.hasTable(rows, 'key_rules'))) return;
    await sql`update keys set
      variant = (select variant from key_rules where key_id = keys.id),
      monthly_cap = (select monthly_cap from key_rules where key_id = keys.id)
      where id in (select key_id from key_rules)`.execute(rows);
    await rows.schema.dropTable('key_rules').execute();
    await rows.schema.dropTable('key_periods').execute();
  },
  '013-receiver-formats': setReceiverFormats,
  '015-shared-windows': async (rows, { kind }) => {
    if (kind !== 'postgres') return;
    // Room for the next versions of a row on its own page: there, each change removes the versions before it.
    for (const table of ['rate_windows', 'failed_attempts'] as const)
      await sql`alter table ${sql.table(table)} set (fillfactor = 40)`.execute(rows);
  },
};

/** Before the id of a commit that an earlier version made, in the name of its setting: a journal may have it in doubt. */
export const EARLIER_COMMIT = 'commit ';

/** How long one process waits for another that is migrating. */
const MIGRATION_WAIT_MS = 60_000;
const MIGRATION_POLL_MS = 100;

/**
 * Brings the tables up to date and returns the names of the migrations that it applied, [] when there was nothing to do.
 * All in one transaction: a failure or a kill leaves the tables unchanged. Processes that start together take turns.
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

async function missingMigrations(rows: Transaction<Database>, store: Store): Promise<readonly MigrationName[]> {
  const done = await appliedMigrations(rows, store);
  const unknown = done.filter((name) => !MIGRATION_NAMES.some((known) => known === name));
  if (unknown.length > 0)
    throw new Error(`records ${store.name}: hold ${unknown.join(', ')}, expected none newer than this version`);
  return MIGRATION_NAMES.filter((name) => !done.includes(name));
}

/** Names of the migrations that were applied; [] before the first. */
export async function appliedMigrations(rows: Kysely<Database>, store: Store): Promise<readonly string[]> {
  if (!(await store.hasTable(rows, 'migrations'))) return [];
  return (await rows.selectFrom('migrations').select('name').orderBy('name').execute()).map(({ name }) => name);
}

async function apply(
  rows: Transaction<Database>,
  store: Store,
  missing: readonly MigrationName[],
  now_ms: number,
): Promise<readonly string[]> {
  const applied_at = new Date(now_ms).toISOString();
  for (const name of missing) {
    for (const table of ALL_TABLES) {
      if (table.since === name) await createTable(rows, store, table);
      await addColumns(rows, store, table, name);
      await createIndexes(rows, table, name);
    }
    await CHANGES[name]?.(rows, store);
    await rows.insertInto('migrations').values({ name, applied_at }).execute();
  }
  return missing;
}

async function createTable(
  rows: Transaction<Database>,
  { columnTypes }: Store,
  { name, columns, primary_key, references_owner }: Table,
): Promise<void> {
  let table: CreateTableBuilder<string, string> = rows.schema.createTable(name);
  for (const [column, { type, nullable, unique, added }] of Object.entries(columns)) {
    if (added !== undefined) continue;
    const isKey = primary_key.length === 1 && primary_key[0] === column;
    table = table.addColumn(column, columnTypes[type], (c) => {
      if (type === 'counter') return c;
      const kept = isKey ? c.primaryKey() : nullable ? c : c.notNull();
      const single = unique ? kept.unique() : kept;
      return references_owner && column === 'business_id' ? single.references('businesses.id') : single;
    });
  }
  if (primary_key.length > 1) table = table.addPrimaryKeyConstraint(`${name}_pk`, [...primary_key]);
  await table.execute();
}

async function addColumns(
  rows: Transaction<Database>,
  { columnTypes }: Store,
  { name, columns }: Table,
  migration: MigrationName,
): Promise<void> {
  for (const [column, { type, added, nullable, unique }] of Object.entries(columns)) {
    if (added?.since !== migration) continue;
    await rows.schema
      .alterTable(name)
      .addColumn(column, columnTypes[type], (c) => (nullable ? c : c.notNull().defaultTo(added.default)))
      .execute();
    if (unique) await rows.schema.createIndex(`${name}_by_${column}`).unique().on(name).column(column).execute();
  }
}

/** Makes the indexes whose last column comes with a migration. */
async function createIndexes(
  rows: Transaction<Database>,
  { name, columns, indexes = {}, since }: Table,
  migration: MigrationName,
): Promise<void> {
  for (const [index, on] of Object.entries(indexes)) {
    // Names of migrations begin with their number.
    const complete = on
      .map((column) => columns[column]?.added?.since ?? since)
      .toSorted()
      .at(-1);
    if (complete !== migration) continue;
    await createIndex(rows, name, index, on);
  }
}

async function createIndex(
  rows: Transaction<Database>,
  table: TableName,
  index: string,
  on: readonly string[],
): Promise<void> {
  const key = sql.join(on.map((column) => sql.ref(column)));
  await sql`create index if not exists ${sql.ref(index)} on ${sql.table(table)} (${key})`.execute(rows);
}

/** Renames a table where it has its old name, and its indexes, whose names begin with that of the table. */
async function renameTable(rows: Transaction<Database>, store: Store, old: string, name: TableName): Promise<void> {
  if (!(await store.hasTable(rows, old))) return;
  await rows.schema.alterTable(old).renameTo(name).execute();
  const { indexes = {} }: { readonly indexes?: Table['indexes'] } = TABLES[name];
  for (const [index, on] of Object.entries(indexes)) {
    await rows.schema.dropIndex(`${old}${index.slice(name.length)}`).execute();
    await createIndex(rows, name, index, on);
  }
}

/** The formats of receivers stood in a table of their own. */
async function setReceiverFormats(rows: Transaction<Database>, store: Store): Promise<void> {
  if (!(await store.hasTable(rows, 'earlier_receivers'))) return;
  const receivers = sql<string>`(select receiver_id from earlier_receivers)`;
  for (const table of ['webhooks', 'subscriptions'] as const)
    await rows.updateTable(table).set({ format: 'earlier' }).where('id', 'in', receivers).execute();
  await rows.schema.dropTable('earlier_receivers').execute();
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

/** Digest that is stored for an idempotency key: clients may send secrets as keys, their API key among them. */
export function storedKey(key: string): string {
  return createHash('sha256').update(key).digest('hex');
}
