import type { Kysely, Selectable, Transaction } from 'kysely';
import { newId } from '../../schemas/ids.ts';
import { yieldToEventLoop } from '../http/event-loop.ts';
import type { CursorNote } from '../records/cursors.ts';
import { cursorNote, cursorPlace, rememberDeleted, type Walk } from '../records/cursors.ts';
import type { Writer } from '../records/database.ts';
import { forgetScores } from '../records/risk-scores.ts';
import type { Database } from '../records/schema.ts';

const LIST = 'portfolio.locations';
/** Rows of one statement: enough for speed, and few enough that other requests run in between. */
const ROWS_PER_STATEMENT = 200;
const ROWS_PER_READ = 2_000;

export interface PortfolioLocation {
  readonly id: string;
  readonly name: string;
  readonly lat: number;
  readonly lon: number;
  readonly address: string;
  readonly tags: readonly string[];
  readonly created_at: string;
  readonly updated_at: string;
}

/** A row to create (without id) or to update in place. Null address and tags: unchanged, or empty in a new row. */
export interface LocationChange {
  readonly id: string | null;
  readonly name: string;
  readonly lat: number;
  readonly lon: number;
  readonly address: string | null;
  readonly tags: readonly string[] | null;
}

/** Outcome of a change. `unknown_id`: the business has no such location. */
type LocationOutcome =
  | { readonly kind: 'created' | 'updated'; readonly id: string }
  | { readonly kind: 'unknown_id' | 'quota_exceeded' };

export interface UpsertResult {
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
  const before = await countLocations(rows, business_id);
  const existing = await locationsById(
    rows,
    business_id,
    changes.flatMap(({ id }) => id ?? []),
  );
  const at = new Date(now_ms).toISOString();
  let room = Math.max(0, quota - before);
  const written: Selectable<Database['portfolio_locations']>[] = [];
  const moved: string[] = [];
  const outcomes = changes.map((change): LocationOutcome => {
    if (change.id !== null) {
      const old = existing.get(change.id);
      if (!old) return { kind: 'unknown_id' };
      if (change.lat !== old.lat || change.lon !== old.lon) moved.push(old.id);
      written.push(changed(old, change, at));
      return { kind: 'updated', id: old.id };
    }
    if (room === 0) return { kind: 'quota_exceeded' };
    room -= 1;
    const made = created(business_id, change, now_ms, at);
    written.push(made);
    return { kind: 'created', id: made.id };
  });
  for (const chunk of chunks(written, ROWS_PER_STATEMENT)) {
    await upsert(rows, chunk);
    await yieldToEventLoop();
  }
  for (const chunk of chunks(moved, ROWS_PER_STATEMENT)) await forgetScores(rows, chunk);
  const createdCount = outcomes.filter(({ kind }) => kind === 'created').length;
  return { outcomes, locations_before: before, locations_after: before + createdCount };
}

/** Deletes locations; returns the ids that were there, in the order asked. Cursors that name them stay valid for a day. */
export async function deleteLocations(
  { rows, business_id, now_ms }: Writer,
  ids: readonly string[],
): Promise<readonly string[]> {
  const existing = await locationsById(rows, business_id, ids);
  const deleted = [...new Set(ids)].filter((id) => existing.has(id));
  const places = deleted.map((id) => ({ id, sort_key: existing.get(id)?.name ?? '' }));
  await rememberDeleted(rows, { business_id, list: LIST }, places, now_ms);
  for (const chunk of chunks(deleted, ROWS_PER_STATEMENT)) {
    await rows
      .deleteFrom('portfolio_locations')
      .where('business_id', '=', business_id)
      .where('id', 'in', chunk)
      .execute();
    await forgetScores(rows, chunk);
  }
  return deleted;
}

/** A page of the list begins after this name and id. */
interface LocationPlace {
  readonly name: string;
  readonly id: string;
}

/**
 * Place in the list where a cursor continues: the one stored for this holder of the cursor, else the present place of the location,
 * else its place when it was deleted, for a day. Null: unknown.
 */
export async function locationCursor(
  rows: Kysely<Database>,
  walk: Omit<Walk, 'list'>,
  cursor: string,
  now_ms: number,
): Promise<LocationPlace | null> {
  const name =
    (await cursorPlace(rows, { ...walk, list: LIST }, cursor, now_ms)) ??
    (await locationsById(rows, walk.business_id, [cursor])).get(cursor)?.name;
  return name === undefined ? null : { name, id: cursor };
}

