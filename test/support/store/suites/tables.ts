import { type Kysely, sql } from 'kysely';
import { purgeBusiness } from '../../../../api/accounts/businesses.ts';
import type { Records } from '../../../../api/billing/records.ts';
import { verifyLedger } from '../../../../api/billing/usage.ts';
import { acceptJob, beginJob, failJob, findServedJob, finishJob } from '../../../../api/jobs/rows.ts';
import type { Store } from '../../../../api/records/database.ts';
import { BusinessGone } from '../../../../api/records/errors.ts';
import { ALL_TABLES, type Database } from '../../../../api/records/schema.ts';
import { wholeSeconds } from '../../../../schemas/time.ts';
import { pluck } from '../../data/rows.ts';
import { chargeOf, makeTenant, type Register, type Tenant, usedBy, type World, withTenant } from '../world.ts';

/** What is left when the only business is gone: its lines in the audit log, and what belongs to none. */
const LEFT_BY_PURGE = ['audit', 'matched_scans', 'probes', 'settings', 'tasks'];

interface FoundTable {
  readonly name: string;
  readonly columns: readonly { readonly name: string; readonly dataType: string }[];
}

/** The tables that the database has, whatever the code says of them, by name. */
async function tablesFound({ reader, kind }: Store): Promise<readonly FoundTable[]> {
  const tables = kind === 'sqlite' ? await reader.introspection.getTables() : await tablesOfSchema(reader);
  return tables.toSorted((a, b) => (a.name < b.name ? -1 : 1));
}

/** Kysely's own question reads every schema of the server, and fails while another test drops one. */
async function tablesOfSchema(reader: Kysely<Database>): Promise<FoundTable[]> {
  const { rows } = await sql<{ table_name: string; name: string; dataType: string }>`
    select table_name, column_name as name, udt_name as "dataType" from information_schema.columns
    where table_schema = current_schema() and table_name not like 'kysely%' order by ordinal_position`.execute(reader);
  return [...Map.groupBy(rows, ({ table_name }) => table_name)].map(([name, columns]) => ({ name, columns }));
}

async function rowsIn(rows: Kysely<Database>, table: string): Promise<number> {
  const found = await sql<{ rows: number }>`select count(*) as rows from ${sql.table(table)}`.execute(rows);
  return found.rows[0]?.rows ?? 0;
}

/** A business that has been used, and beside its rows one in every table that holds none yet. */
async function fillEveryTable(records: Records, world: World): Promise<Tenant> {
  const tenant = await makeTenant(records, world, 'acme');
  await records.charge(chargeOf(tenant, 3, world));
  for (const { name, columns } of await tablesFound(records.store)) {
    if ((await rowsIn(records.reader, name)) > 0) continue;
    const values = columns.map((column) => [column.name, fillingFor(column, tenant)] as const);
    await records.transaction((rows) =>
      sql`insert into ${sql.table(name)} (${sql.join(values.map(([column]) => sql.ref(column)))}) values (${sql.join(values.map(([, value]) => value))})`.execute(
        rows,
      ),
    );
  }
  return tenant;
}

function fillingFor({ name, dataType }: FoundTable['columns'][number], { caller }: Tenant): string | number {
  if (name === 'business_id') return caller.business_id;
  if (name === 'key_id') return caller.key_id;
  return /text|char/i.test(dataType) ? name : 1;
}

function purge({ store, transaction }: Records, { caller, name }: Tenant, { now_ms }: World): Promise<unknown> {
  return transaction((rows) => purgeBusiness(rows, store, { id: caller.business_id, name }, now_ms));
}

/** What holds for every table, also for one that is added later. */
export function tablesSuite(register: Register): void {
  register('text sorts by code points, whatever the database is set to', async (t, world) => {
    const { reader, transaction } = await world.open();
    const names = ['Z', 'a', 'z', 'É', 'é', '中', '😀'];
    const added = names.toReversed().map((name) => ({ name, at: '' }));
    await transaction((rows) => rows.insertInto('probes').values(added).execute());
    const found = await reader.selectFrom('probes').select('name').orderBy('name').execute();
    t.deepEqual(pluck(found, 'name'), names);
  });

  register('the database has the tables and columns that are stated, and no others', async (t, world) => {
    const { store } = await world.open();
    t.deepEqual(
      (await tablesFound(store)).map(({ name, columns }) => [name, columns.map((column) => column.name).toSorted()]),
      ALL_TABLES.map(({ name, columns }): [string, string[]] => [name, Object.keys(columns).toSorted()]).toSorted(
        ([a], [b]) => (a < b ? -1 : 1),
      ),
    );
  });

  register('a business that is purged leaves rows in no table but the audit log', async (t, world) => {
    const records = await world.open();
    const tenant = await fillEveryTable(records, world);
    await purge(records, tenant, world);
    const left: string[] = [];
    for (const table of await tablesFound(records.store))
      if ((await rowsIn(records.reader, table.name)) > 0) left.push(table.name);
    t.deepEqual(left, LEFT_BY_PURGE);
  });
}
const ANSWER = { status: 200, type: 'application/json', body: '{}' };
/** Tables that hold rows of a business. */
const CHARGED = ['periods', 'ledger', 'usage'] as const;
const OWNED = ['plans', 'keys', ...CHARGED, 'request_counts', 'cursors', 'portfolio_locations'] as const;
const ROUNDS = 6;

