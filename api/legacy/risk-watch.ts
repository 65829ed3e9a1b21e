import { type Kysely, sql, type Transaction } from 'kysely';
import type { Logger } from 'pino';
import { instant } from '../../schemas/time.ts';
import type { EarlierRiskData } from '../../schemas/webhook-events.ts';
import { lockBusiness } from '../accounts/businesses.ts';
import type { Records } from '../billing/records.ts';
import { yieldToEventLoop } from '../http/event-loop.ts';
import type { Catalog } from '../published/catalog.ts';
import type { Climatology, ClimatologyTable } from '../queries/climatology.ts';
import { LockNotGiven } from '../records/errors.ts';
import type { Database, ReceiverFormat } from '../records/schema.ts';
import type { Queue } from '../records/tasks.ts';
import { cellOf } from '../rules/hail-risk.ts';
import { activeWebhooks, enqueueEvent, MESSAGE_TASK, takersAmong } from '../webhooks/events.ts';
import { earlierBodyOf } from './events.ts';

type Table = Pick<ClimatologyTable, 'cell' | 'version' | 'data_as_of'>;

/** Parts of the service that the watch needs. */
export interface RiskWatchParts {
  readonly climatology: { readonly table: () => Table | null };
  readonly records: Pick<Records, 'reader' | 'store' | 'transaction'>;
  readonly queue: Pick<Queue, 'add' | 'wake'>;
  /** Data clock, epoch milliseconds. */
  readonly now: () => number;
}

/** A subscription or saved location with the risk score that was sent last. */
interface ScoredPlace {
  readonly id: string;
  readonly lat: number;
  readonly lon: number;
  /** Format of the subscription's own receiver; null: a saved location. */
  readonly format: ReceiverFormat | null;
  /** Score and when it was stored; null: none yet. */
  readonly stored: number | null;
  readonly stored_at: string | null;
}

/** An event is sent when a score changes by more points than this. */
const REPORTED_BEYOND = 10;
/** Feature of a plan without which no event is sent. */
const REAL_TIME = 'real_time_delivery';
/** Places of one transaction, which other writes wait for. */
const PLACES_PER_WRITE = 500;
/** Row of `settings` with the climatology that the stored scores come from: when its newest data were published. */
const SOURCE = 'climatology of the risk scores';
/** After this time an older climatology is accepted: it was published again on purpose. */
const SUPERSEDED_MS = 86_400_000;

/**
 * Sends `risk.changed` to receivers of the earlier format when the risk score of a place has changed by more than 10 points since
 * the last event. Returns a function that ends it.
 */
export function startRiskWatch(
  services: Omit<RiskWatchParts, 'climatology'> & {
    readonly catalog: Pick<Catalog, 'afterEdition'>;
    readonly climatology: Climatology;
  },
  log: Pick<Logger, 'error' | 'info'>,
): () => Promise<void> {
  const watch = createRiskWatch(services);
  return services.catalog.afterEdition({
    react: watch,
    // The next edition, minutes later, repeats the comparison.
    failed: (error) => {
      if (error instanceof LockNotGiven) log.info({ reason: error.message }, 'Risk:Match:Deferred');
      else log.error({ err: error }, 'Risk:Match:Failed');
    },
  });
}

/**
 * Compares the scores of the climatology in force with the stored ones: of all places when the climatology is new, and always of
 * new places, whose first score is stored without an event. All state is in the records, so that a restart or another process sends
 * no event twice, and none for a climatology that another process knows to be replaced: the next edition finds the new one.
 */
