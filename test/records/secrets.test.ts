import { createHash, randomBytes } from 'node:crypto';
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import test, { type ExecutionContext } from 'ava';
import { sql } from 'kysely';
import { purgeBusiness } from '../../api/accounts/businesses.ts';
import { newKeyText, parseKeyText, withoutSecrets } from '../../api/accounts/key-text.ts';
import { effectiveCap } from '../../api/accounts/plans.ts';
import { isScope } from '../../api/accounts/scopes.ts';
import { withRequestId } from '../../api/billing/ledger.ts';
import { openRecords, type Records, recordsOver } from '../../api/billing/records.ts';
import { verifyLedger } from '../../api/billing/verify.ts';
import { openDatabase } from '../../api/records/database.ts';
import { MIGRATION_NAMES, type MigrationName, TABLES, type TableName } from '../../api/records/schema.ts';
import { isEncrypted, masterKeyPath, openSecrets, secretsUnder } from '../../api/records/secrets.ts';
import { openQueue } from '../../api/records/tasks.ts';
import { newId, PATH_ID } from '../../schemas/ids.ts';
import { scratch } from '../support/data/world.ts';
import { chargeOf, makeTenant, type World } from '../support/store/world.ts';

const now = () => Date.parse('2026-05-02T00:12:00Z');
const SECRET = 'whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oDuSKQkQ5mb3Y=';

/** Records of a root of their own, and a way to open their secrets. */
async function opened(t: ExecutionContext) {
  const records_root = await scratch(t);
  const records = await openRecords({ data_root: records_root, database_url: null, now });
  t.teardown(records.close);
  const open = (master_keys: readonly Buffer[] | null = null) =>
    openSecrets(records, { records_root, master_keys, now });
  return { records, path: masterKeyPath(records_root), open };
}

/** An idempotency record is the least that holds something encrypted. */
async function keep(records: Records, body: string): Promise<void> {
  const row = { business_id: 'biz_1', route: 'POST /', fingerprint: '', owner: '', lease_until_ms: 0 };
  const done = { state: 'done', status: 200, type: 'application/json', created_at: '2026-05-02' } as const;
  await records.transaction((rows) =>
    rows
      .insertInto('idempotency')
      .values({ ...row, ...done, key: body, token: body, body })
      .execute(),
  );
}

test('the first start makes a key file that its owner alone reads, and later ones use it', async (t) => {
  const { path, open } = await opened(t);
  const stored = (await open()).encrypt(SECRET);
  t.is(statSync(path).mode & 0o777, 0o600);
  t.regex(readFileSync(path, 'utf8'), /^[0-9a-f]{64}\n$/);
  t.is((await open()).decrypt(stored), SECRET);
});

test('what is stored tells neither the secret nor that it is the same as another', async (t) => {
  const { encrypt } = secretsUnder([randomBytes(32)]);
  const [one, two] = [encrypt(SECRET), encrypt(SECRET)];
  t.true(isEncrypted(one));
  t.not(one, two);
  t.false(one.includes('C2FVs'));
  t.false(isEncrypted('{"secret":"v1."}'));
});

test('a stored secret that was changed is not decrypted', (t) => {
  const { encrypt, decrypt } = secretsUnder([randomBytes(32)]);
  const stored = encrypt(SECRET);
  const at = stored.length - 3;
  t.throws(() => decrypt(stored.slice(0, at) + (stored[at] === 'A' ? 'B' : 'A') + stored.slice(at + 1)));
});

test('a key file that others may read refuses the start', async (t) => {
  const { path, open } = await opened(t);
  await open();
  chmodSync(path, 0o640);
  await t.throwsAsync(open(), { name: 'MasterKeyError', message: `${path} is 640, expected 600` });
});

test('a malformed key file refuses the start, and its text is not repeated', async (t) => {
  const { path, open } = await opened(t);
  await open();
  writeFileSync(path, 'not-a-key\n');
  const error = await t.throwsAsync(open(), { name: 'MasterKeyError', message: /is malformed/ });
  t.false(error?.message.includes('not-a-key'));
});

test('records without their key file refuse the start, and no other key is made', async (t) => {
  const { path, open } = await opened(t);
  await open();
  rmSync(path);
  await t.throwsAsync(open(), { name: 'MasterKeyError', message: /no such file, expected the master key/ });
  t.false(existsSync(path));
});

test('records that were written under another key refuse the start', async (t) => {
  const { open } = await opened(t);
  await open();
  await t.throwsAsync(open([randomBytes(32)]), {
    name: 'MasterKeyError',
    message: /expected [0-9a-f]{12}, which wrote/,
  });
});

