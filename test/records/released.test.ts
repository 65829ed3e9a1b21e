import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import test, { type ExecutionContext } from 'ava';
import { sql } from 'kysely';
import { tableShelf } from '../../api/queue/table.ts';
import { openDatabase } from '../../api/records/database.ts';
import { orphans } from '../../api/records/integrity.ts';
import { recordsOver } from '../../api/records/open.ts';
import { MIGRATION_NAMES, type MigrationName, TABLES, type TableName } from '../../api/records/tables.ts';

/** Text of a table or index as SQLite keeps it, by name, as the released migrations made them. */
const RELEASED = {
  alerts:
    'CREATE TABLE "alerts" ("id" text primary key, "business_id" text not null references "businesses" ("id"), "location_id" text not null, "location_kind" text not null, "location_name" text not null, "location_version" bigint not null, "status" text not null, "open_location" text unique, "scan_id" text not null, "triggered_at" text not null, "last_seen_at" text not null, "resolved_at" text, "estimated_size_mm" double precision not null, "max_size_mm" double precision not null, "confidence" double precision not null, "lat" double precision not null, "lon" double precision not null, "distance_km" double precision not null, "track_id" text, "covered_blocks" bigint, "data_source" text not null)',
  alerts_by_business: 'CREATE INDEX "alerts_by_business" on "alerts" ("business_id", "id")',
  alerts_by_location: 'CREATE INDEX "alerts_by_location" on "alerts" ("location_id", "triggered_at")',
  areas:
    'CREATE TABLE "areas" ("id" text primary key, "business_id" text not null references "businesses" ("id"), "kind" text not null, "name" text not null, "description" text, "tags" text not null, "priority" text not null, "group_id" text, "real_time" bigint not null, "purpose" text not null, "bbox" text not null, "centroid_geohash4" text not null, "area_sq_mi" double precision not null, "version" bigint not null, "lat" double precision, "lon" double precision, "geometry" text, "created_at" text not null, "updated_at" text not null, "geometry_at" text not null)',
  areas_by_group: 'CREATE INDEX "areas_by_group" on "areas" ("business_id", "group_id")',
  areas_by_update: 'CREATE INDEX "areas_by_update" on "areas" ("business_id", "updated_at", "id")',
  audit:
    'CREATE TABLE "audit" ("id" integer primary key autoincrement, "at" text not null, "actor" text not null, "act" text not null, "business_id" text, "subject" text not null, "detail" text not null)',
  businesses:
    'CREATE TABLE "businesses" ("id" text primary key, "name" text not null unique, "status" text not null, "writes" bigint not null, "created_at" text not null)',
  commits: 'CREATE TABLE "commits" ("id" text primary key, "at" text not null)',
  cursors:
    'CREATE TABLE "cursors" ("business_id" text not null, "holder" text not null, "list" text not null, "item_id" text not null, "sort_key" text not null, "expires_at" text not null, constraint "cursors_pk" primary key ("business_id", "list", "item_id", "holder"))',
  cursors_by_age: 'CREATE INDEX "cursors_by_age" on "cursors" ("expires_at")',
  data_root: 'CREATE TABLE "data_root" ("name" text primary key, "state" text not null, "noted_at" text not null)',
  deliveries:
    'CREATE TABLE "deliveries" ("id" text primary key, "business_id" text not null references "businesses" ("id"), "receiver_id" text not null, "event_id" text not null, "event" text not null, "attempt" bigint not null, "status_code" bigint, "success" bigint not null, "error" text, "error_class" text, "answer" text not null, "redelivered_from" text, "duration_ms" bigint not null, "next_retry_at" text, "created_at" text not null)',
  deliveries_by_event: 'CREATE INDEX "deliveries_by_event" on "deliveries" ("event_id")',
  deliveries_by_receiver: 'CREATE INDEX "deliveries_by_receiver" on "deliveries" ("receiver_id", "created_at", "id")',
  idempotency:
    'CREATE TABLE "idempotency" ("business_id" text not null, "route" text not null, "key" text not null, "fingerprint" text not null, "token" text not null unique, "owner" text not null, "lease_until_ms" bigint not null, "state" text not null, "status" bigint, "type" text, "body" text, "created_at" text not null, constraint "idempotency_pk" primary key ("business_id", "route", "key"))',
  idempotency_by_age: 'CREATE INDEX "idempotency_by_age" on "idempotency" ("created_at")',
  keys: 'CREATE TABLE "keys" ("id" text primary key, "business_id" text not null references "businesses" ("id"), "public_id" text not null unique, "digest" text not null, "kind" text not null, "name" text not null, "scopes" text not null, "rate_bucket" text not null, "created_at" text not null, "expires_at" text, "revoked_at" text, "replaced_by" text, "last_used_at" text)',
  keys_by_business: 'CREATE INDEX "keys_by_business" on "keys" ("business_id")',
  ledger:
    'CREATE TABLE "ledger" ("id" integer primary key autoincrement, "business_id" text not null, "key_id" text, "operation" text not null, "count" bigint not null, "credits" bigint not null, "at" text not null, "reason" text)',
  master_key:
    'CREATE TABLE "master_key" ("name" text primary key, "fingerprint" text not null, "noted_at" text not null)',
  matched_scans: 'CREATE TABLE "matched_scans" ("scan_id" text primary key, "at" text not null)',
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
  pushes:
    'CREATE TABLE "pushes" ("id" text primary key, "business_id" text not null references "businesses" ("id"), "receiver_id" text not null, "event" text not null, "body" text not null, "alert_id" text, "after_id" text, "state" text not null, "attempts" bigint not null, "attempts_before" bigint not null, "first_attempt_at" text, "next_at" text, "redelivered_from" text, "created_at" text not null)',
  pushes_by_alert: 'CREATE INDEX "pushes_by_alert" on "pushes" ("alert_id")',
  pushes_by_due: 'CREATE INDEX "pushes_by_due" on "pushes" ("state", "next_at")',
  pushes_by_receiver: 'CREATE INDEX "pushes_by_receiver" on "pushes" ("receiver_id", "state")',
  pushes_waiting: 'CREATE INDEX "pushes_waiting" on "pushes" ("after_id")',
  request_counts:
    'CREATE TABLE "request_counts" ("key_id" text not null, "day" text not null, "requests" bigint not null, constraint "request_counts_pk" primary key ("key_id", "day"))',
  subscriptions:
    'CREATE TABLE "subscriptions" ("id" text primary key, "business_id" text not null references "businesses" ("id"), "name" text not null, "lat" double precision not null, "lon" double precision not null, "radius_km" double precision not null, "min_size_mm" double precision not null, "webhook_url" text not null, "secret" text not null, "status" text not null, "version" bigint not null, "trigger_count" bigint not null, "last_triggered_at" text, "consecutive_failures" bigint not null, "warned_at" text, "give_up_mailed_at" text, "created_at" text not null, "updated_at" text not null)',
  subscriptions_by_business: 'CREATE INDEX "subscriptions_by_business" on "subscriptions" ("business_id", "id")',
  tasks:
    'CREATE TABLE "tasks" ("id" text primary key, "name" text not null, "task_group" text not null, "payload" text not null, "due_ms" bigint not null, "added_ms" bigint not null, "lease_until_ms" bigint not null, "lease" text, "taken" bigint not null)',
  tasks_by_due: 'CREATE INDEX "tasks_by_due" on "tasks" ("name", "due_ms", "id", "task_group", "lease_until_ms")',
  usage:
    'CREATE TABLE "usage" ("business_id" text not null, "day" text not null, "key_id" text not null, "operation" text not null, "calls" bigint not null, "count" bigint not null, "credits" bigint not null, constraint "usage_pk" primary key ("business_id", "day", "key_id", "operation"))',
  webhooks:
    'CREATE TABLE "webhooks" ("id" text primary key, "business_id" text not null references "businesses" ("id"), "url" text not null, "secret" text not null, "old_secret" text, "old_secret_until" text, "events" text not null, "status" text not null, "inactive_since" text, "success_count" bigint not null, "failure_count" bigint not null, "consecutive_failures" bigint not null, "warned_at" text, "give_up_mailed_at" text, "created_at" text not null, "updated_at" text not null)',
  webhooks_by_business: 'CREATE INDEX "webhooks_by_business" on "webhooks" ("business_id", "id")',
} as const;

