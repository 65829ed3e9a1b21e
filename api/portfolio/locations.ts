import type { Selectable } from 'kysely';
import { newId } from '../../schemas/ids.ts';
import type { AcceptedRow, PortfolioUploaded, RejectedRow } from '../../schemas/resources/portfolio-upload.ts';
import { instant } from '../../schemas/time.ts';
import { yieldToEventLoop } from '../http/event-loop.ts';
import type { Writer } from '../records/database.ts';
import { countOwn, forgetScores, type OwnList, rememberDeleted } from '../records/own-rows.ts';
import type { Database } from '../records/schema.ts';
import type { LocationRow } from './rows.ts';

/** Locations of a business by name (code points), then id. */
export const LOCATIONS: OwnList<'portfolio_locations'> = {
  list: 'portfolio.locations',
  table: 'portfolio_locations',
  sorted_by: 'name',
  order: 'asc',
};

/** Rows of one statement: enough for speed, and few enough that other requests run in between. */
const ROWS_PER_STATEMENT = 200;

/** A saved location; `tags` is a JSON array. */
export type Location = Selectable<Database['portfolio_locations']>;

/**
 * Creates and updates the locations of checked rows, in order, as far as the quota allows; updates consume none. Of rows with the
 * same id the first counts. Lets other requests through between statements. Returns the answer to the upload.
 */
export async function upsertLocations(
  { rows, business_id, now_ms }: Writer,
  checked: readonly (LocationRow | RejectedRow)[],
  limit: number,
): Promise<PortfolioUploaded> {
  const point_locations_before = await countOwn(rows, 'portfolio_locations', { business_id });
  const existing = new Map<string, Location>();
  for (const ids of chunks(checked.flatMap((row) => ('reason' in row ? [] : (row.id ?? []))))) {
    const own = rows.selectFrom('portfolio_locations').selectAll().where('business_id', '=', business_id);
    for (const row of await own.where('id', 'in', ids).execute()) existing.set(row.id, row);
    await yieldToEventLoop();
  }
  const updated_at = instant(now_ms);
  let point_locations_after = point_locations_before;
  const written = new Map<string, Location>();
  const moved: string[] = [];
  const accepted: AcceptedRow[] = [];
  const rejected: RejectedRow[] = [];
  for (const row of checked) {
    if ('reason' in row) {
      rejected.push(row);
      continue;
    }
    const { row_index, id, name, lat, lon, address, tags } = row;
    const old = id === null ? undefined : existing.get(id);
    const reject = (reason: string) => rejected.push({ row_index, name, reason });
    if (id !== null && old === undefined) reject('unknown_id: no location of this business has this id');
    else if (id !== null && written.has(id)) reject(`duplicate_id: an earlier row of this upload has the id ${id}`);
    else if (id === null && point_locations_after >= limit)
      reject(`quota_exceeded: the plan allows ${limit} locations`);
    else {
      const before = old ?? { id: newId('location', now_ms), created_at: updated_at, address: '', tags: '[]' };
      written.set(before.id, {
        ...{ id: before.id, business_id, name, lat, lon, address: address ?? before.address },
        ...{ tags: tags === null ? before.tags : JSON.stringify(tags), created_at: before.created_at, updated_at },
      });
      accepted.push({ row_index, id: before.id, name, action: old === undefined ? 'created' : 'updated' });
      if (old === undefined) point_locations_after += 1;
      else if (lat !== old.lat || lon !== old.lon) moved.push(old.id);
    }
  }
  for (const chunk of chunks([...written.values()])) {
    await rows
      .insertInto('portfolio_locations')
      .values(chunk)
      .onConflict((conflict) =>
        conflict.column('id').doUpdateSet(({ ref }) => ({
          name: ref('excluded.name'),
          lat: ref('excluded.lat'),
          lon: ref('excluded.lon'),
          address: ref('excluded.address'),
          tags: ref('excluded.tags'),
          updated_at: ref('excluded.updated_at'),
        })),
      )
      .execute();
    await yieldToEventLoop();
  }
  for (const chunk of chunks(moved)) await forgetScores(rows, chunk);
  const counts = { total_rows: checked.length, accepted_count: accepted.length, rejected_count: rejected.length };
  return { ...counts, accepted, rejected, quota: { point_locations_before, point_locations_after, limit } };
}

/** Deletes locations; returns those ids that were there, in the order asked. Cursors that name them stay valid for a day. */
export async function deleteLocations(writer: Writer, ids: readonly string[]): Promise<readonly string[]> {
  const { rows, business_id } = writer;
  const names = new Map<string, string>();
  for (const chunk of chunks(ids)) {
    const own = rows.deleteFrom('portfolio_locations').where('business_id', '=', business_id);
    for (const { id, name } of await own.where('id', 'in', chunk).returning(['id', 'name']).execute())
      names.set(id, name);
  }
  for (const chunk of chunks([...names.keys()])) await forgetScores(rows, chunk);
  const places = Array.from(names, ([id, sort_key]) => ({ id, sort_key }));
  await rememberDeleted(writer, LOCATIONS, places);
  return ids.filter((id) => names.has(id));
}

function* chunks<T>(items: readonly T[]): Generator<readonly T[]> {
  for (let from = 0; from < items.length; from += ROWS_PER_STATEMENT)
    yield items.slice(from, from + ROWS_PER_STATEMENT);
}