/** A business is removed while it is used. */
export function purgeSuite(register: Register): void {
  const test = withTenant(register);
  test('a business that is gone is neither charged nor over its cap, and no rows of it come back', async (t, world, records, tenant) => {
    const { business_id, key_id } = tenant.caller;
    await purge(records, tenant, world);
    await t.throwsAsync(records.charge(chargeOf(tenant, 3, world)), { instanceOf: BusinessGone });
    const write = records.write(business_id, chargeOf(tenant, 3, world), null, world.now_ms, async () => ANSWER);
    await t.throwsAsync(write, { instanceOf: BusinessGone });
    records.countRequest(key_id, world.now_ms);
    await records.close();
    const reopened = await world.open();
    for (const table of OWNED) t.deepEqual(await reopened.reader.selectFrom(table).selectAll().execute(), [], table);
  });

  // PostgreSQL finds a circle out by itself within a second.
  test('a business that is removed while it is charged and written to makes nobody wait in a circle', async (t, world, records) => {
    const all = [records, await world.open()] as const;
    for (let round = 0; round < ROUNDS; round++) {
      const stays = await makeTenant(records, world, `stays ${round}`);
      const goes = await makeTenant(records, world, `goes ${round}`);
      const { business_id, key_id } = goes.caller;
      const outcomes: unknown[] = [];
      let gone = false;
      const use = async (each: typeof records, k: number) => {
        while (!gone) {
          each.countRequest(key_id, world.now_ms);
          const charges = [goes, stays].map((tenant) => each.charge(chargeOf(tenant, 1, world, `operation ${k}`)));
          if (k === 0)
            charges.push(
              each
                .write(business_id, chargeOf(goes, 1, world), null, world.now_ms, async () => ANSWER)
                .then((answer) => (answer === 'over_cap' ? answer : 'charged')),
            );
          outcomes.push(...(await Promise.allSettled(charges)));
        }
      };
      const using = all.flatMap((each) => [0, 1, 2].map((k) => use(each, k)));
      await records.charge(chargeOf(goes, 1, world));
      try {
        await purge(records, goes, world);
      } finally {
        gone = true;
      }
      await Promise.all(using);
      for (const outcome of outcomes as PromiseSettledResult<string>[])
        if (outcome.status === 'fulfilled') t.is(outcome.value, 'charged');
        else t.true(outcome.reason instanceof BusinessGone, String(outcome.reason));
      for (const table of CHARGED) {
        const left = records.reader.selectFrom(table).selectAll().where('business_id', '=', business_id);
        t.deepEqual(await left.execute(), []);
      }
    }
    t.deepEqual((await verifyLedger(records.reader)).faults, []);
  });
}
const JOB_ROUNDS = 8;
const RESULT = {
  summary: {},
  data_as_of_ms: null,
  data_source: null,
  media_type: 'application/pdf',
  file_name: 'report.pdf',
  bytes: 1,
  sha256: 'ab',
} as const;

const NO_QUEUE = { add: async () => {} };
const PRICE = { operation: 'verify.report.create', credits: 100, count: 1 };
const RANGE = { lat: 35, lon: -97, date_start: '2026-04-01', date_end: '2026-05-01' };

/** Accepts a job for 100 credits; its id. */
async function accept(records: Records, tenant: Tenant, world: World): Promise<string> {
  let id = '';
  const { business_id, key_id } = tenant.caller;
  const charge = chargeOf(tenant, 100, world, PRICE.operation);
  await records.write(business_id, charge, null, world.now_ms, async (writer) => {
    id = await acceptJob(writer, NO_QUEUE, { kind: 'report', params: RANGE, caller: { key_id }, price: PRICE });
    return { status: 202, type: 'application/json', body: '{}' };
  });
  return id;
}

