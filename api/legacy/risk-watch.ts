import type { Transaction } from 'kysely';
import type { Logger } from 'pino';
import type { EarlierRiskData } from '../../schemas/webhook-events.ts';
import { lockBusiness } from '../accounts/businesses.ts';
import type { Catalog } from '../catalog.ts';
import { yieldToEventLoop } from '../event-loop.ts';
import type { Records } from '../metering/records.ts';
import type { Climatology, ClimatologyTable } from '../queries/climatology.ts';
import { cellOf } from '../rules/hail-risk.ts';
import type { Database } from '../store/schema.ts';
import type { Queue } from '../store/tasks/queue.ts';
import { activeReceivers, enqueueEarlierEvent, MESSAGE_TASK } from '../webhooks/events.ts';
import { earlierReceiversOf } from './receivers.ts';
import {
  businessesWithEarlierReceivers,
  mayTellScoresOf,
  noteChangedScore,
  noteFirstScore,
  type ScoredPlace,
  scoredPlaces,
  sweepRiskScores,
} from './risk-scores.ts';

type Table = Pick<ClimatologyTable, 'cell' | 'version' | 'data_as_of'>;

/** What the watch works with. */
export interface RiskWatchParts {
  readonly climatology: { readonly table: () => Table | null };
  readonly records: Pick<Records, 'reader' | 'store' | 'transaction'>;
  readonly queue: Pick<Queue, 'add' | 'wake'>;
  /** Data clock, epoch milliseconds. */
  readonly now: () => number;
}

/** A score that moved by more than this is told. */
const TOLD_BEYOND = 10;
/** Feature without which nobody is told anything. */
const REAL_TIME = 'real_time_delivery';

/**
 * Tells receivers of the earlier variant when the risk score of a place has moved by more than 10 points since it was told last.
 * Returns what ends it.
 */
export function startRiskWatch(
  services: Omit<RiskWatchParts, 'climatology'> & {
    readonly catalog: Pick<Catalog, 'afterEdition'>;
    readonly climatology: Climatology;
  },
  log: Pick<Logger, 'error'>,
): () => Promise<void> {
  const watch = createRiskWatch(services);
  return services.catalog.afterEdition({
    react: watch,
    // The next edition, minutes later, finds the same to do.
    failed: (error) => log.error({ err: error }, 'Risk:Match:Failed'),
  });
}

/**
 * Compares the scores of the climatology in force with those told last: of all places when it is new, and of new places always,
 * whose first score is noted and not told. What is noted in the records is all that counts, so that a restart or another process
 * tells nothing twice, and nothing of a climatology that another process knows to be replaced: the next edition finds the new one.
 */
export function createRiskWatch({ climatology, records, queue, now }: RiskWatchParts): () => Promise<void> {
  /** Version of the table that every place was compared with. */
  let done: string | null = null;

  return async () => {
    const table = climatology.table();
    if (table === null) return;
    const onlyNew = table.version === done;
    const businesses = await businessesWithEarlierReceivers(records.reader);
    // Before any place is read: what others tell of an older one is noted by then.
    if (!onlyNew && businesses.length > 0 && !(await records.transaction((rows) => mayTell(rows, table)))) return;
    let told = 0;
    try {
      for (const { id, features } of businesses) {
        if (!features.includes(REAL_TIME)) continue;
        for await (const places of scoredPlaces(records.reader, id, onlyNew)) {
          const scored = places.flatMap((place) => {
            const score = table.cell(cellOf(place))?.annual_score;
            return score === undefined || !isToNote(place, score) ? [] : [{ place, score }];
          });
          if (scored.length > 0) {
            const told_here = await note(id, table, scored);
            if (told_here === null) return;
            told += told_here;
          }
          await yieldToEventLoop();
        }
      }
    } finally {
      if (told > 0) queue.wake(MESSAGE_TASK);
    }
    if (!onlyNew) await records.transaction(sweepRiskScores);
    done = table.version;
  };

  async function mayTell(rows: Transaction<Database>, { data_as_of }: Table): Promise<boolean> {
    return await mayTellScoresOf(rows, records.store, data_as_of, now());
  }

  /** How many were told; null: the climatology was replaced meanwhile. */
  async function note(
    business_id: string,
    table: Table,
    scored: readonly { readonly place: ScoredPlace; readonly score: number }[],
  ): Promise<number | null> {
    const now_ms = now();
    return await records.transaction(async (rows) => {
      // In turn with the writes of the business, which move and delete places.
      if (!(await lockBusiness(rows, business_id))) return 0;
      if (!(await mayTell(rows, table))) return null;
      const earlier = await earlierReceiversOf(rows, [business_id]);
      const webhooks = await activeReceivers(rows, business_id, 'risk.changed');
      let told = 0;
      for (const { place, score } of scored) {
        if (place.told === null) {
          await noteFirstScore(rows, business_id, place, score, now_ms);
          continue;
        }
        if (!(await noteChangedScore(rows, place, score, now_ms))) continue;
        const receivers = [place.id, ...webhooks].filter((receiver) => earlier.has(receiver));
        const data = dataOf(place, place.told, score);
        await enqueueEarlierEvent(
          rows,
          { queue, store: records.store },
          { business_id, receivers, event: 'risk.changed', data, alert_id: null, after: null, at_ms: now_ms },
        );
        told += receivers.length;
      }
      return told;
    });
  }
}

function isToNote({ told }: ScoredPlace, score: number): boolean {
  return told === null || Math.abs(score - told) > TOLD_BEYOND;
}

function dataOf({ kind, id, lat, lon }: ScoredPlace, previous_score: number, risk_score: number): EarlierRiskData {
  const about = { previous_score, risk_score, coordinates: { lat, lng: lon } };
  return kind === 'subscription' ? { subscription_id: id, ...about } : { location_id: id, ...about };
}
