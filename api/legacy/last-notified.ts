import type { Kysely } from 'kysely';
import type { Alert } from '../alerts/alerts.ts';
import type { Database } from '../store/schema.ts';
import { earlierEventsOf } from './events.ts';

/** The last step of an alert that a receiver was sent. */
export interface LastNotified {
  readonly alert: Alert;
  readonly step: 'begins' | 'ends';
}

/** The newest step at a location that each of some receivers was sent, dropped events left out; by receiver. */
export async function lastNotified(
  rows: Kysely<Database>,
  location_id: string,
  receivers: readonly string[],
): Promise<ReadonlyMap<string, LastNotified>> {
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
  const last = new Map<string, LastNotified>();
  for (const { receiver_id, event, ...alert } of found) {
    const isEnd = event === earlierEventsOf(alert).ends;
    if (isEnd || last.get(receiver_id)?.alert.id !== alert.id)
      last.set(receiver_id, { alert, step: isEnd ? 'ends' : 'begins' });
  }
  return last;
}
