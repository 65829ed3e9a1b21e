import type { Kysely } from 'kysely';
import type { Alert } from '../alerts/alerts.ts';
import type { Database } from '../store/schema.ts';
import { earlierEventsOf } from './events.ts';

/** What a receiver of the earlier variant was told last of a place, as far as it was not given up. */
export interface LastTold {
  readonly alert: Alert;
  readonly step: 'begins' | 'ends';
}

/** The same of some receivers, by their ids. */
export async function lastTold(
  rows: Kysely<Database>,
  location_id: string,
  receivers: readonly string[],
): Promise<ReadonlyMap<string, LastTold>> {
  if (receivers.length === 0) return new Map();
  const found = await rows
    .selectFrom('alerts')
    .innerJoin('messages', 'messages.alert_id', 'alerts.id')
    .selectAll('alerts')
    .select(['messages.receiver_id', 'messages.event'])
    .where('alerts.location_id', '=', location_id)
    .where('messages.receiver_id', 'in', receivers)
    .where('messages.state', '!=', 'dropped')
    .where('messages.redelivered_from', 'is', null)
    .orderBy('alerts.triggered_at')
    .orderBy('alerts.id')
    .execute();
  const told = new Map<string, LastTold>();
  for (const { receiver_id, event, ...alert } of found) {
    const isEnd = event === earlierEventsOf(alert).ends;
    if (isEnd || told.get(receiver_id)?.alert.id !== alert.id)
      told.set(receiver_id, { alert, step: isEnd ? 'ends' : 'begins' });
  }
  return told;
}
