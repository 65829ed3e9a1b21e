import type { Kysely, Selectable } from 'kysely';
import { yieldToEventLoop } from '../http/event-loop.ts';
import { type CursorNote, cursorNote, cursorPlace, type Walk } from './cursors.ts';
import type { Writer } from './database.ts';
import type { Database } from './schema.ts';

/** Tables of resources that a business names by their id. */
type OwnTable = 'areas' | 'attempts' | 'portfolio_locations' | 'subscriptions' | 'webhooks';
type Row<Table extends OwnTable> = Selectable<Database[Table]>;
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
export interface ListPlace {
  readonly id: string;
  readonly sort_key: string;
}

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

/**
 * Place where a cursor continues: the one stored for this holder of the cursor, or of a row that was deleted within the day, else the
 * present place of the row. Null: unknown.
 */
export async function listPlace<Table extends OwnTable>(
  rows: Kysely<Database>,
  { list, table, sorted_by }: OwnList<Table>,
  owner: Partial<Row<Table>>,
  walk: Omit<Walk, 'list'>,
  cursor: string,
  now_ms: number,
): Promise<ListPlace | null> {
  const stored = await cursorPlace(rows, { ...walk, list }, cursor, now_ms);
  const sort_key = stored ?? (await ownRow(rows, table, { ...owner, id: cursor }))?.[sorted_by];
  return typeof sort_key === 'string' ? { id: cursor, sort_key } : null;
}

/** Argument of `Records.rememberCursor` for a page that ends with a row. */
export function placeNote<Table extends OwnTable>(
  { list, sorted_by }: OwnList<Table>,
  walk: Omit<Walk, 'list'>,
  last: Row<Table> & { readonly id: string },
  now_ms: number,
): CursorNote {
  return cursorNote({ ...walk, list }, last.id, String(last[sorted_by]), now_ms);
}
