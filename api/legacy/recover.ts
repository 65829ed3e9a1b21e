import type { Transaction } from 'kysely';
import { instant } from '../../schemas/time.ts';
import type { AnyEventType, EarlierEventType } from '../../schemas/webhook-events.ts';
import type { Alert } from '../alerts/alerts.ts';
import type { Database } from '../records/schema.ts';
import { enqueueEvent, type Outbox } from '../webhooks/events.ts';
import type { RecoveryTimes } from '../webhooks/formats.ts';
import type { Message } from '../webhooks/messages.ts';
import type { Receiver } from '../webhooks/receivers.ts';
import { requeue } from '../webhooks/requeue.ts';
import { earlierBodyOf, earlierEventsOf, earlierHailData, earlierHappenedMs } from './events.ts';

/** Begin or end of an alert. */
interface Step {
  readonly alert: Alert;
  readonly step: 'begins' | 'ends';
  readonly event: EarlierEventType;
  /** Time of the step; null for the end of a closed alert, which only receivers of its begin get. */
  readonly at: string | null;
}

type Known = Pick<
  Message,
  'id' | 'business_id' | 'receiver_id' | 'alert_id' | 'event' | 'state' | 'attempts' | 'created_at'
>;

/**
 * Sends an active receiver, whose row the transaction holds, the begins and ends of alerts that it has missed since an instant. Its
 * events name no alert: those of one location are sent one after the other, and none that is older than the last one that it got.
 * An alert whose begin it got ends for it too, whenever that began, and whether the alert was resolved or closed.
 */
export async function recoverEarlierAlerts(
  rows: Transaction<Database>,
  outbox: Outbox,
  receiver: Receiver,
  { since_ms, now_ms, at_ms }: RecoveryTimes,
): Promise<{ readonly dropped: number; readonly missed: number }> {
  const { id, kind, business_id } = receiver;
  const since = instant(since_ms);
  const takes = await takenBy(rows, receiver);
  const alerts = await lockAlertsSince(rows, outbox, receiver, since);
  const known = await knownTo(rows, id);
  const count = { dropped: 0, missed: 0 };
  for (const own of Map.groupBy(alerts, ({ location_id }) => location_id).values()) {
    const steps = own.toSorted(byBeginning).flatMap(stepsOf);
    const messageOf = ({ alert, event }: Step) => known.get(keyOf(alert.id, event)) ?? null;
    const last = steps.findLastIndex((each) => (messageOf(each)?.state ?? 'dropped') !== 'dropped');
    let former = steps[last] ?? null;
    let former_id = former === null ? null : unfinishedId(messageOf(former));
    for (const each of steps.slice(last + 1)) {
      const { alert, step, event, at } = each;
      const isItsEnd = step === 'ends' && former?.step === 'begins' && former.alert.id === alert.id;
      const message = messageOf(each);
      if (message !== null) {
        if (!isItsEnd && message.created_at < since) continue;
        await requeue(rows, outbox, message, former_id, at_ms);
        former_id = message.id;
        count.dropped += 1;
      } else {
        const isMissed = kind === 'webhook' && at !== null && at >= since;
        if (!takes(event) || !(isItsEnd || isMissed)) continue;
        const after = former === null ? null : { alert_id: former.alert.id, event: former.event };
        const data = earlierHailData(alert, step);
        const happened_ms = earlierHappenedMs(alert, step);
        const about = { business_id, receivers: [id], alert_id: alert.id, at_ms: now_ms, happened_ms };
        const [made] = await enqueueEvent(rows, outbox, { ...about, event, data, after }, earlierBodyOf);
        former_id = made ?? null;
        count.missed += 1;
      }
      former = each;
    }
  }
  return count;
}

function stepsOf(alert: Alert): Step[] {
  const { begins, ends } = earlierEventsOf(alert);
  const begun: Step = { alert, step: 'begins', event: begins, at: alert.triggered_at };
  return alert.status === 'open' ? [begun] : [begun, { alert, step: 'ends', event: ends, at: alert.resolved_at }];
}

function byBeginning(a: Alert, b: Alert): number {
  return a.triggered_at === b.triggered_at ? (a.id < b.id ? -1 : 1) : a.triggered_at < b.triggered_at ? -1 : 1;
}

function unfinishedId(message: Known | null): string | null {
  return message !== null && (message.state === 'pending' || message.state === 'waiting') ? message.id : null;
}

function keyOf(alert_id: string | null, event: string): string {
  return `${alert_id} ${event}`;
}

/** Event types that a receiver takes: a subscription takes all. */
async function takenBy(
  rows: Transaction<Database>,
  { id, kind }: Receiver,
): Promise<(event: EarlierEventType) => boolean> {
  if (kind === 'subscription') return () => true;
  const { events } = await rows.selectFrom('webhooks').select('events').where('id', '=', id).executeTakeFirstOrThrow();
  const wanted = JSON.parse(events) as AnyEventType[];
  return (event) => wanted.includes(event);
}

/** Locks the alerts of subscriptions that began or ended since an instant, and those of which the receiver has messages. */
async function lockAlertsSince(
  rows: Transaction<Database>,
  { store }: Outbox,
  { id, business_id }: Receiver,
  since: string,
): Promise<readonly Alert[]> {
  const sent = rows.selectFrom('messages').select('alert_id').where('receiver_id', '=', id);
  return await rows
    .selectFrom('alerts')
    .selectAll()
    .where('business_id', '=', business_id)
    .where('location_kind', '=', 'subscription')
    .where(({ or, eb }) => or([eb('triggered_at', '>=', since), eb('resolved_at', '>=', since), eb('id', 'in', sent)]))
    .orderBy('id')
    .modifyEnd(store.forUpdate)
    .execute();
}

/** The last message of each alert and event type for a receiver. */
async function knownTo(rows: Transaction<Database>, receiver_id: string): Promise<ReadonlyMap<string, Known>> {
  const found = await rows
    .selectFrom('messages')
    .select(['id', 'business_id', 'receiver_id', 'alert_id', 'event', 'state', 'attempts', 'created_at'])
    .where('receiver_id', '=', receiver_id)
    .where('alert_id', 'is not', null)
    .where('redelivered_from', 'is', null)
    .orderBy('id')
    .execute();
  return new Map(found.map((each) => [keyOf(each.alert_id, each.event), each]));
}
