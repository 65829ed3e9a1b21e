import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import test, { type ExecutionContext } from 'ava';
import { sql } from 'kysely';
import { openDatabase } from '../../api/records/database.ts';
import { orphans } from '../../api/records/integrity.ts';
import { recordsOver } from '../../api/records/open.ts';
import { MIGRATION_NAMES, type MigrationName, TABLES, type TableName } from '../../api/records/tables.ts';

/** Text of a table or index as SQLite keeps it, by name, as the released migrations made them. */
const RELEASED = {
  audit:
    'CREATE TABLE "audit" ("id" integer primary key autoincrement, "at" text not null, "actor" text not null, "act" text not null, "business_id" text, "subject" text not null, "detail" text not null)',
  businesses:
    'CREATE TABLE "businesses" ("id" text primary key, "name" text not null unique, "status" text not null, "writes" bigint not null, "created_at" text not null)',
  commits: 'CREATE TABLE "commits" ("id" text primary key, "at" text not null)',
  cursors:
    'CREATE TABLE "cursors" ("business_id" text not null, "holder" text not null, "list" text not null, "item_id" text not null, "sort_key" text not null, "expires_at" text not null, constraint "cursors_pk" primary key ("business_id", "list", "item_id", "holder"))',
  cursors_by_age: 'CREATE INDEX "cursors_by_age" on "cursors" ("expires_at")',
  data_root: 'CREATE TABLE "data_root" ("name" text primary key, "state" text not null, "noted_at" text not null)',
  idempotency:
    'CREATE TABLE "idempotency" ("business_id" text not null, "route" text not null, "key" text not null, "fingerprint" text not null, "token" text not null unique, "owner" text not null, "lease_until_ms" bigint not null, "state" text not null, "status" bigint, "type" text, "body" text, "created_at" text not null, constraint "idempotency_pk" primary key ("business_id", "route", "key"))',
  idempotency_by_age: 'CREATE INDEX "idempotency_by_age" on "idempotency" ("created_at")',
  keys: 'CREATE TABLE "keys" ("id" text primary key, "business_id" text not null references "businesses" ("id"), "public_id" text not null unique, "digest" text not null, "kind" text not null, "name" text not null, "scopes" text not null, "rate_bucket" text not null, "created_at" text not null, "expires_at" text, "revoked_at" text, "replaced_by" text, "last_used_at" text)',
  keys_by_business: 'CREATE INDEX "keys_by_business" on "keys" ("business_id")',
  ledger:
    'CREATE TABLE "ledger" ("id" integer primary key autoincrement, "business_id" text not null, "key_id" text, "operation" text not null, "count" bigint not null, "credits" bigint not null, "at" text not null, "reason" text)',
  members:
    'CREATE TABLE "members" ("business_id" text not null references "businesses" ("id"), "email" text not null, "role" text not null, "created_at" text not null, constraint "members_pk" primary key ("business_id", "email"))',
  migrations: 'CREATE TABLE "migrations" ("name" text primary key, "applied_at" text not null)',
  periods:
    'CREATE TABLE "periods" ("business_id" text not null, "period" text not null, "used" bigint not null, "updated_at" text not null, constraint "periods_pk" primary key ("business_id", "period"))',
  plans:
    'CREATE TABLE "plans" ("business_id" text primary key references "businesses" ("id"), "name" text not null, "monthly_limit" bigint, "spend_cap" bigint, "overage_policy" text not null, "overage_rate" double precision not null, "rate_per_minute" bigint not null, "features" text not null, "quotas" text not null, "cap" bigint)',
  portfolio_locations:
    'CREATE TABLE "portfolio_locations" ("id" text primary key, "business_id" text not null references "businesses" ("id"), "name" text not null, "lat" double precision not null, "lon" double precision not null, "address" text not null, "tags" text not null, "created_at" text not null, "updated_at" text not null)',
  portfolio_locations_by_id: 'CREATE INDEX "portfolio_locations_by_id" on "portfolio_locations" ("business_id", "id")',
  portfolio_locations_by_name:
    'CREATE INDEX "portfolio_locations_by_name" on "portfolio_locations" ("business_id", "name", "id")',
  probes: 'CREATE TABLE "probes" ("name" text primary key, "at" text not null)',
  request_counts:
    'CREATE TABLE "request_counts" ("key_id" text not null, "day" text not null, "requests" bigint not null, constraint "request_counts_pk" primary key ("key_id", "day"))',
  usage:
    'CREATE TABLE "usage" ("business_id" text not null, "day" text not null, "key_id" text not null, "operation" text not null, "calls" bigint not null, "count" bigint not null, "credits" bigint not null, constraint "usage_pk" primary key ("business_id", "day", "key_id", "operation"))',
} as const;

/** Its tables may still change. */
const UNRELEASED = '005-alerts-webhooks-areas' satisfies MigrationName;

async function open(t: ExecutionContext) {
  const folder = mkdtempSync(join(tmpdir(), 'hail-released-'));
  t.teardown(() => rmSync(folder, { recursive: true }));
  const path = join(folder, 'hail.sqlite');
  const records = await recordsOver(openDatabase({ path }), { now: () => 0 });
  t.teardown(records.close);
  return { records, path };
}

test('new records have the very tables that the released migrations made', async (t) => {
  const { records } = await open(t);
  const found = sql<{ name: string; tbl_name: TableName; sql: string }>`
    select name, tbl_name, sql from sqlite_master where sql is not null and name not like 'sqlite_%' order by name`;
  const { rows } = await found.execute(records.reader);
  const released = rows.filter(({ tbl_name }) => TABLES[tbl_name].since !== UNRELEASED);
  t.deepEqual(Object.fromEntries(released.map((row) => [row.name, row.sql])), { ...RELEASED });
  t.deepEqual(MIGRATION_NAMES.slice(0, 4), [
    '001-businesses-keys-credits-portfolio',
    '002-data-root',
    '003-idempotency-key-digests',
    '004-commits',
  ]);
});

/** Tables whose rows need neither a business nor a key. */
const OF_NOBODY = [
  'audit',
  'businesses',
  'commits',
  'data_root',
  'master_key',
  'matched_scans',
  'migrations',
  'probes',
  'tasks',
];

test('rows without their business or their key are found in every table that has such rows', async (t) => {
  const { records, path } = await open(t);
  const shell = new DatabaseSync(path, { enableForeignKeyConstraints: false });
  const tables = shell
    .prepare("select name from sqlite_master where type = 'table' and name not like 'sqlite_%'")
    .all();
  const owned = tables.map(({ name }) => String(name)).filter((name) => !OF_NOBODY.includes(name));
  for (const name of owned) {
    const columns = shell.prepare(`select name, type from pragma_table_info('${name}')`).all();
    const values = columns.map((column) => (column.type === 'TEXT' ? `'no ${column.name}'` : '1'));
    shell.exec(`insert into ${name} values (${values.join()})`);
  }
  shell.close();
  const found = await orphans(records.reader);
  const missing = (what: 'business' | 'key') => found.filter((each) => each.missing === what).map(({ table }) => table);
  t.deepEqual(missing('business').toSorted(), owned.filter((name) => name !== 'request_counts').toSorted());
  t.deepEqual([...new Set(missing('key'))].toSorted(), ['keys', 'ledger', 'request_counts', 'usage']);
});