test('a restored copy whose secrets are under another key refuses the start', async (t) => {
  const { records, path, open } = await opened(t);
  await keep(records, secretsUnder([randomBytes(32)]).encrypt(SECRET));
  await t.throwsAsync(open(), { name: 'MasterKeyError', message: /no such file/ });
  t.false(existsSync(path));
  await t.throwsAsync(open([randomBytes(32)]), { name: 'MasterKeyError', message: /a body of idempotency is under/ });
});

test('with a new key before the old one, what is stored is encrypted anew, and the old one is needed no more', async (t) => {
  const { records, open } = await opened(t);
  const [old, fresh] = [randomBytes(32), randomBytes(32)];
  const { encrypt } = await open([old]);
  await keep(records, encrypt(SECRET));
  await keep(records, '{"plain":true}');
  await open([fresh, old]);
  const { decrypt } = await open([fresh]);
  const stored = await records.reader.selectFrom('idempotency').select('body').orderBy('token').execute();
  t.deepEqual(stored.map(({ body }) => (isEncrypted(body ?? '') ? decrypt(body ?? '') : body)).sort(), [
    SECRET,
    '{"plain":true}',
  ]);
  await t.throwsAsync(open([old]), { name: 'MasterKeyError' });
});

test('a key is prefix, public id of 8, secret of 32 and checksum of 6 characters; its digest is SHA-256 of all of it', (t) => {
  const { text, public_id, digest } = newKeyText('live');
  t.regex(text, /^hs_live_[0-9A-Za-z]{46}$/);
  t.is(text.slice(8, 16), public_id);
  t.is(digest, createHash('sha256').update(text).digest('hex'));
  t.deepEqual(parseKeyText(text), { kind: 'live', public_id });
  t.regex(newKeyText('test').text, /^hs_test_/);
});

test('a test key of the earlier variant begins with test_, a live one like any other', (t) => {
  const { text, public_id } = newKeyText('test', 'earlier');
  t.regex(text, /^test_[0-9A-Za-z]{46}$/);
  t.deepEqual(parseKeyText(text), { kind: 'test', public_id });
  t.is(parseKeyText(`hs_${text}`), null);
  t.regex(newKeyText('live', 'earlier').text, /^hs_live_/);
});

test('the secret of a key of any kind is left out of other text', (t) => {
  for (const [kind, variant] of [
    ['live', 'current'],
    ['test', 'current'],
    ['test', 'earlier'],
  ] as const) {
    const { text, public_id } = newKeyText(kind, variant);
    const shown = withoutSecrets(`lat is '${text}', expected a number`);
    t.is(shown, `lat is '${text.slice(0, text.indexOf(public_id))}${public_id}…', expected a number`);
  }
});

test('a thousand keys have a thousand public ids and secrets, of every character', (t) => {
  const keys = Array.from({ length: 1000 }, () => newKeyText('live').text);
  t.is(new Set(keys.map((key) => key.slice(8, 16))).size, 1000);
  t.is(new Set(keys.map((key) => key.slice(16, 48))).size, 1000);
  t.is(new Set(keys.flatMap((key) => [...key.slice(16, 48)])).size, 62);
});

test('any single changed character makes a key malformed', (t) => {
  const { text } = newKeyText('live');
  for (let k = 0; k < text.length; k++) {
    const changed = text.slice(0, k) + (text[k] === 'a' ? 'b' : 'a') + text.slice(k + 1);
    t.is(parseKeyText(changed), null, changed);
  }
});

for (const [monthly_limit, spend_cap, overage_policy, cap] of [
  [null, null, 'allow', null],
  [null, null, 'block', null],
  [100, null, 'allow', null],
  [100, null, 'block', 100],
  [100, 50, 'allow', 50],
  [100, 50, 'block', 50],
  [50, 100, 'allow', 100],
  [50, 100, 'block', 50],
  [null, 100, 'block', 100],
  [0, null, 'block', 0],
] as const)
  test(`limit ${monthly_limit}, spend cap ${spend_cap}, overage ${overage_policy}: effective cap ${cap}`, (t) => {
    t.is(effectiveCap({ monthly_limit, spend_cap, overage_policy }), cap);
  });

for (const [scope, known] of [
  ['*', true],
  ['hail:read', true],
  ['portfolio:*', true],
  ['portfolio:write', true],
  ['hail:write', false],
  ['hail', false],
  ['hail:read:x', false],
  ['constructor:*', false],
  ['*:read', false],
  ['', false],
] as const)
  test(`'${scope}' is ${known ? 'a' : 'no'} scope`, (t) => t.is(isScope(scope), known));

const isPathId = (text: string) => new RegExp(`^${PATH_ID}$`).test(text);

