import type { Kysely, Selectable } from 'kysely';
import { newId } from '../../schemas/ids.ts';
import { instant } from '../../schemas/time.ts';
import { yieldToEventLoop } from '../http/event-loop.ts';
import { rememberDeleted } from '../records/cursors.ts';
import type { Writer } from '../records/database.ts';
import { countOwn, type OwnList } from '../records/own-rows.ts';
import { forgetScores } from '../records/risk-scores.ts';
import type { Database } from '../records/schema.ts';

/** Locations of a business by name (code points), then id. */
export const LOCATIONS: OwnList<'portfolio_locations'> = {
  list: 'portfolio.locations',
  table: 'portfolio_locations',
  sorted_by: 'name',
  order: 'asc',
};

/** Rows of one statement: enough for speed, and few enough that other requests run in between. */
const ROWS_PER_STATEMENT = 200;
const ROWS_PER_READ = 2_000;

/** A saved location; `tags` is a JSON array. */
export type Location = Selectable<Database['portfolio_locations']>;

/** A row to create (without id) or to update in place. Null address and tags: unchanged, or empty in a new row. */
export interface LocationChange extends Pick<Location, 'name' | 'lat' | 'lon'> {
  readonly id: string | null;
  readonly address: string | null;
  readonly tags: readonly string[] | null;
}

/** Outcome of a change. `unknown_id`: the business has no such location. */
export type LocationOutcome =
  | { readonly kind: 'created' | 'updated'; readonly id: string }
  | { readonly kind: 'unknown_id' | 'quota_exceeded' };

interface UpsertResult {
  /** One for each change, in order. */
  readonly outcomes: readonly LocationOutcome[];
  readonly locations_before: number;
  readonly locations_after: number;
}

/**
 * Creates and updates many locations, in order, as far as the quota allows; updates consume none. Ids must be distinct.
 * Lets other requests through between statements.
 */
export async function upsertLocations(
  { rows, business_id, now_ms }: Writer,
  changes: readonly LocationChange[],
  quota: number,
): Promise<UpsertResult> {
  const locations_before = await countOwn(rows, 'portfolio_locations', { business_id });
  const ids = changes.flatMap(({ id }) => id ?? []);
  const existing = await locationsById(rows, business_id, ids);
  const updated_at = instant(now_ms);
  let locations_after = locations_before;
  const written: Location[] = [];
  const moved: string[] = [];
  const outcomes = changes.map(({ id, address, tags, ...place }): LocationOutcome => {
    const old = id === null ? undefined : existing.get(id);
    if (id !== null && old === undefined) return { kind: 'unknown_id' };
    if (id === null && locations_after >= quota) return { kind: 'quota_exceeded' };
    const { name, lat, lon } = place;
    const before = old ?? { id: newId('location', now_ms), created_at: updated_at, address: '', tags: '[]' };
    written.push({
      ...{ id: before.id, business_id, name, lat, lon, address: address ?? before.address },
      ...{ tags: tags === null ? before.tags : JSON.stringify(tags), created_at: before.created_at, updated_at },
    });
    if (old === undefined) locations_after += 1;
    else if (lat !== old.lat || lon !== old.lon) moved.push(old.id);
    return { kind: old === undefined ? 'created' : 'updated', id: before.id };
  });
  for (const chunk of chunks(written)) {
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
  return { outcomes, locations_before, locations_after };
}

/** Deletes locations; returns the ids that were there, in the order asked. Cursors that name them stay valid for a day. */
export async function deleteLocations(
  { rows, business_id, now_ms }: Writer,
  ids: readonly string[],
): Promise<readonly string[]> {
  const existing = await locationsById(rows, business_id, ids);
  const deleted = [...new Set(ids)].filter((id) => existing.has(id));
  const places = deleted.map((id) => ({ id, sort_key: existing.get(id)?.name ?? '' }));
  await rememberDeleted(rows, { business_id, list: LOCATIONS.list }, places, now_ms);
  for (const chunk of chunks(deleted)) {
    const own = rows.deleteFrom('portfolio_locations').where('business_id', '=', business_id);
    await own.where('id', 'in', chunk).execute();
    await forgetScores(rows, chunk);
  }
  return deleted;
}

/** Every location of a business, by id. Lets other requests through between reads, so it may see changes in between. */
export async function allLocations(rows: Kysely<Database>, business_id: string): Promise<readonly Location[]> {
  const all: Location[] = [];
  for (;;) {
    const page = await rows
      .selectFrom('portfolio_locations')
      .selectAll()
      .where('business_id', '=', business_id)
      .where('id', '>', all.at(-1)?.id ?? '')
      .orderBy('id')
      .limit(ROWS_PER_READ)
      .execute();
    for (const row of page) all.push(row);
    if (page.length < ROWS_PER_READ) return all;
    await yieldToEventLoop();
  }
}

async function locationsById(
  rows: Kysely<Database>,
  business_id: string,
  ids: readonly string[],
): Promise<ReadonlyMap<string, Location>> {
  const found = new Map<string, Location>();
  for (const chunk of chunks([...new Set(ids)])) {
    const own = rows.selectFrom('portfolio_locations').selectAll().where('business_id', '=', business_id);
    for (const row of await own.where('id', 'in', chunk).execute()) found.set(row.id, row);
    await yieldToEventLoop();
  }
  return found;
}

function* chunks<T>(items: readonly T[]): Generator<readonly T[]> {
  for (let from = 0; from < items.length; from += ROWS_PER_STATEMENT)
    yield items.slice(from, from + ROWS_PER_STATEMENT);
}
