import type { Kysely, Selectable, Transaction } from 'kysely';
import { newId } from '../../schemas/ids.ts';
import { instant, timestamp } from '../../schemas/time.ts';
import type { WebhookDisabledData } from '../../schemas/webhook-events.ts';
import { mailTeam } from '../accounts/mail.ts';
import type { OwnList } from '../records/own-rows.ts';
import type { Database } from '../records/schema.ts';
import { GIVE_UP_AFTER, isDelivered, WARN_AFTER } from '../rules/webhook-retry.ts';
import type { AttemptResult } from './client.ts';
import { enqueueEvent, type Outbox, takersAmong, webhooksOf } from './events.ts';
import { FORMATS } from './formats.ts';
import { addMessageTask, findMessage, releaseWaiting } from './messages.ts';
import { findReceiver, type Receiver, setReceiverStatus } from './receivers.ts';

/** One POST of a message. */
export type Attempt = Selectable<Database['attempts']>;

/** Stored attempts of a receiver. */
export const ATTEMPTS_KEPT = 100;

/** Attempts of a receiver, newest first. */
export function attemptsOf(receiver_id: string): OwnList<'attempts'> {
  return { list: `webhooks.deliveries.${receiver_id}`, table: 'attempts', sorted_by: 'created_at', order: 'desc' };
}

/** A stored attempt of a receiver by its own id, or the last one by the id of its event; null when there is none. */
export async function findAttempt(rows: Kysely<Database>, receiver_id: string, id: string): Promise<Attempt | null> {
  const named = newestFirst(rows, receiver_id).where(({ or }) => or({ id, event_id: id }));
  return (await named.selectAll().limit(1).executeTakeFirst()) ?? null;
}

function newestFirst(rows: Kysely<Database>, receiver_id: string) {
  const own = rows.selectFrom('attempts').where('receiver_id', '=', receiver_id);
  return own.orderBy('created_at', 'desc').orderBy('id', 'desc');
}

/** Class of a failure as clients read it: a blocked address would show them which private addresses exist. */
export function publicError(error_class: string | null): string | null {
  return error_class === 'blocked' ? 'connect' : error_class;
}

/** Id of an attempt: the first has the same characters after its prefix as its event. */
export function attemptId(event_id: string, attempt: number, at_ms: number): string {
  return attempt === 1 ? event_id.replace(/^evt_/, 'whd_') : newId('delivery', at_ms);
}

/** An attempt that ended. `attempt`: 1 for the first. */
type EndedAttempt = AttemptResult &
  Readonly<Record<'message_id' | 'receiver_id', string>> & { readonly attempt: number };

/**
 * Records an attempt and its consequences in the caller's transaction: the attempt, the counters of the receiver, the next
 * attempt or the release of waiting messages, and the end of a receiver that failed too often. Returns the attempt; null when it
 * was recorded before, or its message or receiver is deleted. `time_scale`: factor of the waits between attempts; `now_ms`: data
 * clock.
 */
export async function recordAttempt(
  rows: Transaction<Database>,
  settings: Outbox & Readonly<Record<'time_scale' | 'now_ms', number>>,
  ended: EndedAttempt,
): Promise<Attempt | null> {
  const { queue, store, time_scale } = settings;
  const { message_id, attempt, status_code, error, error_class, answer, started_ms, duration_ms } = ended;
  // Messages change only under the lock of their receiver: the message does not change after this read.
  const receiver = await findReceiver(rows, ended.receiver_id, store.forUpdate);
  const message = receiver === null ? null : await findMessage(rows, message_id);
  if (receiver === null || message === null) return null;
  const { state, attempts_before, redelivered_from, business_id, event } = message;
  // A pause during the attempt drops the message.
  if (message.attempts !== attempt - 1 || !(state === 'pending' || state === 'dropped')) return null;

  const ended_ms = started_ms + duration_ms;
  const success = isDelivered(status_code);
  // A message that was dropped during the attempt is not counted: its receiver was paused, or has started again.
  const has_failed = !success && state === 'pending' && receiver.status === 'active';
  /** Number of the attempt since the message was last enqueued, 1 for the first. */
  const nth = attempt - attempts_before;
  // An event that is recovered has counted before.
  const is_first = has_failed && attempt === 1;
  /** Distinct events in a row that failed, this one included. */
  const failures = success ? 0 : receiver.consecutive_failures + (is_first ? 1 : 0);
  const counter = success ? 'success_count' : 'failure_count';
  await rows
    .updateTable(receiver.kind === 'webhook' ? 'webhooks' : 'subscriptions')
    .set({ consecutive_failures: failures })
    .$if(receiver.kind === 'webhook', (update) => update.set((eb) => ({ [counter]: eb(counter, '+', 1) })))
    .where('id', '=', receiver.id)
    .execute();
  const failure = { failures, status_code, error: publicError(error_class), at_ms: ended_ms };
  const is_disabled = is_first && (await reportFailure(rows, settings, receiver, failure));

  const first_attempt_at = message.first_attempt_at ?? instant(started_ms);
  const since_first_ms = ended_ms - Date.parse(first_attempt_at);
  const failed = { attempt: nth, status_code, retry_after_ms: ended.retry_after_ms, since_first_ms };
  const may_retry = has_failed && !is_disabled && redelivered_from === null;
  const wait_ms = may_retry ? FORMATS[receiver.format].retryWait(failed, time_scale) : null;
  const next_at = wait_ms === null ? null : instant(ended_ms + wait_ms);
  await rows
    .updateTable('messages')
    .set({
      ...{ state: success ? 'delivered' : next_at === null ? 'dropped' : 'pending' },
      ...{ attempts: attempt, first_attempt_at, next_at },
    })
    .where('id', '=', message_id)
    .execute();
  const row: Attempt = {
    ...{ id: attemptId(message_id, attempt, started_ms), business_id, receiver_id: receiver.id, event_id: message_id },
    ...{ event, attempt, status_code, success: success ? 1 : 0, error, error_class, answer, redelivered_from },
    ...{ duration_ms, next_retry_at: next_at, created_at: instant(started_ms) },
  };
  await rows.insertInto('attempts').values(row).execute();
  const surplus = newestFirst(rows, receiver.id).select('id').limit(ATTEMPTS_KEPT).offset(ATTEMPTS_KEPT);
  await rows.deleteFrom('attempts').where('id', 'in', surplus).execute();
  if (wait_ms === null) await releaseWaiting(rows, queue, message_id, ended_ms);
  else await addMessageTask(rows, queue, { ...message, attempts: attempt }, ended_ms + wait_ms);
  return row;
}

