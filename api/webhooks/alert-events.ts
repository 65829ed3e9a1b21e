import type { Kysely, Transaction } from 'kysely';
import type { AnyEventType } from '../../schemas/webhook-events.ts';
import type { Database } from '../records/schema.ts';
import { type EventTaker, enqueueEvent, type NewEvent, type Outbox, takersAmong } from './events.ts';
import type { Alert, AlertStep, EventFormat } from './formats.ts';

/**
 * Writes the event of an alert's begin or end in a format, for its subscription (`own`), where it has the format, and the webhooks of
 * the business. `now_ms`: data clock.
 */
export async function enqueueAlertEvent(
  rows: Transaction<Database>,
  outbox: Outbox,
  format: EventFormat,
  alert: Alert,
  step: AlertStep,
  { own, webhooks }: { readonly own: readonly string[]; readonly webhooks: readonly EventTaker[] },
  now_ms: number,
): Promise<void> {
  const type = format.alertEvent(alert, step)?.event;
  if (type === undefined) return;
  const takersOf = (event: AnyEventType) => [...own, ...takersAmong(webhooks, format.name, event)];
  const send = async (of: Alert, what: AlertStep, after: NewEvent['after'], receivers: readonly string[]) => {
    const found = format.alertEvent(of, what);
    if (found === null) return;
    const { happened_ms, ...event } = found;
    const about = { business_id: of.business_id, alert_id: of.id, at_ms: now_ms, receivers, after };
    await enqueueEvent(rows, outbox, { ...about, ...event, once: { subject: of.id, at_ms: happened_ms } }, format);
  };
  const end = (of: Alert, receivers: readonly string[]) => send(of, 'ends', eventOf(format, of, 'begins'), receivers);
  const receivers = takersOf(type);
  if (step === 'ends') return await end(alert, receivers);
  if (format.ordered_by === 'id') return await send(alert, 'begins', null, receivers);
  // The events name no alert: the last one that a receiver was sent at this location ends first.
  const former = await lastSent(rows, format, alert.location_id, receivers);
  for (const receiver of receivers) {
    const last = former.get(receiver);
    const after = last === undefined ? null : eventOf(format, last.alert, 'ends');
    if (last?.step === 'begins' && after !== null && takersOf(after.event).includes(receiver))
      await end(last.alert, [receiver]);
    await send(alert, 'begins', after, [receiver]);
  }
}

/** An event of an alert that another event may wait for. */
function eventOf(format: EventFormat, alert: Alert, step: AlertStep): NewEvent['after'] {
  const happened = format.alertEvent(alert, step);
  return happened === null ? null : { alert_id: alert.id, event: happened.event };
}

/** The newest step at a location that each of some receivers was sent, dropped events left out; by receiver. */
async function lastSent(
  rows: Kysely<Database>,
  format: EventFormat,
  location_id: string,
  receivers: readonly string[],
): Promise<ReadonlyMap<string, { readonly alert: Alert; readonly step: AlertStep }>> {
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
  const last = new Map<string, { readonly alert: Alert; readonly step: AlertStep }>();
  for (const { receiver_id, event, ...alert } of found) {
    const step = event === format.alertEvent(alert, 'ends')?.event ? 'ends' : 'begins';
    if (step === 'ends' || last.get(receiver_id)?.alert.id !== alert.id) last.set(receiver_id, { alert, step });
  }
  return last;
}
