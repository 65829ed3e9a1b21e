import type { Kysely, Transaction } from 'kysely';
import { instant } from '../../schemas/time.ts';
import type { Store } from './database.ts';
import type { Database } from './schema.ts';

/** The value of a setting, parsed JSON; undefined where there is none. `locking`: keeps it from being changed until the transaction ends. */
export async function readSetting(rows: Kysely<Database>, name: string, locking?: Store['forUpdate']) {
  const query = rows.selectFrom('settings').select('value').where('name', '=', name);
  const found = await (locking === undefined ? query : query.modifyEnd(locking)).executeTakeFirst();
  return found === undefined ? undefined : JSON.parse(found.value);
}

/** Writes a setting, over the one of its name. */
export async function writeSetting(rows: Transaction<Database>, name: string, value: unknown, now_ms: number) {
  const row = { name, value: JSON.stringify(value), noted_at: instant(now_ms) };
  await rows
    .insertInto('settings')
    .values(row)
    .onConflict((conflict) => conflict.column('name').doUpdateSet(row))
    .execute();
}
