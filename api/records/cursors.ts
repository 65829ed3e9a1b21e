import { type Kysely, sql, type Transaction } from 'kysely';
import { instant } from '../../schemas/time.ts';
import type { Store } from './database.ts';
import type { Database } from './schema.ts';

/** How long a cursor keeps the place at which it was handed out. */
export const CURSOR_MS = 3_600_000;
/** How long the place of a deleted item is kept. */
const DELETED_MS = 24 * 3_600_000;
/** Holder of the place of a deleted item: every key. */
const ANY_HOLDER = '';
const ROWS_PER_INSERT = 500;

/** Where a page ended: what the next page starts after. */
export type CursorNote = Database['cursors'];

/** A list of a business, and the keys that read it page by page. */
export interface Walk {
  readonly business_id: string;
  /** Rate bucket of the key, so that a walk survives the rotation of its key. */
  readonly holder: string;
  readonly list: string;
}

/** The note to keep when a page ends with `item_id`, for `Records.rememberCursor`. `sort_key` is what the list is sorted by. */
export function cursorNote(walk: Walk, item_id: string, sort_key: string, now_ms: number): CursorNote {
  return { ...walk, item_id, sort_key, expires_at: instant(now_ms + CURSOR_MS) };
}

/**
 * Sort key at which a page ended with `item_id`: as it was when the cursor was handed out to the same holder within the
 * hour, else as it was when the item was deleted within the day. Null: neither; the item itself may still be there.
 */
export async function cursorPlace(
  rows: Kysely<Database>,
  { business_id, holder, list }: Walk,
  item_id: string,
  now_ms: number,
): Promise<string | null> {
  const found = await rows
    .selectFrom('cursors')
    .select('sort_key')
    .where(({ and }) => and({ business_id, list, item_id }))
    .where('holder', 'in', [holder, ANY_HOLDER])
    .where('expires_at', '>', instant(now_ms))
    .orderBy('holder', 'desc')
    .executeTakeFirst();
  return found?.sort_key ?? null;
}

/** Keeps the places of items that are being deleted, so that cursors that name them stay valid. */
export async function rememberDeleted(
  rows: Transaction<Database>,
  { business_id, list }: Omit<Walk, 'holder'>,
  items: readonly { readonly id: string; readonly sort_key: string }[],
  now_ms: number,
): Promise<void> {
  const place = { business_id, holder: ANY_HOLDER, list, expires_at: instant(now_ms + DELETED_MS) };
  const notes = items.map(({ id, sort_key }) => ({ ...place, item_id: id, sort_key }));
  for (let from = 0; from < notes.length; from += ROWS_PER_INSERT)
    await keepPlaces(rows, notes.slice(from, from + ROWS_PER_INSERT));
}

/** Writes places, over those of the same item and holder. */
export async function keepPlaces(rows: Transaction<Database>, notes: readonly CursorNote[]): Promise<void> {
  await rows
    .insertInto('cursors')
    .values(notes)
    .onConflict((conflict) =>
      conflict
        .columns(['business_id', 'list', 'item_id', 'holder'])
        .doUpdateSet((eb) => ({ sort_key: eb.ref('excluded.sort_key'), expires_at: eb.ref('excluded.expires_at') })),
    )
    .execute();
}

/** Removes places whose time was over at an instant, at most `most` of them; returns their count. */
export async function sweepCursors(
  rows: Kysely<Database>,
  { skipLocked }: Pick<Store, 'skipLocked'>,
  until_ms: number,
  most: number,
): Promise<number> {
  const over = rows
    .selectFrom('cursors')
    .select(['business_id', 'list', 'item_id', 'holder'])
    .where('expires_at', '<=', instant(until_ms))
    .limit(most)
    .modifyEnd(skipLocked);
  const { numDeletedRows } = await rows
    .deleteFrom('cursors')
    .where(({ refTuple }) => sql<boolean>`${refTuple('business_id', 'list', 'item_id', 'holder')} in ${over}`)
    .executeTakeFirst();
  return Number(numDeletedRows);
}
