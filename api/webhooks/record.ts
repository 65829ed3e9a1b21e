import type { Transaction } from 'kysely';
import { newId } from '../../schemas/ids.ts';
import { type FailedAttempt, GIVE_UP_AFTER, isDelivered, WARN_AFTER } from '../rules/webhook-retry.ts';
import { instant } from '../store/instant.ts';
import type { Database } from '../store/schema.ts';
import { type Attempt, addAttempt } from './attempts.ts';
import { disableReceiver, mayMailAgain, warnTeam } from './disable.ts';
import { addMessageTask, type MessageTask, type Outbox } from './events.ts';
import { type EventFormats, formatOf } from './formats.ts';
import { findMessage, type Message, releaseAfter } from './messages.ts';
import { lockReceiver, type Receiver } from './receivers.ts';

/** An attempt that ended. */
export interface EndedAttempt {
  readonly push_id: string;
  /** 1 for the first. */
  readonly attempt: number;
  /** Epoch milliseconds of the machine's clock. */
  readonly started_ms: number;
  readonly ended_ms: number;
  readonly status_code: number | null;
  /** Class of the failure; null: it was answered with 2xx. */
  readonly error_class: string | null;
  /** What went wrong, for operators. */
  readonly error: string | null;
  /** The first bytes of the answer. */
  readonly answer: string;
  readonly retry_after_ms: number | null;
  /** When the first attempt of the event began, for its next task; null: it is not sent again. */
  readonly first_attempt: MessageTask['first_attempt'] | null;
  /** Monotonic milliseconds from then to the end of this attempt; null: another process made the first attempt. */
  readonly since_first_ms: number | null;
}

export interface RecordSettings extends Outbox {
  readonly formats: EventFormats;
  readonly time_scale: number;
  /** Data clock, epoch milliseconds. */
  readonly now_ms: number;
}

/**
 * Writes down an attempt, and what follows from it: the delivery, the counters, the next attempt or what waited for this event,
 * the end of a receiver that failed too often; all in the caller's transaction. Returns the delivery; null when the attempt was
 * recorded before, or the event is gone.
 */
export async function recordAttempt(
  rows: Transaction<Database>,
  settings: RecordSettings,
  ended: EndedAttempt,
): Promise<Attempt | null> {
  const named = await findMessage(rows, ended.push_id);
  if (named === null) return null;
  // Every change of its events is made by who holds the receiver: what is read from here on holds.
  const receiver = await lockReceiver(rows, settings.store, named.receiver_id);
  const push = receiver === null ? null : await findMessage(rows, ended.push_id);
  if (receiver === null || push === null || push.attempts !== ended.attempt - 1 || !IN_FLIGHT.includes(push.state))
    return null;

  const format = formatOf(settings.formats, receiver);
  const consequence = consequenceOf(receiver, push, ended, (failed) => format.retryWait(failed, settings.time_scale));
  const { success, failures, is_given_up, is_warning, next_at_ms } = consequence;
  const failure = {
    status_code: ended.status_code,
    error: publicError(ended.error_class),
    at_ms: ended.ended_ms,
    now_ms: settings.now_ms,
  };
  await count(rows, receiver, success, failures);
  if (is_given_up) await disableReceiver(rows, settings, receiver, failure);
  if (is_warning) await warnTeam(rows, settings, receiver, failure, failures);
  await rows
    .updateTable('messages')
    .set({
      state: success ? 'delivered' : next_at_ms === null ? 'dropped' : 'pending',
      attempts: ended.attempt,
      first_attempt_at: push.first_attempt_at ?? instant(ended.started_ms),
      next_at: next_at_ms === null ? null : instant(next_at_ms),
    })
    .where('id', '=', push.id)
    .where('attempts', '=', ended.attempt - 1)
    .execute();
  const delivery = deliveryOf(push, ended, success, next_at_ms);
  await addAttempt(rows, delivery);
  if (next_at_ms === null) await releaseWaiting(rows, settings, push.id, ended.ended_ms);
  else {
    const retry = { push_id: push.id, attempt: ended.attempt + 1, first_attempt: ended.first_attempt ?? undefined };
    await addMessageTask(rows, settings.queue, push, retry, next_at_ms);
  }
  return delivery;
}

