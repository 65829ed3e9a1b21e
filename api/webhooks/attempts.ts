import type { Kysely, Selectable, Transaction } from 'kysely';
import { instant } from '../../schemas/time.ts';
import { type CursorNote, cursorNote, cursorPlace, type Walk } from '../records/cursors.ts';
import type { Database } from '../records/schema.ts';

/** One POST of a message. */
export type Attempt = Selectable<Database['attempts']>;
type Place = Pick<Attempt, 'created_at' | 'id'>;

/** Stored attempts of a receiver. */
export const ATTEMPTS_KEPT = 100;

/**
 * Inserts an attempt and deletes surplus attempts of its receiver: first those from the future, which were stored before the
 * clock was put back, then the oldest. `machine_ms`: the machine's clock.
 */
export async function addAttempt(
  rows: Transaction<Database>,
  attempt: Attempt,
  machine_ms = Date.now(),
): Promise<void> {
  await rows.insertInto('attempts').values(attempt).execute();
  await rows
    .deleteFrom('attempts')
    .where('id', 'in', (eb) =>
      eb
        .selectFrom('attempts')
        .select('id')
        .where('receiver_id', '=', attempt.receiver_id)
        .orderBy((of) => of.case().when('created_at', '>', instant(machine_ms)).then(of.lit(1)).else(of.lit(0)).end())
        .orderBy('created_at', 'desc')
        .orderBy('id', 'desc')
        .limit(ATTEMPTS_KEPT)
        .offset(ATTEMPTS_KEPT),
    )
    .execute();
}

/** Attempts of a receiver after a place, newest first. */
export async function selectAttempts(
  rows: Kysely<Database>,
  receiver_id: string,
  after: Place | null,
  limit: number,
): Promise<readonly Attempt[]> {
  return await newestFirst(rows, receiver_id)
    .selectAll()
    .$if(after !== null, (query) =>
      query.where(({ eb, refTuple, tuple }) =>
        eb(refTuple('created_at', 'id'), '<', tuple(after?.created_at ?? '', after?.id ?? '')),
      ),
    )
    .limit(limit)
    .execute();
}

/** A stored attempt of a receiver by its own id, or the last one by the id of its event; null when there is none. */
export async function findAttempt(rows: Kysely<Database>, receiver_id: string, id: string): Promise<Attempt | null> {
  const found = await newestFirst(rows, receiver_id)
    .selectAll()
    .where(({ or }) => or({ id, event_id: id }))
    .limit(1)
    .executeTakeFirst();
  return found ?? null;
}

/** Place in the list of a receiver that a cursor names; null for an unknown cursor. */
export async function attemptCursor(
  rows: Kysely<Database>,
  walk: Omit<Walk, 'list'>,
  receiver_id: string,
  cursor: string,
  now_ms: number,
): Promise<Place | null> {
  const created_at =
    (await cursorPlace(rows, { ...walk, list: listName(receiver_id) }, cursor, now_ms)) ??
    (await newestFirst(rows, receiver_id).select('created_at').where('id', '=', cursor).executeTakeFirst())?.created_at;
  return created_at === undefined ? null : { created_at, id: cursor };
}

/** Argument of `Records.rememberCursor` for a page that ends with an attempt. */
export function attemptCursorNote(walk: Omit<Walk, 'list'>, last: Attempt, now_ms: number): CursorNote {
  return cursorNote({ ...walk, list: listName(last.receiver_id) }, last.id, last.created_at, now_ms);
}

function listName(receiver_id: string): string {
  return `webhooks.deliveries.${receiver_id}`;
}

function newestFirst(rows: Kysely<Database>, receiver_id: string) {
  return rows
    .selectFrom('attempts')
    .where('receiver_id', '=', receiver_id)
    .orderBy('created_at', 'desc')
    .orderBy('id', 'desc');
}