/** What later migrations changed of them. */
const CHANGED = {
  tasks: RELEASED.tasks.replace(/\)$/, `, "tenant" text default '' not null, "retry" bigint default 0 not null)`),
  tasks_by_tenant:
    'CREATE INDEX "tasks_by_tenant" on "tasks" ("name", "tenant", "retry", "due_ms", "id", "task_group", "lease_until_ms")',
} as const;

/** Their tables may still change. */
const UNRELEASED: readonly MigrationName[] = ['006-jobs', '007-earlier-variant', '009-submitted-rings'];

async function open(t: ExecutionContext) {
  const folder = mkdtempSync(join(tmpdir(), 'hail-released-'));
  t.teardown(() => rmSync(folder, { recursive: true }));
  const path = join(folder, 'hail.sqlite');
  const records = await recordsOver(openDatabase({ path }), { now: () => 0 });
  t.teardown(records.close);
  return { records, path };
}

test('new records have the very tables that the migrations made', async (t) => {
  const { records } = await open(t);
  const found = sql<{ name: string; tbl_name: TableName; sql: string }>`
    select name, tbl_name, sql from sqlite_master where sql is not null and name not like 'sqlite_%' order by name`;
  const { rows } = await found.execute(records.reader);
  const released = rows.filter(({ tbl_name }) => !UNRELEASED.includes(TABLES[tbl_name].since));
  t.deepEqual(Object.fromEntries(released.map((row) => [row.name, row.sql])), { ...RELEASED, ...CHANGED });
  t.deepEqual(MIGRATION_NAMES.slice(0, 5), [
    '001-businesses-keys-credits-portfolio',
    '002-data-root',
    '003-idempotency-key-digests',
    '004-commits',
    '005-alerts-webhooks-areas',
  ]);
});

