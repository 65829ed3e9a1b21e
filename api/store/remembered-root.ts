import type { Kysely, Transaction } from 'kysely';
import { type RootMemory, RootState } from '../root-memory.ts';
import type { OpenStore } from './database.ts';
import type { Database } from './schema.ts';

/** The one row: the records belong to one data root. */
const NAME = 'root';

/** State of the data root as the records keep it, and since when. */
export interface RememberedRoot extends RootState {
  readonly noted_at: string;
}

/** What the data root held when it was served last; null when nothing is remembered. */
export async function rememberedRoot(rows: Kysely<Database>): Promise<RememberedRoot | null> {
  const row = await rows.selectFrom('data_root').selectAll().where('name', '=', NAME).executeTakeFirst();
  return row === undefined ? null : { ...RootState.parse(JSON.parse(row.state)), noted_at: row.noted_at };
}

/** Forgets the data root, so that another, or an emptied one, is served; false when nothing was remembered. */
export async function forgetRoot(rows: Transaction<Database>): Promise<boolean> {
  const { numDeletedRows } = await rows.deleteFrom('data_root').where('name', '=', NAME).executeTakeFirst();
  return numDeletedRows > 0n;
}

/** A memory of the data root in the records. `failed` is called with the first of several failures to write it. */
export function rootMemory(
  { reader, transaction }: Pick<OpenStore, 'reader' | 'transaction'>,
  now: () => number,
  failed: (error: unknown) => void,
): RootMemory {
  let works = true;
  return {
    recall: () => rememberedRoot(reader),
    remember: async (root) => {
      try {
        const noted = { state: JSON.stringify(root), noted_at: new Date(now()).toISOString() };
        await transaction((rows) =>
          rows
            .insertInto('data_root')
            .values({ name: NAME, ...noted })
            .onConflict((conflict) => conflict.column('name').doUpdateSet(noted))
            .execute(),
        );
        works = true;
      } catch (error) {
        if (works) failed(error);
        works = false;
      }
      return works;
    },
  };
}
