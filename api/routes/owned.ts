import type { Transaction } from 'kysely';
import { cursorQuery, integerQuery, unknownCursor } from '../http/decode.ts';
import { ApiError } from '../http/errors.ts';
import {
  type ListPlace,
  listPlace,
  type OwnList,
  type OwnTable,
  type Row,
  rememberPlace,
  selectPage,
} from '../records/own-rows.ts';
import type { Database } from '../records/schema.ts';
import type { HandlerInput } from '../server/endpoint.ts';

/** Refusal of one more of `nouns`. */
export function quotaUsedUp(limit: number, nouns: string): ApiError {
  return new ApiError('resource_exhausted', `the quota of ${limit} ${nouns} is used up, delete one to make another`);
}

/** Query parameters of a list in pages: `standard` items on a page by default, at most `max`. */
export const pageQuery = (items: string, standard: number, max: number) => ({
  limit: integerQuery({ min: 1, max, default: standard, description: `${items} per page.` }),
  cursor: cursorQuery(),
});

type PageCall = Pick<
  HandlerInput<unknown, { readonly limit: number; readonly cursor: string | null }, unknown>,
  'query' | 'caller' | 'now_ms' | 'services'
>;

/** Place after which a page begins; null for the first page. Throws `invalid_parameter` for a cursor of no row of the owner. */
export async function pageStart<Table extends OwnTable>(
  list: OwnList<Table>,
  owner: Partial<Row<Table>>,
  { query: { cursor }, caller, now_ms, services: { records } }: PageCall,
): Promise<ListPlace | null> {
  if (cursor === null) return null;
  const place = await listPlace(records.reader, list, owner, caller, cursor, now_ms);
  if (place === null) throw unknownCursor(cursor);
  return place;
}

/** A page of a list: rows of an owner with the values of `filter`, and the cursor of the next page, whose place is remembered. */
export async function readPage<Table extends OwnTable>(
  list: OwnList<Table>,
  owner: Partial<Row<Table>>,
  call: PageCall,
  filter: Partial<Row<Table>> = {},
) {
  const { query, caller, now_ms } = call;
  const { records } = call.services;
  const after = await pageStart(list, owner, call);
  const rows = await selectPage(records.reader, list, { ...owner, ...filter }, after, query.limit + 1);
  const page = rows.slice(0, query.limit);
  const last = rows.length > page.length ? page.at(-1) : undefined;
  const remember = (last: Row<Table>) =>
    records.transaction((rows: Transaction<Database>) => rememberPlace(rows, list, caller, last, now_ms));
  return { page, count: page.length, next_cursor: last === undefined ? null : await remember(last) };
}
