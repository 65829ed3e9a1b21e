import pino, { type Logger } from 'pino';
import { MAIL_TASK, sendMail } from '../accounts/mail.ts';
import { persistently } from '../records/errors.ts';
import type { Task } from '../records/tasks.ts';
import type { Services } from '../services.ts';
import { recordAttempt } from './attempts.ts';
import { postSigned } from './client.ts';
import { deleteMessages, dropMessages, findMessage, MESSAGE_TASK, MessageTask, sweepMessages } from './messages.ts';
import { findReceiver } from './receivers.ts';
import { secretsInForce } from './signing-secrets.ts';

/** Parts of the service that delivery needs. */
type DeliveryParts = Pick<
  Services,
  'records' | 'queue' | 'webhookClient' | 'cipher' | 'mailer' | 'webhook_time_scale' | 'meter' | 'now'
>;

/** Concurrent attempts in all, and of one receiver; and how long events wait that a killed process was sending. */
const MESSAGES = { at_once: 256, at_once_of_group: 4, lease_ms: 20_000 };
const MAILS = { at_once: 4, at_once_of_group: 1, lease_ms: 120_000 };
/** How long an attempt is kept in memory while the database is not reachable: the receiver has the message already. */
const RECORDING_MS = 30_000;
/** How long a task waits before its attempt for a database that is not reachable: without it, it would wait for the end of its lease. */
const READING_MS = 10_000;
/** Finished messages can be recovered for this long. */
const KEPT_MS = 30 * 86_400_000;
const SWEEP_EVERY_MS = 3_600_000;
const SWEPT_AT_ONCE = 1000;
const SILENT = pino({ level: 'silent' });

/** Sends due messages and mails. The returned function stops it and waits for attempts under way. */
export function startDeliveryWorker(parts: DeliveryParts, log: Logger = SILENT): () => Promise<void> {
  const { queue, mailer } = parts;
  const stops = [
    queue.work(MESSAGE_TASK, MESSAGES, (task) => deliverMessage(parts, task)),
    queue.work(MAIL_TASK, MAILS, (task) => sendMail(task, mailer, parts)),
  ];
  let sweeping: Promise<void> = Promise.resolve();
  const timer = setInterval(() => {
    // The next sweep goes on where one failed; deliveries go on too.
    sweeping = sweep(parts).catch((error) => log.warn({ err: error }, 'Push:Sweep:Failed'));
  }, SWEEP_EVERY_MS).unref();
  return async () => {
    clearInterval(timer);
    await Promise.all([sweeping, ...stops.map((stop) => stop())]);
  };
}

async function sweep({ records: { deletions, transaction } }: DeliveryParts): Promise<void> {
  const until_ms = await deletions.due('events');
  if (until_ms === null) return;
  // In small parts: a long statement would hold up others, and meet its limit on PostgreSQL.
  while ((await transaction((rows) => sweepMessages(rows, until_ms - KEPT_MS, SWEPT_AT_ONCE))) === SWEPT_AT_ONCE);
  await deletions.done('events');
}

/** Makes the attempt of a task, unless it was made before or the message is dropped or deleted. */
export async function deliverMessage(parts: DeliveryParts, task: Pick<Task, 'payload'>): Promise<void> {
  const { push_id: message_id, attempt } = MessageTask.parse(task.payload);
  const { records, cipher, webhookClient, queue } = parts;
  const message = await persistently(READING_MS, () => findMessage(records.reader, message_id));
  if (message === null || message.state !== 'pending' || message.attempts !== attempt - 1) return;
  const { receiver_id } = message;
  const receiver = await persistently(READING_MS, () => findReceiver(records.reader, receiver_id));
  if (receiver?.status !== 'active') {
    const now = await records.transaction(async (rows) => {
      // The message was written while its receiver was being paused or deleted; the receiver may be active again.
      const locked = await findReceiver(rows, receiver_id, records.store.forUpdate);
      if (locked === null) await deleteMessages(rows, receiver_id);
      else if (locked.status !== 'active') await dropMessages(rows, receiver_id);
      return locked;
    });
    if (now?.status === 'active') await deliverMessage(parts, task);
    return;
  }
  const { url } = receiver;
  const signing = { url, secrets: secretsInForce(receiver, cipher, Date.now()) };
  const ended = { message_id, receiver_id, attempt, ...(await postSigned(webhookClient, signing, message)) };
  const { store } = records;
  const recorded = await persistently(RECORDING_MS, () => {
    const settings = { queue, store, time_scale: parts.webhook_time_scale, now_ms: parts.now() };
    return records.transaction((rows) => recordAttempt(rows, settings, ended));
  });
  if (recorded !== null) {
    const failed = recorded.next_retry_at === null ? 'dropped' : 'retried';
    parts.meter.attempted(recorded.success === 1 ? 'delivered' : failed, ended.error_class, recorded.duration_ms);
  }
  // Released messages and mails to the team are due at once.
  queue.wake(MESSAGE_TASK);
  queue.wake(MAIL_TASK);
}
