import { type Kysely, type Selectable, sql, type Transaction } from 'kysely';
import { instant } from '../../schemas/time.ts';
import { yieldToEventLoop } from '../http/event-loop.ts';
import type { Store, Writer } from './database.ts';
import type { Database } from './schema.ts';

/** Tables of resources that a business names by their id. */
export type OwnTable = 'areas' | 'attempts' | 'jobs' | 'portfolio_locations' | 'subscriptions' | 'webhooks';
export type Row<Table extends OwnTable> = Selectable<Database[Table]>;
const ROWS_PER_READ = 2_000;

/** The row with some values, such as its id and its business; null when there is none. */
export async function ownRow<Table extends OwnTable>(
  rows: Kysely<Database>,
  table: Table,
  values: Partial<Row<Table>>,
): Promise<Row<Table> | null> {
  const found = rows.selectFrom<OwnTable>(table).selectAll();
  return ((await found.where(({ and }) => and(values)).executeTakeFirst()) ?? null) as Row<Table> | null;
}

/** Some columns, id among them, of every row with some values, by id. Lets other requests through between reads, so it may see changes in between. */
export async function allOwn<Table extends OwnTable, Column extends keyof Row<Table> & string>(
  rows: Kysely<Database>,
  table: Table,
  columns: readonly Column[],
  values: Partial<Row<Table>>,
): Promise<readonly Pick<Row<Table>, Column>[]> {
  const all: (Pick<Row<Table>, Column> & { readonly id: string })[] = [];
  for (;;) {
    const page = await rows
      .selectFrom<OwnTable>(table)
      .select(columns as readonly 'id'[])
      .where(({ and }) => and(values))
      .where('id', '>', all.at(-1)?.id ?? '')
      .orderBy('id')
      .limit(ROWS_PER_READ)
      .execute();
    for (const row of page as typeof all) all.push(row);
    if (page.length < ROWS_PER_READ) return all;
    await yieldToEventLoop();
  }
}

/** Number of rows with some values, such as their business. */
export async function countOwn<Table extends OwnTable>(
  rows: Kysely<Database>,
  table: Table,
  values: Partial<Row<Table>>,
): Promise<number> {
  const counted = rows.selectFrom<OwnTable>(table).select(({ fn }) => fn.countAll<number>().as('count'));
  return (await counted.where(({ and }) => and(values)).executeTakeFirstOrThrow()).count;
}

/** Deletes the row of a business and returns it; null when the id is of no row of the business. */
export async function deleteOwn<Table extends OwnTable>(
  { rows, business_id }: Pick<Writer, 'rows' | 'business_id'>,
  table: Table,
  id: string,
): Promise<Row<Table> | null> {
  const own = rows.deleteFrom<OwnTable>(table).where('id', '=', id).where('business_id', '=', business_id);
  return ((await own.returningAll().executeTakeFirst()) ?? null) as Row<Table> | null;
}

/** A list that callers read page by page, sorted by a column and then by id. */
export interface OwnList<Table extends OwnTable> {
  /** Names its cursors. */
  readonly list: string;
  readonly table: Table;
  readonly sorted_by: keyof Row<Table> & ('name' | 'created_at' | 'updated_at');
  readonly order: 'asc' | 'desc';
}

/** A page begins after this place. */
export type ListPlace = Readonly<Record<'id' | 'sort_key', string>>;

/** Rows of a list with the values of `filter`, after a place (null: the first ones); at most `limit`. */
export async function selectPage<Table extends OwnTable>(
  rows: Kysely<Database>,
  { table, sorted_by, order }: OwnList<Table>,
  filter: Partial<Row<Table>>,
  after: ListPlace | null,
  limit: number,
): Promise<readonly Row<Table>[]> {
  const column = sorted_by as 'created_at';
  return await rows
    .selectFrom<OwnTable>(table)
    .selectAll()
    .where(({ and }) => and(filter))
    .$if(after !== null, (query) =>
      query.where(({ eb, refTuple, tuple }) =>
        eb(refTuple(column, 'id'), order === 'asc' ? '>' : '<', tuple(after?.sort_key ?? '', after?.id ?? '')),
      ),
    )
    .orderBy(column, order)
    .orderBy('id', order)
    .limit(limit)
    .$castTo<Row<Table>>()
    .execute();
}

/** How long a cursor keeps the place at which it was handed out. */
export const CURSOR_MS = 3_600_000;
/** How long the place of a deleted item is kept. */
const DELETED_MS = 24 * 3_600_000;
/** Holder of the place of a deleted item: every key. */
const ANY_HOLDER = '';

/** Who reads a list: a business with a key, whose rate bucket outlives the rotation of the key. */
type Reader = Readonly<Record<'business_id' | 'rate_bucket', string>>;

/**
 * Place where a cursor continues: the one at which it was handed out to the same reader within the hour, else that of an item that was
 * deleted within the day, else the present place of the item. Null: unknown.
 */
export async function listPlace<Table extends OwnTable>(
  rows: Kysely<Database>,
  { list, table, sorted_by }: OwnList<Table>,
  owner: Partial<Row<Table>>,
  { business_id, rate_bucket }: Reader,
  id: string,
  now_ms: number,
): Promise<ListPlace | null> {
  const kept = await rows
    .selectFrom('cursors')
    .select('sort_key')
    .where(({ and }) => and({ business_id, list, item_id: id }))
    .where('holder', 'in', [rate_bucket, ANY_HOLDER])
    .where('expires_at', '>', instant(now_ms))
    .orderBy('holder', 'desc')
    .executeTakeFirst();
  const sort_key = kept?.sort_key ?? (await ownRow(rows, table, { ...owner, id }))?.[sorted_by];
  return typeof sort_key === 'string' ? { id, sort_key } : null;
}

/** Keeps the place at which a page ended, so that its cursor, which is returned, stays valid while the row changes or vanishes. */
export async function rememberPlace<Table extends OwnTable>(
  rows: Transaction<Database>,
  { list, sorted_by }: OwnList<Table>,
  { business_id, rate_bucket: holder }: Reader,
  last: Row<Table>,
  now_ms: number,
): Promise<string> {
  const { id, [sorted_by]: sort_key }: Record<string, string> = Object(last);
  await keepPlaces(rows, [
    { business_id, holder, list, item_id: id, sort_key, expires_at: instant(now_ms + CURSOR_MS) },
  ]);
  return id;
}

/** Keeps the places of items that are being deleted, so that cursors that name them stay valid. */
export async function rememberDeleted(
  { rows, business_id, now_ms }: Writer,
  { list }: Pick<OwnList<OwnTable>, 'list'>,
  items: readonly ListPlace[],
): Promise<void> {
  const place = { business_id, holder: ANY_HOLDER, list, expires_at: instant(now_ms + DELETED_MS) };
  const places = items.map(({ id, sort_key }) => ({ ...place, item_id: id, sort_key }));
  if (places.length > 0) await keepPlaces(rows, places);
}

/** Writes places, over those of the same item and holder. */
async function keepPlaces(rows: Transaction<Database>, places: readonly Database['cursors'][]): Promise<void> {
  await rows
    .insertInto('cursors')
    .values(places)
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

/** Deletes the stored risk scores of places that were moved or deleted: the next score of a moved place is its first. */
export async function forgetScores(rows: Transaction<Database>, location_ids: readonly string[]): Promise<void> {
  await rows.deleteFrom('risk_scores').where('location_id', 'in', location_ids).execute();
}
