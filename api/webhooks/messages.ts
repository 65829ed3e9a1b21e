import type { Kysely, Selectable, Transaction } from 'kysely';
import { z } from 'zod';
import { instant } from '../../schemas/time.ts';
import type { Database } from '../records/schema.ts';
import type { Queue } from '../records/tasks.ts';

/** An event for one receiver. */
export type Message = Selectable<Database['messages']>;

/** States of a message that is still to be delivered. */
const UNFINISHED = ['waiting', 'pending'] as const;

/** A message that is overdue by this much has lost its task: the service was restored from a backup, which has no queue. */
export const OVERDUE_MS = 300_000;

/** Name of the tasks that send messages. */
export const MESSAGE_TASK = 'push';

/** Payload of a task: the next attempt of a message. `attempt`: 1 for the first. */
export const MessageTask = z.object({ push_id: z.string(), attempt: z.int().positive() });

/** The fields of a message that its task is made of. */
type DueMessage = Pick<Message, 'id' | 'business_id' | 'receiver_id' | 'attempts' | 'attempts_before'>;

/**
 * Adds the task of the next attempt: those of one receiver are a group, and those of one business share the slots of a tenant.
 * Retries come after first attempts.
 */
export async function addMessageTask(
  rows: Transaction<Database>,
  queue: Pick<Queue, 'add'>,
  { id, business_id, receiver_id, attempts, attempts_before }: DueMessage,
  due_ms: number,
): Promise<void> {
  const payload = { push_id: id, attempt: attempts + 1 };
  const task = { name: MESSAGE_TASK, tenant: business_id, group: receiver_id, payload, due_ms };
  await queue.add(rows, attempts > attempts_before ? { ...task, retry: true } : task);
}

/** A message by its event id; null when there is none. */
export async function findMessage(rows: Kysely<Database>, id: string): Promise<Message | null> {
  return (await rows.selectFrom('messages').selectAll().where('id', '=', id).executeTakeFirst()) ?? null;
}

/** Inserts a copy of a message under a new id, for one more delivery without a task or retries. */
export async function insertRedelivery(
  rows: Transaction<Database>,
  { business_id, receiver_id, event }: Message,
  copy: Pick<Message, 'id' | 'body' | 'redelivered_from' | 'created_at'>,
): Promise<void> {
  await rows
    .insertInto('messages')
    .values({
      ...{ business_id, receiver_id, event, alert_id: null, attempts: 0, attempts_before: 0 },
      ...enqueued(null, Date.parse(copy.created_at)),
      ...copy,
    })
    .execute();
}

/**
 * Drops the unfinished messages of a receiver. A statement that waits for a lock does not see what its holder adds: it is repeated
 * until it finds nothing more.
 */
export async function dropMessages(rows: Transaction<Database>, receiver_id: string): Promise<void> {
  const unfinished = rows
    .updateTable('messages')
    .set({ state: 'dropped', next_at: null })
    .where('receiver_id', '=', receiver_id)
    .where('state', 'in', UNFINISHED);
  while ((await unfinished.executeTakeFirstOrThrow()).numUpdatedRows > 0n);
}

/** State of a message that is enqueued at an instant: it is due, or waits for another one. */
export function enqueued(after_id: string | null, at_ms: number) {
  const is_due = after_id === null;
  return {
    ...{ after_id, state: is_due ? ('pending' as const) : ('waiting' as const) },
    ...{ next_at: is_due ? instant(at_ms) : null, first_attempt_at: null },
  };
}

/** Enqueues a dropped message again, with a new count of retries. `after_id`: message that it waits for; null: it is due. */
export async function requeue(
  rows: Transaction<Database>,
  queue: Pick<Queue, 'add'>,
  message: Message,
  after_id: string | null,
  at_ms: number,
): Promise<void> {
  const attempts_before = message.attempts;
  const change = { ...enqueued(after_id, at_ms), attempts_before };
  await rows.updateTable('messages').set(change).where('id', '=', message.id).execute();
  if (after_id === null) await addMessageTask(rows, queue, { ...message, attempts_before }, at_ms);
}

/** Makes the messages pending that waited for a message which is now delivered or dropped. */
export async function releaseWaiting(
  rows: Transaction<Database>,
  queue: Pick<Queue, 'add'>,
  after_id: string,
  at_ms: number,
): Promise<void> {
  const released = await rows
    .updateTable('messages')
    .set({ state: 'pending', next_at: instant(at_ms) })
    .where('after_id', '=', after_id)
    .where('state', '=', 'waiting')
    .returning(['id', 'business_id', 'receiver_id', 'attempts', 'attempts_before'])
    .execute();
  for (const message of released) await addMessageTask(rows, queue, message, at_ms);
}

/** Deletes the messages and attempts of a receiver that is being deleted, as `dropMessages` drops them. */
export async function deleteMessages(rows: Transaction<Database>, receiver_id: string): Promise<void> {
  const messages = rows.deleteFrom('messages').where('receiver_id', '=', receiver_id);
  while ((await messages.executeTakeFirstOrThrow()).numDeletedRows > 0n);
  await rows.deleteFrom('attempts').where('receiver_id', '=', receiver_id).execute();
}

/** Deletes finished messages from before an instant without stored attempts, at most `most`; returns how many. */
export async function sweepMessages(rows: Transaction<Database>, before_ms: number, most: number): Promise<number> {
  const over = rows
    .selectFrom('messages')
    .select('id')
    .where('state', 'in', ['delivered', 'dropped'])
    .where('created_at', '<', instant(before_ms))
    .where(({ not, exists, selectFrom }) =>
      not(exists(selectFrom('attempts').select('id').whereRef('attempts.event_id', '=', 'messages.id'))),
    )
    .limit(most);
  const { numDeletedRows } = await rows.deleteFrom('messages').where('id', 'in', over).executeTakeFirstOrThrow();
  return Number(numDeletedRows);
}

/** Number of unfinished messages, and when the longest overdue of them was due, epoch milliseconds (null: none is due). */
export async function messageBacklog(rows: Kysely<Database>, now_ms: number) {
  const { events, next_at } = await rows
    .selectFrom('messages')
    .select(({ fn }) => [fn.countAll<number>().as('events'), fn.min('next_at').as('next_at')])
    .where('state', 'in', UNFINISHED)
    .executeTakeFirstOrThrow();
  const due_ms = next_at === null ? null : Date.parse(next_at);
  return { events, due_since_ms: due_ms !== null && due_ms <= now_ms ? due_ms : null };
}

/** Messages that have lost their task, the longest overdue first. */
export async function overdueMessages(rows: Kysely<Database>, now_ms: number): Promise<readonly Message[]> {
  return await rows
    .selectFrom('messages')
    .selectAll()
    .where('state', '=', 'pending')
    .where('next_at', '<', instant(now_ms - OVERDUE_MS))
    .orderBy('next_at')
    .execute();
}
