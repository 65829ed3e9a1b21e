import type { Kysely, Transaction } from 'kysely';
import { instant } from './instant.ts';
import type { Database } from './tables.ts';

/** A place whose risk score is told when it changes: a subscription, or a saved location. */
export interface ScoredPlace {
  readonly kind: 'subscription' | 'location';
  readonly id: string;
  readonly lat: number;
  readonly lon: number;
  /** Score that was told last; null: none yet. */
  readonly told: number | null;
}

const PLACES_PER_READ = 500;

/** Businesses that may be told of something and have receivers of the earlier variant, in the order of their ids. */
export async function businessesWithEarlierReceivers(
  rows: Kysely<Database>,
): Promise<readonly { readonly id: string; readonly features: readonly string[] }[]> {
  const found = await rows
    .selectFrom('businesses')
    .innerJoin('plans', 'plans.business_id', 'businesses.id')
    .select(['businesses.id', 'plans.features'])
    .where('businesses.status', '=', 'active')
    .where('businesses.id', 'in', (eb) => eb.selectFrom('earlier_receivers').select('business_id').distinct())
    .orderBy('businesses.id')
    .execute();
  return found.map(({ id, features }) => ({ id, features: JSON.parse(features) as string[] }));
}

/**
 * Subscriptions of a business that are active, and its saved locations, a page at a time, each in the order of ids. `onlyNew`: only
 * those of which no score was told yet.
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
      if (page.length > 0) yield page.map((row) => ({ kind, ...row }));
      if (page.length < PLACES_PER_READ) break;
      after = page.at(-1)?.id ?? '';
    }
}

async function subscriptionsAfter(rows: Kysely<Database>, business_id: string, onlyNew: boolean, after: string) {
  return await rows
    .selectFrom('subscriptions')
    .leftJoin('risk_scores', 'risk_scores.location_id', 'subscriptions.id')
    .select(['subscriptions.id', 'subscriptions.lat', 'subscriptions.lon', 'risk_scores.score as told'])
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
      'risk_scores.score as told',
    ])
    .where('portfolio_locations.business_id', '=', business_id)
    .where('portfolio_locations.id', '>', after)
    .$if(onlyNew, (query) => query.where('risk_scores.score', 'is', null))
    .orderBy('portfolio_locations.id')
    .limit(PLACES_PER_READ)
    .execute();
}

/** Notes the first score of a place, which nobody is told. */
export async function noteFirstScore(
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

/** Notes the score of a place that is being told; false when another process has told it meanwhile. */
export async function noteChangedScore(
  rows: Transaction<Database>,
  { id, told }: ScoredPlace,
  score: number,
  now_ms: number,
): Promise<boolean> {
  const { numUpdatedRows } = await rows
    .updateTable('risk_scores')
    .set({ score, at: instant(now_ms) })
    .where('location_id', '=', id)
    .where('score', '=', told)
    .executeTakeFirst();
  return numUpdatedRows === 1n;
}

/** Forgets the scores of places that are moved, whose next score is a first one, or deleted: nothing more is told of them. */
export async function forgetScores(rows: Transaction<Database>, location_ids: readonly string[]): Promise<void> {
  await rows.deleteFrom('risk_scores').where('location_id', 'in', location_ids).execute();
}

/** Removes the scores of places that are gone. */
export async function sweepRiskScores(rows: Transaction<Database>): Promise<void> {
  await rows
    .deleteFrom('risk_scores')
    .where('location_id', 'not in', (eb) => eb.selectFrom('subscriptions').select('id'))
    .where('location_id', 'not in', (eb) => eb.selectFrom('portfolio_locations').select('id'))
    .execute();
}