test('ids carry their kind, ascend within a millisecond, and may stand in a path', (t) => {
  const ids = Array.from({ length: 1000 }, () => newId('location', 1_700_000_000_000));
  t.deepEqual(ids, ids.toSorted());
  t.is(new Set(ids).size, 1000);
  t.true(ids.every((id) => /^loc_[0-9A-HJKMNP-TV-Z]{26}$/.test(id) && isPathId(id)));
  for (const text of ['', 'a b', 'é', 'a/b', 'a'.repeat(65), "'; drop"]) t.false(isPathId(text), text);
});

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
  cursors:
    'CREATE TABLE "cursors" ("business_id" text not null, "holder" text not null, "list" text not null, "item_id" text not null, "sort_key" text not null, "expires_at" text not null, constraint "cursors_pk" primary key ("business_id", "list", "item_id", "holder"))',
  cursors_by_age: 'CREATE INDEX "cursors_by_age" on "cursors" ("expires_at")',
  attempts:
    'CREATE TABLE "attempts" ("id" text primary key, "business_id" text not null references "businesses" ("id"), "receiver_id" text not null, "event_id" text not null, "event" text not null, "attempt" bigint not null, "status_code" bigint, "success" bigint not null, "error" text, "error_class" text, "answer" text not null, "redelivered_from" text, "duration_ms" bigint not null, "next_retry_at" text, "created_at" text not null)',
  attempts_by_event: 'CREATE INDEX "attempts_by_event" on "attempts" ("event_id")',
  attempts_by_receiver: 'CREATE INDEX "attempts_by_receiver" on "attempts" ("receiver_id", "created_at", "id")',
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
  messages:
    'CREATE TABLE "messages" ("id" text primary key, "business_id" text not null references "businesses" ("id"), "receiver_id" text not null, "event" text not null, "body" text not null, "alert_id" text, "after_id" text, "state" text not null, "attempts" bigint not null, "attempts_before" bigint not null, "first_attempt_at" text, "next_at" text, "redelivered_from" text, "created_at" text not null)',
  messages_by_alert: 'CREATE INDEX "messages_by_alert" on "messages" ("alert_id")',
  messages_by_due: 'CREATE INDEX "messages_by_due" on "messages" ("state", "next_at")',
  messages_by_receiver: 'CREATE INDEX "messages_by_receiver" on "messages" ("receiver_id", "state")',
  messages_waiting: 'CREATE INDEX "messages_waiting" on "messages" ("after_id")',
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
  keys: RELEASED.keys.replace(/\)$/, `, "variant" text default 'current' not null, "monthly_cap" bigint)`),
  keys_by_rotation: 'CREATE INDEX "keys_by_rotation" on "keys" ("rate_bucket")',
  ledger: RELEASED.ledger.replace(/\)$/, ', "request_id" text)'),
  ledger_by_request_id: 'CREATE UNIQUE INDEX "ledger_by_request_id" on "ledger" ("request_id")',
  usage_by_key: 'CREATE INDEX "usage_by_key" on "usage" ("key_id", "day")',
  ...Object.fromEntries(
    (['subscriptions', 'webhooks'] as const).map((table) => [
      table,
      RELEASED[table].replace(/\)$/, `, "format" text default 'current' not null)`),
    ]),
  ),
  tasks: RELEASED.tasks.replace(/\)$/, `, "tenant" text default '' not null, "retry" bigint default 0 not null)`),
  tasks_by_tenant:
    'CREATE INDEX "tasks_by_tenant" on "tasks" ("name", "tenant", "retry", "due_ms", "id", "task_group", "lease_until_ms")',
} as const;

/** Their tables may still change. */
const UNRELEASED: readonly MigrationName[] = [
  '006-jobs',
  '007-earlier-variant',
  '009-submitted-rings',
  '015-shared-windows',
];

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
    openQueue(records.store, { failed: () => {}, troubled: () => {} }).add(rows, {
      name: 'push',
      group: 'wh_1',
      payload: { push_id: 'evt_1', attempt: 1 },
    }),
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