test('records of an earlier version get the columns that were added, and their tasks belong to nobody', async (t) => {
  const { records, path } = await open(t);
  await records.transaction((rows) =>
    tableShelf(records.store).add(rows, { name: 'push', group: 'wh_1', payload: { push_id: 'evt_1', attempt: 1 } }),
  );
  await records.close();
  const shell = new DatabaseSync(path);
  shell.exec('drop index tasks_by_tenant');
  for (const column of ['tenant', 'retry']) shell.exec(`alter table tasks drop column ${column}`);
  shell.exec("delete from migrations where name = '008-fair-queue'");
  shell.close();
  const again = await recordsOver(openDatabase({ path }), { now: () => 0 });
  t.teardown(again.close);
  t.like(await again.reader.selectFrom('tasks').selectAll().executeTakeFirst(), {
    ...{ task_group: 'wh_1', tenant: '', retry: 0 },
  });
  const found = sql<{
    sql: string;
  }>`select sql from sqlite_master where name in ('tasks', 'tasks_by_tenant') order by name`;
  t.deepEqual(
    (await found.execute(again.reader)).rows.map((row) => row.sql),
    [CHANGED.tasks, CHANGED.tasks_by_tenant],
  );
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
  'settings',
  'tasks',
];

/** Tables whose rows name a key and no business. */
const OF_KEYS = ['key_periods', 'key_rules', 'request_counts'];

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
  t.deepEqual(missing('business').toSorted(), owned.filter((name) => !OF_KEYS.includes(name)).toSorted());
  t.deepEqual([...new Set(missing('key'))].toSorted(), [
    'key_periods',
    'key_rules',
    'keys',
    'ledger',
    'request_counts',
    'usage',
  ]);
});
