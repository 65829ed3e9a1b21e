import { type Kysely, sql } from 'kysely';
import { purgeBusiness } from '../../../../api/accounts/businesses.ts';
import type { Records } from '../../../../api/billing/records.ts';
import type { Store } from '../../../../api/records/database.ts';
import { ALL_TABLES, type Database } from '../../../../api/records/schema.ts';
import { chargeOf, makeTenant, type Register, type Tenant, type World } from '../world.ts';

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

/** What holds for every table, also for one that is added later. */
export function tablesSuite(test: Register): void {
  test('text sorts by code points, whatever the database is set to', async (t, world) => {
    const { reader, transaction } = await world.open();
    const names = ['Z', 'a', 'z', 'É', 'é', '中', '😀'];
    const added = names.toReversed().map((name) => ({ name, at: '' }));
    await transaction((rows) => rows.insertInto('probes').values(added).execute());
    const found = await reader.selectFrom('probes').select('name').orderBy('name').execute();
    t.deepEqual(
      found.map(({ name }) => name),
      names,
    );
  });

  test('the database has the tables and columns that are stated, and no others', async (t, world) => {
    const { store } = await world.open();
    t.deepEqual(
      (await tablesFound(store)).map(({ name, columns }) => [name, columns.map((column) => column.name).toSorted()]),
      ALL_TABLES.map(({ name, columns }): [string, string[]] => [name, Object.keys(columns).toSorted()]).toSorted(
        ([a], [b]) => (a < b ? -1 : 1),
      ),
    );
  });

  test('a business that is purged leaves rows in no table but the audit log', async (t, world) => {
    const records = await world.open();
    const { caller, name } = await fillEveryTable(records, world);
    await records.transaction((rows) =>
      purgeBusiness(rows, records.store, { id: caller.business_id, name }, world.now_ms),
    );
    const left: string[] = [];
    for (const table of await tablesFound(records.store))
      if ((await rowsIn(records.reader, table.name)) > 0) left.push(table.name);
    t.deepEqual(left, LEFT_BY_PURGE);
  });
}