test('records of an earlier version keep the variants and caps of their keys, and what these used counts under the caps', async (t) => {
  const { records, path } = await open(t);
  const world = { now_ms: 0 } as World;
  const plain = await makeTenant(records, world, 'plain');
  const capped = await makeTenant(records, world, 'capped');
  await records.charge(chargeOf(plain, 7, world));
  await records.charge(chargeOf(capped, 30, world));
  await records.close();
  const shell = new DatabaseSync(path);
  shell.exec(`drop index ledger_by_request_id; drop index keys_by_rotation; drop index usage_by_key;
    alter table ledger drop column request_id; alter table keys drop column variant;
    alter table keys drop column monthly_cap;
    alter table webhooks drop column format; alter table subscriptions drop column format;
    drop table rate_windows; drop table failed_attempts;
    create table commits (id text primary key, at text not null);
    create table key_rules (key_id text primary key, variant text not null, monthly_cap bigint);
    create table key_periods (key_id text, period text, used bigint not null, primary key (key_id, period));
    insert into commits values ('mark', '');
    insert into key_rules values ('${capped.caller.key_id}', 'earlier', 50);
    insert into key_periods values ('${capped.caller.key_id}', '1970-01', 30);
    delete from migrations where name >= '011'`);
  shell.close();
  const again = await recordsOver(openDatabase({ path }), { now: () => 0 });
  t.teardown(again.close);
  t.like(await again.authenticate(plain.key, 0), { variant: 'current', key_cap: null });
  const caller = await again.authenticate(capped.key, 0);
  t.like(caller, { variant: 'earlier', key_cap: 50 });
  t.is(await again.charge(chargeOf(capped, 21, world)), 'over_key_cap');
  t.is(await again.charge(chargeOf(capped, 20, world)), 'charged');
  t.is(await again.charge(chargeOf(plain, 60, world)), 'charged');
  t.deepEqual((await verifyLedger(again.reader)).faults, []);
  const found = sql<{ name: string }>`select name from sqlite_master where type = 'table' order by name`;
  const left = (await found.execute(again.reader)).rows.map(({ name }) => name);
  t.deepEqual(
    left.filter((name) => name.startsWith('key_') || name === 'commits'),
    [],
  );
});

test('a charge that an earlier version left in doubt is taken back after the migration where its commit was made', async (t) => {
  const { records, path } = await open(t);
  const world = { now_ms: 0 } as World;
  const tenant = await makeTenant(records, world, 'acme');
  const [made, other] = [chargeOf(tenant, 7, world), chargeOf(tenant, 3, world)];
  await records.charge(made);
  await records.close();
  const shell = new DatabaseSync(path);
  shell.exec(`drop index ledger_by_request_id; alter table ledger drop column request_id;
    create table commits (id text primary key, at text not null); insert into commits values ('uuid-made', '');
    delete from migrations where name = '011-ledger-outcome'`);
  shell.close();
  const journal = `${path}.jsonl`;
  const lines = [
    { id: 'uuid-made', charges: [made] },
    { id: 'uuid-other', charges: [other] },
    { id: 'uuid-notes', charges: [] },
  ];
  writeFileSync(journal, lines.map((line) => `${JSON.stringify(line)}\n`).join(''));
  // A command may migrate before the service starts.
  await (await recordsOver(openDatabase({ path }), { now: () => 0 })).close();
  const said: string[] = [];
  await (
    await recordsOver(openDatabase({ path }), { now: () => 0, journal, report: (line) => said.push(line) })
  ).close();
  t.deepEqual(said, [
    'records: commit uuid-made was made, and its charges are refunded',
    'records: commit uuid-other was not made',
  ]);
  t.is(readFileSync(journal, 'utf8'), '');
  const after = await recordsOver(openDatabase({ path }), { now: () => 0 });
  t.teardown(after.close);
  const rows = await after.reader.selectFrom('ledger').select('credits').orderBy('id').execute();
  t.deepEqual(rows, [{ credits: 7 }, { credits: -7 }]);
  t.deepEqual(await after.reader.selectFrom('settings').selectAll().where('name', 'like', 'commit %').execute(), []);
  t.deepEqual((await verifyLedger(after.reader)).faults, []);
});

test('a commit in doubt is taken back for the others when the business of its first charge was deleted meanwhile', async (t) => {
  const { records, path } = await open(t);
  const world = { now_ms: 0 } as World;
  const first = await makeTenant(records, world, 'first');
  const second = await makeTenant(records, world, 'second');
  const charges = [first, second].map((tenant) => withRequestId(chargeOf(tenant, 5, world)));
  for (const charge of charges) await records.charge(charge);
  const business = { id: first.caller.business_id, name: 'first' };
  await records.transaction((rows) => purgeBusiness(rows, records.store, business, 0));
  await records.close();
  const journal = `${path}.jsonl`;
  for (let start = 0; start < 2; start++) {
    writeFileSync(journal, `${JSON.stringify({ id: charges[0]?.request_id, charges })}\n`);
    await (await recordsOver(openDatabase({ path }), { now: () => 0, journal })).close();
  }
  const after = await recordsOver(openDatabase({ path }), { now: () => 0 });
  t.teardown(after.close);
  const rows = await after.reader.selectFrom('ledger').select('credits').orderBy('id').execute();
  t.deepEqual(rows, [{ credits: 5 }, { credits: -5 }]);
  t.deepEqual((await verifyLedger(after.reader)).faults, []);
});
