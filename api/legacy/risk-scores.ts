import type { Kysely, Transaction } from 'kysely';
import { z } from 'zod';
import { instant } from '../../schemas/time.ts';
import type { Store } from '../records/database.ts';
import type { Database, ReceiverFormat } from '../records/schema.ts';

/** A subscription or saved location with the risk score that was sent last. */
export interface ScoredPlace {
  readonly kind: 'subscription' | 'location';
  readonly id: string;
  readonly lat: number;
  readonly lon: number;
  /** Format of the subscription's own receiver; null: a saved location. */
  readonly format: ReceiverFormat | null;
  /** Stored score; null: none yet. */
  readonly stored: number | null;
  /** When it was stored. */
  readonly stored_at: string | null;
}

const PLACES_PER_READ = 500;
/** Row of `settings` with the climatology that the stored scores come from. */
const SOURCE = 'climatology of the told scores';
const Source = z.object({ data_as_of: z.iso.datetime() });
/** After this time an older climatology is accepted: it was published again on purpose. */
const SUPERSEDED_MS = 86_400_000;

/**
 * True when events may be sent for the scores of a climatology; from then on false for an older one. Two processes that read a new
 * data root at different moments would otherwise send changes back and forth. `data_as_of`: when its newest data were published,
 * epoch milliseconds. Locks the row until the transaction ends.
 */
export async function maySendScoresOf(
  rows: Transaction<Database>,
  { forUpdate }: Pick<Store, 'forUpdate'>,
  data_as_of: number,
  now_ms: number,
): Promise<boolean> {
  const own = { value: JSON.stringify({ data_as_of: instant(data_as_of) }), noted_at: instant(now_ms) };
  await rows
    .insertInto('settings')
    .values({ name: SOURCE, ...own })
    .onConflict((conflict) => conflict.doNothing())
    .execute();
  const known = await rows
    .selectFrom('settings')
    .select(['value', 'noted_at'])
    .where('name', '=', SOURCE)
    .modifyEnd(forUpdate)
    .executeTakeFirstOrThrow();
  if (known.value === own.value) return true;
  const isOlder = data_as_of < Date.parse(Source.parse(JSON.parse(known.value)).data_as_of);
  if (isOlder && now_ms - Date.parse(known.noted_at) < SUPERSEDED_MS) return false;
  await rows.updateTable('settings').set(own).where('name', '=', SOURCE).execute();
  return true;
}

/** Active businesses with receivers of the earlier format, in the order of their ids. */
export async function businessesWithReceivers(
  rows: Kysely<Database>,
): Promise<readonly { readonly id: string; readonly features: readonly string[] }[]> {
  const found = await rows
    .selectFrom('businesses')
    .innerJoin('plans', 'plans.business_id', 'businesses.id')
    .select(['businesses.id', 'plans.features'])
    .where('businesses.status', '=', 'active')
    .where(({ or, eb, selectFrom }) =>
      or(
        (['webhooks', 'subscriptions'] as const).map((table) =>
          eb('businesses.id', 'in', selectFrom(table).select('business_id').where('format', '=', 'earlier')),
        ),
      ),
    )
    .orderBy('businesses.id')
    .execute();
  return found.map(({ id, features }) => ({ id, features: JSON.parse(features) as string[] }));
}

/**
 * Active subscriptions of a business, then its saved locations, page by page in the order of their ids. `onlyNew`: only those
 * without a stored score.
 */
export async function* scoredPlaces(
  rows: Kysely<Database>,
  business_id: string,
  onlyNew: boolean,
): AsyncGenerator<readonly ScoredPlace[]> {
  for (const kind of ['subscription', 'location'] as const)
    for (let after = ''; ; ) {
      const page = await (kind === 'subscription' ? subscriptionsAfter : locationsAfter)(
        rows,
        business_id,
        onlyNew,
        after,
      );
      if (page.length > 0) yield page.map((row) => ({ kind, format: null, ...row }));
      if (page.length < PLACES_PER_READ) break;
      after = page.at(-1)?.id ?? '';
    }
}

async function subscriptionsAfter(rows: Kysely<Database>, business_id: string, onlyNew: boolean, after: string) {
  return await rows
    .selectFrom('subscriptions')
    .leftJoin('risk_scores', 'risk_scores.location_id', 'subscriptions.id')
    .select([
      'subscriptions.id',
      'subscriptions.lat',
      'subscriptions.lon',
      'subscriptions.format',
      'risk_scores.score as stored',
      'risk_scores.at as stored_at',
    ])
    .where('subscriptions.business_id', '=', business_id)
    .where('subscriptions.status', '=', 'active')
    .where('subscriptions.id', '>', after)
    .$if(onlyNew, (query) => query.where('risk_scores.score', 'is', null))
    .orderBy('subscriptions.id')
    .limit(PLACES_PER_READ)
    .execute();
}

async function locationsAfter(rows: Kysely<Database>, business_id: string, onlyNew: boolean, after: string) {
  return await rows
    .selectFrom('portfolio_locations')
    .leftJoin('risk_scores', 'risk_scores.location_id', 'portfolio_locations.id')
    .select([
      'portfolio_locations.id',
      'portfolio_locations.lat',
      'portfolio_locations.lon',
      'risk_scores.score as stored',
      'risk_scores.at as stored_at',
    ])
    .where('portfolio_locations.business_id', '=', business_id)
    .where('portfolio_locations.id', '>', after)
    .$if(onlyNew, (query) => query.where('risk_scores.score', 'is', null))
    .orderBy('portfolio_locations.id')
    .limit(PLACES_PER_READ)
    .execute();
}

/** Stores the first score of a place, for which no event is sent. */
export async function storeFirstScore(
  rows: Transaction<Database>,
  business_id: string,
  { id }: ScoredPlace,
  score: number,
  now_ms: number,
): Promise<void> {
  await rows
    .insertInto('risk_scores')
    .values({ location_id: id, business_id, score, at: instant(now_ms) })
    .onConflict((conflict) => conflict.doNothing())
    .execute();
}

/** Stores a changed score; false when another process has stored one meanwhile. */
export async function storeChangedScore(
  rows: Transaction<Database>,
  { id, stored }: ScoredPlace,
  score: number,
  now_ms: number,
): Promise<boolean> {
  const { numUpdatedRows } = await rows
    .updateTable('risk_scores')
    .set({ score, at: instant(now_ms) })
    .where('location_id', '=', id)
    .where('score', '=', stored)
    .executeTakeFirst();
  return numUpdatedRows === 1n;
}

/** Deletes the scores of places that no longer exist. */
export async function sweepRiskScores(rows: Transaction<Database>): Promise<void> {
  await rows
    .deleteFrom('risk_scores')
    .where('location_id', 'not in', (eb) => eb.selectFrom('subscriptions').select('id'))
    .where('location_id', 'not in', (eb) => eb.selectFrom('portfolio_locations').select('id'))
    .execute();
}
