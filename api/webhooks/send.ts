import { setTimeout as sleep } from 'node:timers/promises';
import type { Transaction } from 'kysely';
import pino, { type Logger } from 'pino';
import type { Services } from '../services.ts';
import { isOutage } from '../store/errors.ts';
import { OWNER } from '../store/owner.ts';
import type { Database } from '../store/schema.ts';
import type { Task } from '../store/tasks/queue.ts';
import { attemptDelivery } from './attempt.ts';
import { MESSAGE_TASK, MessageTask } from './events.ts';
import { MAIL_TASK, sendMail } from './mail.ts';
import { deleteMessages, dropMessage, findMessage, type Message, sweepMessages } from './messages.ts';
import { findReceiver, lockReceiver } from './receivers.ts';
import { type EndedAttempt, recordAttempt, releaseWaiting } from './record.ts';

/** What sending needs. */
export type SendingServices = Pick<
  Services,
  'records' | 'queue' | 'formats' | 'webhookClient' | 'secrets' | 'mailer' | 'webhook_time_scale' | 'now'
>;

/** Deliveries at a time in all, and to one receiver. */
const AT_ONCE = 256;
const AT_ONCE_OF_RECEIVER = 4;
/** A receiver that took so long last gets one delivery at a time. */
const SLOW_MS = 5_000;
/** Longer than an attempt and the writing down of how it ended may take. */
const LEASE_MS = 60_000;
/** How long the records are waited for to write down how an attempt ended: the receiver has had the event. */
const RECORDING_MS = 30_000;
const RECORDING_WAIT_MS = 250;
/** What was sent or given up can be recovered for so long. */
const KEPT_MS = 30 * 86_400_000;
const SWEEP_EVERY_MS = 3_600_000;
const MAILS_AT_ONCE = 4;
const SILENT = pino({ level: 'silent' });
const MAIL_LEASE_MS = 120_000;

/** Sends what is due, until the function returned is called, which waits for what is under way. */
export function startSending(services: SendingServices, log: Logger = SILENT): () => Promise<void> {
  const { queue } = services;
  const stops = [
    queue.work(
      MESSAGE_TASK,
      { at_once: AT_ONCE, at_once_of_group: AT_ONCE_OF_RECEIVER, slow_ms: SLOW_MS, lease_ms: LEASE_MS },
      (task) => sendMessage(services, task),
    ),
    queue.work(MAIL_TASK, { at_once: MAILS_AT_ONCE, at_once_of_group: 1, lease_ms: MAIL_LEASE_MS }, (task) =>
      sendMail(task, services.mailer, services),
    ),
  ];
  let sweeping: Promise<void> = Promise.resolve();
  const timer = setInterval(() => {
    sweeping = sweep(services, log);
  }, SWEEP_EVERY_MS).unref();
  return async () => {
    clearInterval(timer);
    await Promise.all([sweeping, ...stops.map((stop) => stop())]);
  };
}

async function sweep({ records }: SendingServices, log: Logger): Promise<void> {
  try {
    const until_ms = await records.deletions.due('events');
    if (until_ms === null) return;
    await records.transaction((rows) => sweepMessages(rows, until_ms - KEPT_MS));
    await records.deletions.done('events');
  } catch (error) {
    // It is swept the next time; deliveries go on.
    log.warn({ err: error }, 'Push:Sweep:Failed');
  }
}

/** Makes the attempt of a task, unless it was made, or nobody is to have the event any more. */
export async function sendMessage(services: SendingServices, { payload }: Pick<Task, 'payload'>): Promise<void> {
  const { push_id, attempt, first_attempt } = MessageTask.parse(payload);
  const { records, secrets, webhookClient, queue } = services;
  const push = await findMessage(records.reader, push_id);
  if (push === null || push.state !== 'pending' || push.attempts !== attempt - 1) return;
  const receiver = await findReceiver(records.reader, secrets, push.receiver_id, Date.now());
  if (receiver === null) {
    // It was deleted while the event was being written.
    await records.transaction((rows) => deleteMessages(rows, push.receiver_id));
    return;
  }
  if (receiver.status !== 'active') {
    await records.transaction((rows) => drop(rows, services, push));
    queue.wake(MESSAGE_TASK);
    return;
  }
  const first = first_attempt ?? { owner: OWNER, at_ms: performance.now() };
  const outcome = await attemptDelivery(webhookClient, receiver, push);
  // The clock of another process has another beginning.
  const since_first_ms = first.owner === OWNER ? performance.now() - first.at_ms : null;
  await record(services, { push_id, attempt, first_attempt: first, since_first_ms, ...outcome });
}

/** Gives up an event that was written while its receiver was being paused, unless that is active again. */
async function drop(
  rows: Transaction<Database>,
  { queue, records: { store } }: SendingServices,
  { id, receiver_id }: Message,
): Promise<void> {
  const receiver = await lockReceiver(rows, store, receiver_id);
  if (receiver === null || receiver.status === 'active') return;
  await dropMessage(rows, id);
  await releaseWaiting(rows, { queue }, id, Date.now());
}

/** Writes down how an attempt ended; while the records cannot be reached, again and again. */
async function record(
  { records, queue, formats, webhook_time_scale, now }: SendingServices,
  ended: EndedAttempt,
): Promise<void> {
  const until_ms = performance.now() + RECORDING_MS;
  const settings = { queue, formats, store: records.store, time_scale: webhook_time_scale };
  for (;;)
    try {
      await records.transaction((rows) => recordAttempt(rows, { ...settings, now_ms: now() }, ended));
      // What waited for this event, or is told of its end, is due at once.
      queue.wake(MESSAGE_TASK);
      queue.wake(MAIL_TASK);
      return;
    } catch (error) {
      if (!isOutage(error) || performance.now() > until_ms) throw error;
      await sleep(RECORDING_WAIT_MS);
    }
}
