import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import pg from 'pg';
import { createBusiness } from '../../../api/accounts/businesses.ts';
import type { Caller } from '../../../api/accounts/keyring.ts';
import { createKey } from '../../../api/accounts/keys.ts';
import { SELF_HOSTED, type Tariff } from '../../../api/accounts/plans.ts';
import type { Charge } from '../../../api/billing/ledger.ts';
import { type Records, recordsOver } from '../../../api/billing/records.ts';
import { openDatabase } from '../../../api/records/database.ts';
import type { Waits } from '../../../api/records/postgres.ts';
import { newId } from '../../../schemas/ids.ts';
import { PATIENCE } from './patience.ts';

/** A fresh database for one test. */
export interface World {
  /** The data clock, epoch milliseconds. */
  now_ms: number;
  /** The records; each call is another process as far as the records can tell. */
  readonly open: (
    settings?: Partial<Parameters<typeof recordsOver>[1] & { readonly waits: Waits }>,
  ) => Promise<Records>;
  /** Where other processes find it. */
  readonly location: Parameters<typeof openDatabase>[0];
}

type Body = (t: ExecutionContext, world: World) => Promise<void>;
/** Registers a test on one kind of database. */
export type Register = (title: string, body: Body) => void;

const NOON_MS = Date.parse('2026-05-20T12:00:00Z');

export const onSqlite: Register = (title, body) =>
  test(title, async (t) => {
    const folder = mkdtempSync(join(tmpdir(), 'hail-records-'));
    t.teardown(() => rmSync(folder, { recursive: true, force: true }));
    await runIn(t, body, { path: join(folder, 'hail.sqlite') });
  });

const POSTGRES_URL = process.env.HAIL_TEST_DATABASE_URL;
/** True where a real PostgreSQL is offered. */
export const hasPostgres = POSTGRES_URL !== undefined;

/** The address of a new schema of the real PostgreSQL, which is dropped after the test. */
export async function newSchema(t: ExecutionContext): Promise<string> {
  const schema = `hail_test_${randomUUID().replaceAll('-', '')}`;
  const client = new pg.Client(POSTGRES_URL);
  await client.connect();
  await client.query(`create schema ${schema}`);
  t.teardown(async () => {
    await client.query(`drop schema ${schema} cascade`);
    await client.end();
  });
  const url = new URL(POSTGRES_URL ?? '');
  url.searchParams.set('options', `-c search_path=${schema}`);
  url.searchParams.set('application_name', schema);
  return url.href;
}

/** A real PostgreSQL, each test in a schema of its own. */
export const onPostgres: Register = (title, body) =>
  test.serial(title, async (t) => runIn(t, body, { url: await newSchema(t) }));

async function runIn(t: ExecutionContext, body: Body, location: Parameters<typeof openDatabase>[0]): Promise<void> {
  const opened: Records[] = [];
  const world: World = {
    now_ms: NOON_MS,
    location,
    open: async ({ waits = PATIENCE, ...settings } = {}) => {
      const records = await recordsOver(openDatabase(location, waits), { now: () => world.now_ms, ...settings });
      opened.push(records);
      return records;
    },
  };
  try {
    await body(t, world);
  } finally {
    for (const records of opened) await records.close();
  }
}

/** A business with a live key, and the caller that the key opens for. */
export interface Tenant {
  readonly caller: Caller;
  readonly key: string;
  readonly name: string;
}

/** Makes a business; `plan` changes what differs from one without limits. */
export async function makeTenant(
  records: Records,
  world: World,
  name: string,
  plan: Partial<Tariff> = {},
): Promise<Tenant> {
  const key = await records.transaction(async (rows) => {
    const business = await createBusiness(rows, name, { ...SELF_HOSTED, ...plan }, world.now_ms);
    if (business === null) throw new Error(`business ${name} exists, expected a new name`);
    const wanted = { business_id: business.id, kind: 'live' as const, name: 'main', scopes: ['*'], expires_at: null };
    return await createKey(rows, wanted, world.now_ms);
  });
  const caller = await records.authenticate(key.text, world.now_ms);
  if (caller === null) throw new Error('the key just made opens nothing');
  return { caller, key: key.text, name };
}

/** A charge of a tenant. */
export function chargeOf({ caller }: Tenant, credits: number, world: World, operation = 'hail.current'): Charge {
  const { business_id, key_id } = caller;
  const { now_ms } = world;
  return { request_id: newId('request', now_ms), business_id, key_id, operation, credits, count: 1, at_ms: now_ms };
}

/** Credits that a business used in the month of the data clock. */
export async function usedBy(records: Records, { caller }: Tenant, period = '2026-05'): Promise<number> {
  const row = await records.reader
    .selectFrom('periods')
    .select('used')
    .where('business_id', '=', caller.business_id)
    .where('period', '=', period)
    .executeTakeFirst();
  return row?.used ?? 0;
}

/** Registers tests that begin with the records open and one business in them. */
export function withTenant(test: Register) {
  return (
    title: string,
    body: (t: ExecutionContext, world: World, records: Records, tenant: Tenant) => Promise<void>,
  ): void =>
    test(title, async (t, world) => {
      const records = await world.open();
      await body(t, world, records, await makeTenant(records, world, 'acme'));
    });
}
