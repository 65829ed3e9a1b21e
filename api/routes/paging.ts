import { unknownCursor } from '../http/decode.ts';
import type { Walk } from '../records/cursors.ts';

/** Owner of a caller's cursors: the business and the rate bucket of the key. */
export function walkOf(caller: { readonly business_id: string; readonly rate_bucket: string }): Omit<Walk, 'list'> {
  return { business_id: caller.business_id, holder: caller.rate_bucket };
}

/** Place after which a page begins; null for the first page. Throws `invalid_parameter` for an unknown cursor. */
export async function pageStart<Place>(
  cursor: string | null,
  placeOf: (cursor: string) => Promise<Place | null>,
): Promise<Place | null> {
  if (cursor === null) return null;
  const place = await placeOf(cursor);
  if (place === null) throw unknownCursor(cursor);
  return place;
}

/** The first `limit` rows, and the last of them when `rows` has more: there the next page begins. */
export function pageOf<Row>(rows: readonly Row[], limit: number): { page: readonly Row[]; last: Row | undefined } {
  const page = rows.slice(0, limit);
  return { page, last: rows.length > limit ? page.at(-1) : undefined };
}