/** Jobs end once, whoever ends them. */
export function jobsSuite(register: Register): void {
  const test = withTenant(register);
  test('a job that is ended by two processes at once ends once, done or failed, and a failure is given back once', async (t, world, records, tenant) => {
    const all = [records, await world.open()] as const;
    let done = 0;
    for (let round = 0; round < JOB_ROUNDS; round++) {
      const id = await accept(records, tenant, world);
      const job = (await records.transaction((rows) => beginJob(rows, id, world.now_ms)))!;
      const finish = (each: Records) => each.transaction((rows) => finishJob(rows, id, RESULT, world.now_ms));
      const fail = (each: Records) => each.transaction((rows) => failJob(rows, job, 'it failed', world.now_ms));
      const ends = all.flatMap((each, k) =>
        k === round % 2 ? [finish(each), fail(each)] : [fail(each), finish(each)],
      );
      t.is((await Promise.all(ends)).filter((is_own) => is_own).length, 1);
      t.is(await records.transaction((rows) => beginJob(rows, id, world.now_ms)), null);
      const row = records.reader.selectFrom('jobs').select('status').where('id', '=', id);
      const { status } = await row.executeTakeFirstOrThrow();
      if (status === 'done') done += 1;
    }
    t.is(await usedBy(records, tenant), 100 * done);
    const { faults, credits } = await verifyLedger(records.reader);
    t.deepEqual([faults, credits], [[], 100 * done]);
  });

  test('a job whose file is lost is given back once, however many services miss it at once', async (t, world, records, tenant) => {
    const all = [records, await world.open()] as const;
    for (let round = 0; round < JOB_ROUNDS; round++) {
      const id = await accept(records, tenant, world);
      t.true(await records.transaction((rows) => finishJob(rows, id, RESULT, world.now_ms)));
      const done = (await findServedJob(records.reader, id, world.now_ms))!;
      const misses = [...all, ...all].map((each) =>
        each.transaction((rows) => failJob(rows, done, 'its file is gone', world.now_ms)),
      );
      t.is((await Promise.all(misses)).filter((is_own) => is_own).length, 1);
      t.false(await records.transaction((rows) => finishJob(rows, id, RESULT, world.now_ms)));
    }
    t.is(await usedBy(records, tenant), 0);
    const { faults, rows } = await verifyLedger(records.reader);
    t.deepEqual([faults, rows], [[], 2 * JOB_ROUNDS]);
  });

  test('up to when the data of a job go is kept to the second with its file, and is nothing where nobody knows', async (t, world, records, tenant) => {
    for (const data_as_of_ms of [Date.parse('2026-05-01T23:58:40Z'), null]) {
      const id = await accept(records, tenant, world);
      const result = { ...RESULT, data_as_of_ms };
      t.true(await records.transaction((rows) => finishJob(rows, id, result, world.now_ms)));
      const done = await findServedJob(records.reader, id, world.now_ms);
      t.is(wholeSeconds(done?.data_as_of ?? null), data_as_of_ms === null ? null : '2026-05-01T23:58:40Z');
    }
  });

  test('a refund has a line and an operation of its own, on the day of its charge, and is nobody’s call', async (t, world, records, tenant) => {
    const id = await accept(records, tenant, world);
    const job = (await records.transaction((rows) => beginJob(rows, id, world.now_ms)))!;
    await records.transaction((rows) => failJob(rows, job, 'it failed', world.now_ms + 40 * 86_400_000));
    const usage = await records.reader.selectFrom('usage').selectAll().orderBy('operation').execute();
    t.deepEqual(
      usage.map(({ day, operation, calls, count, credits }) => [day, operation, calls, count, credits]),
      [
        ['2026-05-20', 'verify.report.create', 1, 1, 100],
        ['2026-05-20', 'verify.report.create.refund', 0, 1, -100],
      ],
    );
    t.deepEqual((await verifyLedger(records.reader)).faults, []);
  });

  test('a business has no more pending jobs than it may, however many it asks for at once', async (t, world, records, tenant) => {
    const all = [records, await world.open()] as const;
    const asked = Array.from({ length: 24 }, (_, k) => accept(all[k % 2 === 0 ? 0 : 1], tenant, world));
    t.is((await Promise.allSettled(asked)).filter(({ status }) => status === 'rejected').length, 4);
    t.is(await usedBy(records, tenant), 2_000);
  });
}
