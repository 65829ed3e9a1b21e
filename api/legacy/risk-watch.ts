import { type Kysely, sql } from 'kysely';
import type { Logger } from 'pino';
import { instant } from '../../schemas/time.ts';
import type { EarlierRiskData } from '../../schemas/webhook-events.ts';
import { lockBusiness } from '../accounts/businesses.ts';
import { REAL_TIME } from '../alerts/places.ts';
import type { Records } from '../billing/records.ts';
import { yieldToEventLoop } from '../http/event-loop.ts';
import type { Catalog } from '../published/catalog.ts';
import type { ClimatologyTable } from '../queries/climatology.ts';
import { LockNotGiven } from '../records/errors.ts';
import type { Database, ReceiverFormat } from '../records/schema.ts';
import type { Queue } from '../records/tasks.ts';
import { cellOf } from '../rules/hail-risk.ts';
import { enqueueEvent, takersAmong, webhooksOf } from '../webhooks/events.ts';
import { FORMATS } from '../webhooks/formats.ts';
import { MESSAGE_TASK } from '../webhooks/messages.ts';

type Table = Pick<ClimatologyTable, 'cell' | 'version' | 'data_as_of'>;

/** Parts of the service that the watch needs. */
interface RiskWatchParts {
  readonly catalog: Pick<Catalog, 'afterEdition'>;
  readonly climatology: { readonly table: () => Table | null };
  readonly records: Pick<Records, 'reader' | 'store' | 'transaction'>;
  readonly queue: Pick<Queue, 'add' | 'wake'>;
  /** Data clock, epoch milliseconds. */
  readonly now: () => number;
}

/**
 * A subscription or saved location with the risk score that was sent last, and when the newest data of its climatology were published;
 * null: none yet. `format`: of the subscription's own receiver; null: a saved location.
 */
type ScoredPlace = Awaited<ReturnType<typeof scoredPlaces>>[number];

/** An event is sent when a score changes by more points than this. */
const REPORTED_BEYOND = 10;
/** Places of one transaction, which other writes wait for. */
const PLACES_PER_WRITE = 500;

/**
 * Sends `risk.changed` to receivers of the earlier format when the risk score of a place has changed by more than 10 points since
 * the last event. Compares the scores of the climatology in force with the stored ones: of all places when the climatology is new,
 * and always of new places, whose first score is stored without an event. All state is in the records, so that a restart or another
 * process sends no event twice; a score of a newer climatology, which another process has read already, stays. Returns a function
 * that ends it.
 */
