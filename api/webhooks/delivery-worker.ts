import type { Transaction } from 'kysely';
import pino, { type Logger } from 'pino';
import { MAIL_TASK, type Mailer, sendMail } from '../accounts/mail.ts';
import type { Records } from '../billing/records.ts';
import type { Meter } from '../http/metrics.ts';
import { OWNER } from '../records/owner.ts';
import { persistently } from '../records/persistently.ts';
import type { Database } from '../records/schema.ts';
import type { Secrets } from '../records/secrets.ts';
import type { Queue, Task } from '../records/tasks.ts';
import type { Attempt } from './attempts.ts';
import type { WebhookClient } from './client.ts';
import { MESSAGE_TASK, MessageTask } from './events.ts';
import { type EventFormats, formatOf } from './formats.ts';
import { deleteMessages, dropMessage, findMessage, type Message, sweepMessages } from './messages.ts';
import { postSigned } from './post-signed.ts';
import { findReceiver, lockReceiver } from './receivers.ts';
import { type EndedAttempt, recordAttempt } from './record-attempt.ts';
import { releaseWaiting } from './requeue.ts';

/** Dependencies of delivery. */
export interface DeliveryParts {
  readonly records: Records;
  readonly queue: Queue;
  readonly formats: EventFormats;
  readonly webhookClient: WebhookClient;
  readonly secrets: Secrets;
  readonly mailer: Mailer;
  /** Factor of the waits between attempts. */
  readonly webhook_time_scale: number;
  readonly meter: Pick<Meter, 'attempted'>;
  /** Data clock, epoch milliseconds. */
  readonly now: () => number;
}

/** Concurrent attempts in all, and of one receiver. */
const AT_ONCE = 256;
const AT_ONCE_OF_RECEIVER = 4;
/** How long events wait that a killed process was sending. */
const LEASE_MS = 20_000;
/** How long an attempt is kept in memory while the database is not reachable: the receiver has the message already. */
const RECORDING_MS = 30_000;
/** How long a task waits before its attempt for a database that is not reachable: without it, it would wait for the end of its lease. */
const READING_MS = 10_000;
/** Finished messages can be recovered for this long. */
const KEPT_MS = 30 * 86_400_000;
const SWEEP_EVERY_MS = 3_600_000;
const MAILS_AT_ONCE = 4;
const SILENT = pino({ level: 'silent' });
const MAIL_LEASE_MS = 120_000;

/** Sends due messages and mails. The returned function stops it and waits for attempts under way. */
export function startDeliveryWorker(parts: DeliveryParts, log: Logger = SILENT): () => Promise<void> {
  const { queue, mailer } = parts;
  const stops = [
    queue.work(MESSAGE_TASK, { at_once: AT_ONCE, at_once_of_group: AT_ONCE_OF_RECEIVER, lease_ms: LEASE_MS }, (task) =>
      deliverMessage(parts, task),
    ),
    queue.work(MAIL_TASK, { at_once: MAILS_AT_ONCE, at_once_of_group: 1, lease_ms: MAIL_LEASE_MS }, (task) =>
      sendMail(task, mailer, parts),
    ),
  ];
  let sweeping: Promise<void> = Promise.resolve();
  const timer = setInterval(() => {
    sweeping = sweep(parts, log);
  }, SWEEP_EVERY_MS).unref();
  return async () => {
    clearInterval(timer);
    await Promise.all([sweeping, ...stops.map((stop) => stop())]);
  };
}

async function sweep({ records }: DeliveryParts, log: Logger): Promise<void> {
  try {
    const until_ms = await records.deletions.due('events');
    if (until_ms === null) return;
    await records.transaction((rows) => sweepMessages(rows, until_ms - KEPT_MS));
    await records.deletions.done('events');
  } catch (error) {
    // The next sweep deletes what this one left; deliveries go on.
    log.warn({ err: error }, 'Push:Sweep:Failed');
  }
}

/** Makes the attempt of a task, unless it was made before or the message is dropped or deleted. */
export async function deliverMessage(parts: DeliveryParts, { payload }: Pick<Task, 'payload'>): Promise<void> {
  const { push_id: message_id, attempt, first_attempt } = MessageTask.parse(payload);
  const { records, secrets, webhookClient, queue } = parts;
  const message = await persistently(READING_MS, () => findMessage(records.reader, message_id));
  if (message === null || message.state !== 'pending' || message.attempts !== attempt - 1) return;
  const { receiver_id } = message;
  const receiver = await persistently(READING_MS, () => findReceiver(records.reader, secrets, receiver_id, Date.now()));
  if (receiver === null) {
    // The receiver was deleted while another transaction wrote this message.
    await records.transaction((rows) => deleteMessages(rows, receiver_id));
    return;
  }
  if (receiver.status !== 'active') {
    await records.transaction((rows) => dropUnlessActive(rows, parts, message));
    queue.wake(MESSAGE_TASK);
    return;
  }
  // Throws before the message is sent: an attempt that cannot be recorded would be repeated without an end.
  formatOf(parts.formats, receiver);
  const first = first_attempt ?? { owner: OWNER, at_ms: performance.now() };
  const result = await postSigned(webhookClient, receiver, message);
  // Monotonic clocks of two processes have different origins.
  const since_first_ms = first.owner === OWNER ? performance.now() - first.at_ms : null;
  await record(parts, { message_id, receiver_id, attempt, first_attempt: first, since_first_ms, ...result });
}

/** Drops a message that was written while its receiver was being paused, unless the receiver is active again. */
async function dropUnlessActive(
  rows: Transaction<Database>,
  { queue, records: { store } }: DeliveryParts,
  { id, receiver_id }: Message,
): Promise<void> {
  const receiver = await lockReceiver(rows, store, receiver_id);
  if (receiver === null || receiver.status === 'active') return;
  await dropMessage(rows, id);
  await releaseWaiting(rows, { queue }, id, Date.now());
}

/** Records an attempt; repeats it for RECORDING_MS while the database is not reachable. */
async function record(parts: DeliveryParts, ended: EndedAttempt): Promise<void> {
  const { records, queue, formats, webhook_time_scale: time_scale, now } = parts;
  const settings = { queue, store: records.store, formats, time_scale };
  const attempt = await persistently(RECORDING_MS, () =>
    records.transaction((rows) => recordAttempt(rows, { ...settings, now_ms: now() }, ended)),
  );
  if (attempt !== null) parts.meter.attempted(outcomeOf(attempt), ended.error_class, attempt.duration_ms);
  // Released messages and mails to the team are due at once.
  queue.wake(MESSAGE_TASK);
  queue.wake(MAIL_TASK);
}

function outcomeOf({ success, next_retry_at }: Attempt): 'delivered' | 'retried' | 'dropped' {
  if (success === 1) return 'delivered';
  return next_retry_at === null ? 'dropped' : 'retried';
}