/** Shortest time between two mails of one kind about one receiver: enabling a broken receiver in a loop sends no flood of mail. */
const MAILS_EVERY_MS = 3_600_000;

/**
 * Mails the team at WARN_AFTER failures in a row of a receiver whose row the transaction holds. At GIVE_UP_AFTER disables it, and
 * mails again: a webhook becomes disabled, and the other webhooks of its business get an event, which only the current format has;
 * a subscription becomes paused. `failure`: the last one, its class as clients read it. Returns whether it is disabled now.
 */
async function reportFailure(
  rows: Transaction<Database>,
  { now_ms, ...outbox }: Outbox & { readonly now_ms: number },
  receiver: Receiver,
  failure: Pick<Attempt, 'status_code' | 'error'> & Readonly<Record<'failures' | 'at_ms', number>>,
): Promise<boolean> {
  const { failures, status_code, error, at_ms } = failure;
  const is_disabled = failures >= GIVE_UP_AFTER;
  if (!is_disabled && failures !== WARN_AFTER) return false;
  const { kind, id, business_id } = receiver;
  const url = withoutQuery(receiver.url);
  if (is_disabled) await setReceiverStatus(rows, receiver, kind === 'webhook' ? 'disabled' : 'paused', now_ms);
  if (is_disabled && kind === 'webhook') {
    const data: WebhookDisabledData = {
      ...{ webhook_id: id, url, reason: 'consecutive_failures', consecutive_failures: failures },
      ...{ disabled_at: timestamp(at_ms), last_status_code: status_code, last_error: error },
    };
    const event = 'webhook.disabled';
    const receivers = takersAmong(await webhooksOf(rows, business_id), 'current', event).filter((each) => each !== id);
    const about = { business_id, alert_id: null, after: null, at_ms: now_ms };
    await enqueueEvent(rows, outbox, { ...about, event, data, receivers });
  }
  const mailed = is_disabled ? 'give_up_mailed_at' : 'warned_at';
  if (at_ms - Date.parse(receiver[mailed] ?? '') < MAILS_EVERY_MS) return is_disabled;
  const at = instant(at_ms);
  const own = rows.updateTable(kind === 'webhook' ? 'webhooks' : 'subscriptions').where('id', '=', id);
  await own.set({ [mailed]: at }).execute();
  const facts = [
    `${kind}: ${id}`,
    `address: ${url}`,
    `last answer: ${status_code ?? 'none'}`,
    `last error: ${error ?? 'none'}`,
    `time: ${at}`,
  ];
  const failed = `${failures} events in a row could not be delivered.`;
  const [subject, ...text] = is_disabled
    ? [
        `hail: ${kind} ${id} was ${kind === 'webhook' ? 'disabled' : 'paused'}`,
        ...[failed, '', ...facts, '', 'Nothing is sent to it until its status is set to active again.'],
      ]
    : [
        `hail: deliveries to ${kind} ${id} fail`,
        ...[`${failed} After ${GIVE_UP_AFTER} nothing more is sent to it.`, '', ...facts],
      ];
  await mailTeam(rows, outbox.queue, business_id, { subject, text: text.join('\n') });
  return is_disabled;
}

/** An address without its query, which may contain a password of its owner. */
export function withoutQuery(url: string): string {
  const { origin, pathname } = new URL(url);
  return `${origin}${pathname}`;
}