export function startRiskWatch(
  { catalog, climatology, records, queue, now }: RiskWatchParts,
  log: Pick<Logger, 'error' | 'info'>,
): () => Promise<void> {
  /** Version of the table that every place was compared with. */
  let done: string | null = null;

  async function compareScores(): Promise<void> {
    const table = climatology.table();
    if (table === null) return;
    const onlyNew = table.version === done;
    for (const business_id of await businessesWithReceivers(records.reader)) {
      const places = await scoredPlaces(records.reader, business_id, onlyNew);
      const scored = places.flatMap((place) => {
        const score = table.cell(cellOf(place))?.annual_score;
        return score === undefined || !isToStore(place, score, table) ? [] : [{ place, score }];
      });
      for (let first = 0; first < scored.length; first += PLACES_PER_WRITE)
        await storeScores(business_id, table, scored.slice(first, first + PLACES_PER_WRITE));
      await yieldToEventLoop();
    }
    done = table.version;
  }

  /** Stores scores and writes their events. A first score has no event, nor one that another process has stored. */
  async function storeScores(
    business_id: string,
    table: Table,
    scored: readonly { readonly place: ScoredPlace; readonly score: number }[],
  ): Promise<void> {
    const at_ms = now();
    const at = instant(table.data_as_of);
    await records.transaction(async (rows) => {
      // Waits for writes of the business, which move and delete places.
      if (!(await lockBusiness(rows, business_id))) return;
      const webhooks = takersAmong(await webhooksOf(rows, business_id), 'legacy', 'risk.changed');
      for (const { place, score } of scored) {
        const { id, lat, lon, stored } = place;
        if (stored === null) {
          const first = rows.insertInto('risk_scores').values({ location_id: id, business_id, score, at });
          await first.onConflict((conflict) => conflict.doNothing()).execute();
          continue;
        }
        const present = rows.updateTable('risk_scores').where('location_id', '=', id).where('score', '=', stored);
        if ((await present.set({ score, at }).executeTakeFirst()).numUpdatedRows === 0n) continue;
        const is_location = place.format === null;
        const data: EarlierRiskData = {
          subscription_id: is_location ? null : id,
          location_id: is_location ? id : null,
          previous_score: stored,
          risk_score: score,
          ...{ storm_id: null, mesh_size_mm: null, probability: null },
          coordinates: { lat, lng: lon },
        };
        const receivers = [...(place.format === 'legacy' ? [id] : []), ...webhooks];
        const once = { subject: `${id} ${place.stored_at}`, at_ms: table.data_as_of };
        const event = { event: 'risk.changed' as const, business_id, receivers, alert_id: null, after: null };
        await enqueueEvent(rows, { queue, store: records.store }, { ...event, at_ms, data, once }, FORMATS.legacy);
      }
    });
    queue.wake(MESSAGE_TASK);
  }

  return catalog.afterEdition({
    react: compareScores,
    // The comparison is repeated after 2 s.
    failed: (error) => {
      if (error instanceof LockNotGiven) log.info({ reason: error.message }, 'Risk:Match:Deferred');
      else log.error({ err: error }, 'Risk:Match:Failed');
    },
  });
}

function isToStore({ stored, stored_at }: ScoredPlace, score: number, { data_as_of }: Table): boolean {
  if (stored === null || stored_at === null) return true;
  return Math.abs(score - stored) > REPORTED_BEYOND && stored_at < instant(data_as_of);
}

/** Active businesses with receivers of the earlier format and delivery in real time, in the order of their ids. */
async function businessesWithReceivers(rows: Kysely<Database>): Promise<readonly string[]> {
  const found = await rows
    .selectFrom('businesses')
    .innerJoin('plans', 'plans.business_id', 'businesses.id')
    .select(['businesses.id', 'plans.features'])
    .where('businesses.status', '=', 'active')
    .where(({ or, eb, selectFrom }) =>
      or(
        (['webhooks', 'subscriptions'] as const).map((table) =>
          eb('businesses.id', 'in', selectFrom(table).select('business_id').where('format', '=', 'legacy')),
        ),
      ),
    )
    .orderBy('businesses.id')
    .execute();
  return found.filter(({ features }) => (JSON.parse(features) as string[]).includes(REAL_TIME)).map(({ id }) => id);
}

/** Active subscriptions and saved locations of a business. `onlyNew`: only those without a stored score. */
async function scoredPlaces(rows: Kysely<Database>, business_id: string, onlyNew: boolean) {
  const subscriptions = rows
    .selectFrom('subscriptions')
    .select(['id', 'lat', 'lon', sql<ReceiverFormat | null>`format`.as('format')])
    .where('business_id', '=', business_id)
    .where('status', '=', 'active');
  const locations = rows
    .selectFrom('portfolio_locations')
    .select(['id', 'lat', 'lon', sql<ReceiverFormat | null>`null`.as('format')])
    .where('business_id', '=', business_id);
  return await rows
    .selectFrom(subscriptions.unionAll(locations).as('places'))
    .leftJoin('risk_scores', 'risk_scores.location_id', 'places.id')
    .selectAll('places')
    .select(['risk_scores.score as stored', 'risk_scores.at as stored_at'])
    .$if(onlyNew, (query) => query.where('risk_scores.score', 'is', null))
    .orderBy('places.id')
    .execute();
}
