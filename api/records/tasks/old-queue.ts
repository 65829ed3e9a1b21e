import { sql, type Transaction } from 'kysely';
import type { Store } from '../database.ts';
import type { Database } from '../schema.ts';

/** Priorities of first attempts in the old queue began here; those of retries were lower. */
const FIRST_ATTEMPT_PRIORITY = 500_000_000;

/**
 * Moves the waiting tasks of a PostgreSQL service out of the pg-boss schema of earlier versions, and drops that schema. Tasks that
 * a process held become due: that process ends with the migration, which renames the tables it uses.
 */
export async function moveOldQueue(rows: Transaction<Database>, store: Store): Promise<void> {
  if (store.kind !== 'postgres') return;
  const { rows: found } = await sql<{ name: string }>`select current_schema() || '_queue' as name`.execute(rows);
  const schema = found[0]?.name ?? '';
  if (!(await store.hasTable(rows, `${schema}.job`))) return;
  const ms = (column: string) => sql`floor(extract(epoch from ${sql.ref(column)}) * 1000)::bigint`;
  await sql`
    insert into tasks (id, name, task_group, tenant, retry, payload, due_ms, added_ms, lease_until_ms, taken)
    select id::text, name, coalesce(group_id, ''), coalesce(singleton_key, group_id, ''),
      case when priority < ${sql.lit(FIRST_ATTEMPT_PRIORITY)} then 1 else 0 end, (data->'payload')::text,
      ${ms('start_after')}, ${ms('created_on')}, 0, case when started_on is null then 0 else retry_count + 1 end
    from ${sql.id(schema, 'job')} where state <= 'active' and data ? 'payload'`.execute(rows);
  await sql`drop schema ${sql.id(schema)} cascade`.execute(rows);
}
