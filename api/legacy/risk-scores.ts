import type { Kysely, Transaction } from 'kysely';
import { z } from 'zod';
import type { Store } from '../store/database.ts';
import { instant } from '../store/instant.ts';
import type { Database } from '../store/schema.ts';

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
/** Name of the row of `settings` that tells which climatology the scores are told of. */
const TOLD_OF = 'climatology of the told scores';
const ToldOf = z.object({ data_as_of: z.iso.datetime() });
/** An older climatology that is still there after so long is the one that is published. */
const SUPERSEDED_MS = 86_400_000;

/**
 * True where the scores of a climatology may be told, and from then on none of an older one: a process that reads the data root a
 * moment later than another would tell them back and forth. `data_as_of`: when its newest data were published, epoch milliseconds.
 * Others who ask wait until the transaction ends.
 */
export async function mayTellScoresOf(
  rows: Transaction<Database>,
  { forUpdate }: Pick<Store, 'forUpdate'>,
  data_as_of: number,
  now_ms: number,
): Promise<boolean> {
  const own = { value: JSON.stringify({ data_as_of: instant(data_as_of) }), noted_at: instant(now_ms) };
  await rows
    .insertInto('settings')
    .values({ name: TOLD_OF, ...own })
    .onConflict((conflict) => conflict.doNothing())
    .execute();
  const known = await rows
    .selectFrom('settings')
    .select(['value', 'noted_at'])
    .where('name', '=', TOLD_OF)
    .modifyEnd(forUpdate)
    .executeTakeFirstOrThrow();
  if (known.value === own.value) return true;
  const isOlder = data_as_of < Date.parse(ToldOf.parse(JSON.parse(known.value)).data_as_of);
  if (isOlder && now_ms - Date.parse(known.noted_at) < SUPERSEDED_MS) return false;
  await rows.updateTable('settings').set(own).where('name', '=', TOLD_OF).execute();
  return true;
}

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