export function createRiskWatch({ climatology, records, queue, now }: RiskWatchParts): () => Promise<void> {
  /** Version of the table that every place was compared with. */
  let done: string | null = null;

  return async () => {
    const table = climatology.table();
    if (table === null) return;
    const onlyNew = table.version === done;
    const businesses = await businessesWithReceivers(records.reader);
    // Before any place is read, so that the scores that other processes send for an older climatology are stored by then.
    if (!onlyNew && businesses.length > 0 && !(await records.transaction((rows) => maySend(rows, table, now()))))
      return;
    let sent = 0;
    try {
      for (const business_id of businesses) {
        const places = await scoredPlaces(records.reader, business_id, onlyNew);
        const scored = places.flatMap((place) => {
          const score = table.cell(cellOf(place))?.annual_score;
          return score === undefined || !isToStore(place, score) ? [] : [{ place, score }];
        });
        for (let first = 0; first < scored.length; first += PLACES_PER_WRITE) {
          const events = await storeScores(business_id, table, scored.slice(first, first + PLACES_PER_WRITE));
          if (events === null) return;
          sent += events;
        }
        await yieldToEventLoop();
      }
    } finally {
      if (sent > 0) queue.wake(MESSAGE_TASK);
    }
    if (!onlyNew) await records.transaction(sweepRiskScores);
    done = table.version;
  };

  /** Stores scores and writes their events. Returns how many events; null: the climatology was replaced meanwhile. */
  async function storeScores(
    business_id: string,
    table: Table,
    scored: readonly { readonly place: ScoredPlace; readonly score: number }[],
  ): Promise<number | null> {
    const at_ms = now();
    return await records.transaction(async (rows) => {
      // Waits for writes of the business, which move and delete places.
      if (!(await lockBusiness(rows, business_id))) return 0;
      if (!(await maySend(rows, table, at_ms))) return null;
      const webhooks = takersAmong(await activeWebhooks(rows, business_id), 'legacy', 'risk.changed');
      let sent = 0;
      for (const { place, score } of scored) {
        if (!(await isChanged(rows, business_id, place, score, at_ms))) continue;
        const receivers = [...(place.format === 'legacy' ? [place.id] : []), ...webhooks];
        const about = { business_id, receivers, alert_id: null, after: null, at_ms, data: dataOf(place, score) };
        const happened = { happened_ms: table.data_as_of, happened_to: `${place.id} ${place.stored_at}` };
        const event = { event: 'risk.changed' as const, ...about, ...happened };
        await enqueueEvent(rows, { queue, store: records.store }, event, earlierBodyOf);
        sent += receivers.length;
      }
      return sent;
    });
  }
}

function isToStore({ stored }: ScoredPlace, score: number): boolean {
  return stored === null || Math.abs(score - stored) > REPORTED_BEYOND;
}

function dataOf({ id, lat, lon, format, stored }: ScoredPlace, risk_score: number): EarlierRiskData {
  const about = { previous_score: stored ?? 0, risk_score, coordinates: { lat, lng: lon } };
  return format === null ? { location_id: id, ...about } : { subscription_id: id, ...about };
}

/**
 * True when events may be sent for the scores of a climatology; from then on false for an older one. Two processes that read a new
 * data root at different moments would otherwise send changes back and forth. Locks its row until the transaction ends.
 */
async function maySend(rows: Transaction<Database>, { data_as_of }: Table, now_ms: number): Promise<boolean> {
  const value = instant(data_as_of);
  await rows
    .insertInto('settings')
    .values({ name: SOURCE, value, noted_at: instant(now_ms) })
    .onConflict((conflict) =>
      conflict
        .column('name')
        .doUpdateSet({ value, noted_at: instant(now_ms) })
        .where(({ or, eb }) =>
          or([eb('settings.value', '<', value), eb('settings.noted_at', '<=', instant(now_ms - SUPERSEDED_MS))]),
        ),
    )
    .execute();
  const known = await rows.selectFrom('settings').select('value').where('name', '=', SOURCE).executeTakeFirstOrThrow();
  return known.value === value;
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
async function scoredPlaces(
  rows: Kysely<Database>,
  business_id: string,
  onlyNew: boolean,
): Promise<readonly ScoredPlace[]> {
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

/** Stores the score of a place. False for a first one, of which no event is sent, and when another process has stored one. */
async function isChanged(
  rows: Transaction<Database>,
  business_id: string,
  { id, stored }: ScoredPlace,
  score: number,
  now_ms: number,
): Promise<boolean> {
  const values = { score, at: instant(now_ms) };
  if (stored === null) {
    const first = rows.insertInto('risk_scores').values({ location_id: id, business_id, ...values });
    await first.onConflict((conflict) => conflict.doNothing()).execute();
    return false;
  }
  const present = rows.updateTable('risk_scores').where('location_id', '=', id).where('score', '=', stored);
  return (await present.set(values).executeTakeFirst()).numUpdatedRows === 1n;
}

/** Deletes the scores of places that no longer exist. */
async function sweepRiskScores(rows: Transaction<Database>): Promise<void> {
  await rows
    .deleteFrom('risk_scores')
    .where('location_id', 'not in', (eb) => eb.selectFrom('subscriptions').select('id'))
    .where('location_id', 'not in', (eb) => eb.selectFrom('portfolio_locations').select('id'))
    .execute();
}