/** The note to hand to `Records.rememberCursor` when a page ends with a location. */
export function locationCursorNote(walk: Omit<Walk, 'list'>, last: LocationPlace, now_ms: number): CursorNote {
  return cursorNote({ ...walk, list: LIST }, last.id, last.name, now_ms);
}

/** Locations by name (code points), then id, after a place; at most `limit`. */
export async function selectLocations(
  rows: Kysely<Database>,
  business_id: string,
  after: LocationPlace | null,
  limit: number,
): Promise<readonly PortfolioLocation[]> {
  const found = await rows
    .selectFrom('portfolio_locations')
    .selectAll()
    .where('business_id', '=', business_id)
    .$if(after !== null, (query) =>
      query.where(({ eb, refTuple, tuple }) =>
        eb(refTuple('name', 'id'), '>', tuple(after?.name ?? '', after?.id ?? '')),
      ),
    )
    .orderBy('name')
    .orderBy('id')
    .limit(limit)
    .execute();
  return found.map(locationOf);
}

/** Every location of a business, by id. Lets other requests through between reads, so it may see changes in between. */
export async function allLocations(rows: Kysely<Database>, business_id: string): Promise<readonly PortfolioLocation[]> {
  const all: PortfolioLocation[] = [];
  for (;;) {
    const page = await rows
      .selectFrom('portfolio_locations')
      .selectAll()
      .where('business_id', '=', business_id)
      .where('id', '>', all.at(-1)?.id ?? '')
      .orderBy('id')
      .limit(ROWS_PER_READ)
      .execute();
    for (const row of page) all.push(locationOf(row));
    if (page.length < ROWS_PER_READ) return all;
    await yieldToEventLoop();
  }
}

/** A location of a business; null when it has none of that id. */
export async function findLocation(
  rows: Kysely<Database>,
  business_id: string,
  id: string,
): Promise<PortfolioLocation | null> {
  const found = (await locationsById(rows, business_id, [id])).get(id);
  return found === undefined ? null : locationOf(found);
}

/** How many locations a business has. */
export async function countLocations(rows: Kysely<Database>, business_id: string): Promise<number> {
  const { count } = await rows
    .selectFrom('portfolio_locations')
    .select(({ fn }) => fn.countAll<number>().as('count'))
    .where('business_id', '=', business_id)
    .executeTakeFirstOrThrow();
  return count;
}

async function locationsById(
  rows: Kysely<Database>,
  business_id: string,
  ids: readonly string[],
): Promise<ReadonlyMap<string, Selectable<Database['portfolio_locations']>>> {
  const found = new Map<string, Selectable<Database['portfolio_locations']>>();
  for (const chunk of chunks([...new Set(ids)], ROWS_PER_STATEMENT)) {
    const page = await rows
      .selectFrom('portfolio_locations')
      .selectAll()
      .where('business_id', '=', business_id)
      .where('id', 'in', chunk)
      .execute();
    for (const row of page) found.set(row.id, row);
    await yieldToEventLoop();
  }
  return found;
}

async function upsert(
  rows: Transaction<Database>,
  locations: readonly Selectable<Database['portfolio_locations']>[],
): Promise<void> {
  await rows
    .insertInto('portfolio_locations')
    .values(locations)
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
}

function created(business_id: string, change: LocationChange, now_ms: number, at: string) {
  const { name, lat, lon, address, tags } = change;
  return {
    id: newId('location', now_ms),
    business_id,
    name,
    lat,
    lon,
    address: address ?? '',
    tags: JSON.stringify(tags ?? []),
    created_at: at,
    updated_at: at,
  };
}

function changed(old: Selectable<Database['portfolio_locations']>, change: LocationChange, at: string) {
  const { name, lat, lon, address, tags } = change;
  return {
    ...old,
    name,
    lat,
    lon,
    address: address ?? old.address,
    tags: tags === null ? old.tags : JSON.stringify(tags),
    updated_at: at,
  };
}

function locationOf({ business_id: _, ...row }: Selectable<Database['portfolio_locations']>): PortfolioLocation {
  return { ...row, tags: JSON.parse(row.tags) as string[] };
}

function* chunks<T>(items: readonly T[], size: number): Generator<readonly T[]> {
  for (let from = 0; from < items.length; from += size) yield items.slice(from, from + size);
}