/** Class of a failure as clients read it: that an address was refused tells nothing about who lives there. */
export function publicError(error_class: string | null): string | null {
  return error_class === 'blocked' ? 'connect' : error_class;
}

/** Id of the record of an attempt: the first shares the tail of its event. */
export function deliveryId(event_id: string, attempt: number, at_ms: number): string {
  return attempt === 1 ? event_id.replace(/^evt_/, 'whd_') : newId('delivery', at_ms);
}

/** An event that was dropped while it was being sent was sent nevertheless. */
const IN_FLIGHT: readonly Message['state'][] = ['pending', 'dropped'];

interface Consequence {
  readonly success: boolean;
  /** Distinct events in a row that failed, this one included. */
  readonly failures: number;
  readonly is_given_up: boolean;
  readonly is_warning: boolean;
  /** When the next attempt is due; null: there is none. */
  readonly next_at_ms: number | null;
}

function consequenceOf(
  receiver: Receiver,
  push: Message,
  ended: EndedAttempt,
  waitOf: (failed: FailedAttempt) => number | null,
): Consequence {
  const success = isDelivered(ended.status_code);
  // What was dropped meanwhile is no failure of a receiver that was paused, or has begun anew.
  const counts = push.state === 'pending' && receiver.status === 'active';
  const isFirstFailure = !success && counts && ended.attempt === 1;
  const failures = success ? 0 : receiver.consecutive_failures + (isFirstFailure ? 1 : 0);
  const is_given_up = isFirstFailure && failures >= GIVE_UP_AFTER;
  const wait_ms =
    success || !counts || is_given_up || push.redelivered_from !== null
      ? null
      : waitOf({
          attempt: ended.attempt - push.attempts_before,
          status_code: ended.status_code,
          retry_after_ms: ended.retry_after_ms,
          since_first_ms: ended.since_first_ms,
        });
  return {
    success,
    failures,
    is_given_up,
    is_warning: isFirstFailure && failures === WARN_AFTER && mayMailAgain(receiver.warned_at, ended.ended_ms),
    next_at_ms: wait_ms === null ? null : ended.ended_ms + wait_ms,
  };
}

async function count(
  rows: Transaction<Database>,
  { kind, id }: Receiver,
  success: boolean,
  consecutive_failures: number,
): Promise<void> {
  if (kind === 'subscription') {
    await rows.updateTable('subscriptions').set({ consecutive_failures }).where('id', '=', id).execute();
    return;
  }
  const counter = success ? 'success_count' : 'failure_count';
  await rows
    .updateTable('webhooks')
    .set((eb) => ({ consecutive_failures, [counter]: eb(counter, '+', 1) }))
    .where('id', '=', id)
    .execute();
}

function deliveryOf(push: Message, ended: EndedAttempt, success: boolean, next_at_ms: number | null): Attempt {
  return {
    id: deliveryId(push.id, ended.attempt, ended.started_ms),
    business_id: push.business_id,
    receiver_id: push.receiver_id,
    event_id: push.id,
    event: push.event,
    attempt: ended.attempt,
    status_code: ended.status_code,
    success: success ? 1 : 0,
    error: ended.error,
    error_class: ended.error_class,
    answer: ended.answer,
    redelivered_from: push.redelivered_from,
    duration_ms: Math.max(0, Math.round(ended.ended_ms - ended.started_ms)),
    next_retry_at: next_at_ms === null ? null : instant(next_at_ms),
    created_at: instant(ended.started_ms),
  };
}

/** Sends what waited for an event that is now acknowledged or dropped. */
export async function releaseWaiting(
  rows: Transaction<Database>,
  { queue }: Pick<Outbox, 'queue'>,
  push_id: string,
  at_ms: number,
): Promise<void> {
  for (const released of await releaseAfter(rows, push_id, at_ms))
    await addMessageTask(rows, queue, released, { push_id: released.id, attempt: released.attempts + 1 }, at_ms);
}
