import type { Transaction } from 'kysely';
import type { Logger } from 'pino';
import type { EarlierRiskData } from '../../schemas/webhook-events.ts';
import { lockBusiness } from '../accounts/businesses.ts';
import type { Records } from '../billing/records.ts';
import { yieldToEventLoop } from '../http/event-loop.ts';
import type { Catalog } from '../published/catalog.ts';
import type { Climatology, ClimatologyTable } from '../queries/climatology.ts';
import { LockNotGiven } from '../records/errors.ts';
import type { Database } from '../records/schema.ts';
import type { Queue } from '../records/tasks/queue.ts';
import { cellOf } from '../rules/hail-risk.ts';
import { activeWebhooks, enqueueEvent, MESSAGE_TASK, takersAmong } from '../webhooks/events.ts';
import { earlierBodyOf } from './events.ts';
import {
  businessesWithReceivers,
  maySendScoresOf,
  type ScoredPlace,
  scoredPlaces,
  storeChangedScore,
  storeFirstScore,
  sweepRiskScores,
} from './risk-scores.ts';

type Table = Pick<ClimatologyTable, 'cell' | 'version' | 'data_as_of'>;

/** Parts of the service that the watch needs. */
export interface RiskWatchParts {
  readonly climatology: { readonly table: () => Table | null };
  readonly records: Pick<Records, 'reader' | 'store' | 'transaction'>;
  readonly queue: Pick<Queue, 'add' | 'wake'>;
  /** Data clock, epoch milliseconds. */
  readonly now: () => number;
}

/** An event is sent when a score changes by more points than this. */
const REPORTED_BEYOND = 10;
/** Feature of a plan without which no event is sent. */
const REAL_TIME = 'real_time_delivery';

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
    if (!onlyNew && businesses.length > 0 && !(await records.transaction((rows) => maySend(rows, table)))) return;
    let sent = 0;
    try {
      for (const { id, features } of businesses) {
        if (!features.includes(REAL_TIME)) continue;
        for await (const places of scoredPlaces(records.reader, id, onlyNew)) {
          const scored = places.flatMap((place) => {
            const score = table.cell(cellOf(place))?.annual_score;
            return score === undefined || !isToStore(place, score) ? [] : [{ place, score }];
          });
          if (scored.length > 0) {
            const events = await storeScores(id, table, scored);
            if (events === null) return;
            sent += events;
          }
          await yieldToEventLoop();
        }
      }
    } finally {
      if (sent > 0) queue.wake(MESSAGE_TASK);
    }
    if (!onlyNew) await records.transaction(sweepRiskScores);
    done = table.version;
  };

  async function maySend(rows: Transaction<Database>, { data_as_of }: Table): Promise<boolean> {
    return await maySendScoresOf(rows, records.store, data_as_of, now());
  }

  /** Stores scores and writes their events. Returns how many events; null: the climatology was replaced meanwhile. */
  async function storeScores(
    business_id: string,
    table: Table,
    scored: readonly { readonly place: ScoredPlace; readonly score: number }[],
  ): Promise<number | null> {
    const now_ms = now();
    return await records.transaction(async (rows) => {
      // Waits for writes of the business, which move and delete places.
      if (!(await lockBusiness(rows, business_id))) return 0;
      if (!(await maySend(rows, table))) return null;
      const webhooks = takersAmong(await activeWebhooks(rows, business_id), 'earlier', 'risk.changed');
      let sent = 0;
      for (const { place, score } of scored) {
        if (place.stored === null) {
          await storeFirstScore(rows, business_id, place, score, now_ms);
          continue;
        }
        if (!(await storeChangedScore(rows, place, score, now_ms))) continue;
        const receivers = [...(place.format === 'earlier' ? [place.id] : []), ...webhooks];
        const data = dataOf(place, place.stored, score);
        const happened = { happened_ms: table.data_as_of, happened_to: `${place.id} ${place.stored_at}` };
        await enqueueEvent(
          rows,
          { queue, store: records.store },
          {
            business_id,
            receivers,
            event: 'risk.changed',
            data,
            alert_id: null,
            after: null,
            at_ms: now_ms,
            ...happened,
          },
          earlierBodyOf,
        );
        sent += receivers.length;
      }
      return sent;
    });
  }
}

function isToStore({ stored }: ScoredPlace, score: number): boolean {
  return stored === null || Math.abs(score - stored) > REPORTED_BEYOND;
}

function dataOf({ kind, id, lat, lon }: ScoredPlace, previous_score: number, risk_score: number): EarlierRiskData {
  const about = { previous_score, risk_score, coordinates: { lat, lng: lon } };
  return kind === 'subscription' ? { subscription_id: id, ...about } : { location_id: id, ...about };
}
