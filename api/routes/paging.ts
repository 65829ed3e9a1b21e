import type { Transaction } from 'kysely';
import { unknownCursor } from '../http/decode.ts';
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

type Call = Pick<HandlerInput<unknown, unknown, unknown>, 'caller' | 'now_ms' | 'services'>;

/** Place after which a page begins; null for the first page. Throws `invalid_parameter` for an unknown cursor. */
export async function pageStart<Table extends OwnTable>(
  { caller, now_ms, services: { records } }: Call,
  list: OwnList<Table>,
  owner: Partial<Row<Table>>,
  cursor: string | null,
): Promise<ListPlace | null> {
  if (cursor === null) return null;
  const place = await listPlace(records.reader, list, owner, caller, cursor, now_ms);
  if (place === null) throw unknownCursor(cursor);
  return place;
}

/** A page of a list: rows of an owner with the values of `filter`, and the cursor of the next page, whose place is remembered. */
export async function readPage<Table extends OwnTable>(
  call: Call,
  list: OwnList<Table>,
  owner: Partial<Row<Table>>,
  { cursor, limit }: { readonly cursor: string | null; readonly limit: number },
  filter: Partial<Row<Table>> = {},
): Promise<{ readonly page: readonly Row<Table>[]; readonly next_cursor: string | null }> {
  const { records } = call.services;
  const after = await pageStart(call, list, owner, cursor);
  const rows = await selectPage(records.reader, list, { ...owner, ...filter }, after, limit + 1);
  const page = rows.slice(0, limit);
  const last = rows.length > limit ? page.at(-1) : undefined;
  if (last === undefined) return { page, next_cursor: null };
  const remember = (rows: Transaction<Database>) => rememberPlace(rows, list, call.caller, last, call.now_ms);
  return { page, next_cursor: await records.transaction(remember) };
}
