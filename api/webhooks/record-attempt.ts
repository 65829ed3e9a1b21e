import type { Transaction } from 'kysely';
import { newId } from '../../schemas/ids.ts';
import { instant } from '../../schemas/time.ts';
import type { Database } from '../records/schema.ts';
import { GIVE_UP_AFTER, isDelivered, WARN_AFTER } from '../rules/webhook-retry.ts';
import { type Attempt, addAttempt } from './attempts.ts';
import type { AttemptResult } from './client.ts';
import { disableReceiver, mailTeamAbout } from './disable-receiver.ts';
import type { Outbox } from './events.ts';
import { FORMATS } from './formats.ts';
import { addMessageTask, findMessage, type Message, releaseWaiting, updateMessage } from './messages.ts';
import { countAttempt, findReceiver, type Receiver } from './receivers.ts';

/** An attempt that ended. */
export interface EndedAttempt extends AttemptResult {
  readonly message_id: string;
  readonly receiver_id: string;
  /** 1 for the first. */
  readonly attempt: number;
}

export interface RecordSettings extends Outbox {
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
  const receiver = await findReceiver(rows, ended.receiver_id, settings.store.forUpdate);
  const message = receiver === null ? null : await findMessage(rows, ended.message_id);
  if (receiver === null || message === null) return null;
  // It may be dropped during the attempt.
  const isOpen = message.state === 'pending' || message.state === 'dropped';
  if (message.attempts !== ended.attempt - 1 || !isOpen) return null;

  const { queue, now_ms, time_scale } = settings;
  const { status_code, error_class, started_ms } = ended;
  const ended_ms = started_ms + ended.duration_ms;
  const success = isDelivered(status_code);
  // A message that was dropped during the attempt is not counted: its receiver was paused, or has started again.
  const counts = message.state === 'pending' && receiver.status === 'active';
  const isFirstFailure = !success && counts && ended.attempt === 1;
  /** Distinct events in a row that failed, this one included. */
  const failures = success ? 0 : receiver.consecutive_failures + (isFirstFailure ? 1 : 0);
  const isGivenUp = isFirstFailure && failures >= GIVE_UP_AFTER;
  const mayRetry = !success && counts && !isGivenUp && message.redelivered_from === null;
  const wait_ms = mayRetry ? retryWaitOf(receiver, message, ended, ended_ms, time_scale) : null;
  const next_at = wait_ms === null ? null : instant(ended_ms + wait_ms);

  await countAttempt(rows, receiver, success, failures);
  const failure = { status_code, error: publicError(error_class), at_ms: ended_ms, now_ms };
  if (isGivenUp) await disableReceiver(rows, settings, receiver, failure);
  if (isFirstFailure && failures === WARN_AFTER) await mailTeamAbout(rows, settings, receiver, failure, failures);
  await updateMessage(rows, message, {
    state: success ? 'delivered' : next_at === null ? 'dropped' : 'pending',
    first_attempt_at: message.first_attempt_at ?? instant(started_ms),
    next_at,
  });
  const attempt = attemptRow(message, ended, success, next_at);
  await addAttempt(rows, attempt);
  if (wait_ms === null) await releaseWaiting(rows, queue, message.id, ended_ms);
  else await addMessageTask(rows, queue, { ...message, attempts: ended.attempt }, ended_ms + wait_ms);
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

/** Milliseconds until the message is sent again; null: it is not. */
function retryWaitOf(
  { format }: Receiver,
  { attempts_before, first_attempt_at }: Message,
  { attempt, status_code, retry_after_ms, started_ms }: EndedAttempt,
  ended_ms: number,
  time_scale: number,
): number | null {
  const first_ms = first_attempt_at === null ? started_ms : Date.parse(first_attempt_at);
  const failed = {
    attempt: attempt - attempts_before,
    status_code,
    retry_after_ms,
    since_first_ms: ended_ms - first_ms,
  };
  return FORMATS[format].retryWait(failed, time_scale);
}

function attemptRow(message: Message, ended: EndedAttempt, success: boolean, next_retry_at: string | null): Attempt {
  const { id: event_id, business_id, receiver_id, event, redelivered_from } = message;
  const { attempt, status_code, error, error_class, answer, duration_ms, started_ms } = ended;
  return {
    ...{ id: attemptId(event_id, attempt, started_ms), business_id, receiver_id, event_id, event },
    ...{ attempt, status_code, success: success ? 1 : 0, error, error_class, answer },
    ...{ redelivered_from, duration_ms, next_retry_at, created_at: instant(started_ms) },
  };
}
