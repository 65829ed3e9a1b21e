import type { Transaction } from 'kysely';
import { newId } from '../../schemas/ids.ts';
import { instant } from '../../schemas/time.ts';
import type { Database } from '../records/schema.ts';
import { type FailedAttempt, GIVE_UP_AFTER, isDelivered, WARN_AFTER } from '../rules/webhook-retry.ts';
import { type Attempt, addAttempt } from './attempts.ts';
import { disableReceiver, mailTeamAbout } from './disable-receiver.ts';
import { addMessageTask, type MessageTask, type Outbox } from './events.ts';
import { type EventFormats, formatOf } from './formats.ts';
import { findMessage, type Message, updateMessage } from './messages.ts';
import type { AttemptResult } from './post-signed.ts';
import { countAttempt, lockReceiver, type Receiver } from './receivers.ts';
import { releaseWaiting } from './requeue.ts';

/** An attempt that ended. */
export interface EndedAttempt extends AttemptResult {
  readonly message_id: string;
  readonly receiver_id: string;
  /** 1 for the first. */
  readonly attempt: number;
  /** Start of the first attempt, for the task of the next one; null: the message is not retried. */
  readonly first_attempt: MessageTask['first_attempt'] | null;
  /** Monotonic milliseconds from that start to the end of this attempt; null: another process made the first attempt. */
  readonly since_first_ms: number | null;
}

export interface RecordSettings extends Outbox {
  readonly formats: EventFormats;
  /** Factor of the waits between attempts. */
  readonly time_scale: number;
  /** Data clock, epoch milliseconds. */
  readonly now_ms: number;
}

/**
 * Records an attempt and its consequences in the caller's transaction: the attempt, the counters of the receiver, the next
 * attempt or the release of waiting messages, and the end of a receiver that failed too often. Returns the attempt; null when it
 * was recorded before, or its message or receiver is deleted.
 */
export async function recordAttempt(
  rows: Transaction<Database>,
  settings: RecordSettings,
  ended: EndedAttempt,
): Promise<Attempt | null> {
  // Messages change only under the lock of their receiver: the message does not change after this read.
  const receiver = await lockReceiver(rows, settings.store, ended.receiver_id);
  const message = receiver === null ? null : await findMessage(rows, ended.message_id);
  if (receiver === null || message === null) return null;
  if (message.attempts !== ended.attempt - 1 || !IN_FLIGHT.includes(message.state)) return null;

  const { retryWait } = formatOf(settings.formats, receiver);
  const consequence = consequenceOf(receiver, message, ended, (failed) => retryWait(failed, settings.time_scale));
  const { success, failures, is_given_up, is_warning, next_at_ms } = consequence;
  const failure = {
    status_code: ended.status_code,
    error: publicError(ended.error_class),
    at_ms: ended.ended_ms,
    now_ms: settings.now_ms,
  };
  await countAttempt(rows, receiver, success, failures);
  if (is_given_up) await disableReceiver(rows, settings, receiver, failure);
  if (is_warning) await mailTeamAbout(rows, settings, receiver, failure, failures);
  await updateMessage(rows, message, {
    state: success ? 'delivered' : next_at_ms === null ? 'dropped' : 'pending',
    first_attempt_at: message.first_attempt_at ?? instant(ended.started_ms),
    next_at: next_at_ms === null ? null : instant(next_at_ms),
  });
  const attempt = attemptRow(message, ended, success, next_at_ms);
  await addAttempt(rows, attempt);
  if (next_at_ms === null) await releaseWaiting(rows, settings, message.id, ended.ended_ms);
  else {
    const retry = { push_id: message.id, attempt: ended.attempt + 1, first_attempt: ended.first_attempt ?? undefined };
    await addMessageTask(rows, settings.queue, message, retry, next_at_ms);
  }
  return attempt;
}

/** Class of a failure as clients read it: a blocked address would show them which private addresses exist. */
export function publicError(error_class: string | null): string | null {
  return error_class === 'blocked' ? 'connect' : error_class;
}

/** Id of an attempt: the first has the same characters after its prefix as its event. */
export function attemptId(event_id: string, attempt: number, at_ms: number): string {
  return attempt === 1 ? event_id.replace(/^evt_/, 'whd_') : newId('delivery', at_ms);
}

/** States that a message may have at the end of an attempt: it may be dropped during the attempt. */
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
  message: Message,
  ended: EndedAttempt,
  wait: (failed: FailedAttempt) => number | null,
): Consequence {
  const success = isDelivered(ended.status_code);
  // A message that was dropped during the attempt is not counted: its receiver was paused, or has started again.
  const counts = message.state === 'pending' && receiver.status === 'active';
  const isFirstFailure = !success && counts && ended.attempt === 1;
  const failures = success ? 0 : receiver.consecutive_failures + (isFirstFailure ? 1 : 0);
  const is_given_up = isFirstFailure && failures >= GIVE_UP_AFTER;
  const wait_ms =
    success || !counts || is_given_up || message.redelivered_from !== null
      ? null
      : wait({
          attempt: ended.attempt - message.attempts_before,
          status_code: ended.status_code,
          retry_after_ms: ended.retry_after_ms,
          since_first_ms: ended.since_first_ms,
        });
  return {
    success,
    failures,
    is_given_up,
    is_warning: isFirstFailure && failures === WARN_AFTER,
    next_at_ms: wait_ms === null ? null : ended.ended_ms + wait_ms,
  };
}

function attemptRow(message: Message, ended: EndedAttempt, success: boolean, next_at_ms: number | null): Attempt {
  return {
    id: attemptId(message.id, ended.attempt, ended.started_ms),
    business_id: message.business_id,
    receiver_id: message.receiver_id,
    event_id: message.id,
    event: message.event,
    attempt: ended.attempt,
    status_code: ended.status_code,
    success: success ? 1 : 0,
    error: ended.error,
    error_class: ended.error_class,
    answer: ended.answer,
    redelivered_from: message.redelivered_from,
    duration_ms: Math.max(0, Math.round(ended.ended_ms - ended.started_ms)),
    next_retry_at: next_at_ms === null ? null : instant(next_at_ms),
    created_at: instant(ended.started_ms),
  };
}
