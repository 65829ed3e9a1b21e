import type { Kysely, Selectable, Transaction } from 'kysely';
import { cursorNote, cursorPlace, type Walk } from '../store/cursors.ts';
import { instant } from '../store/instant.ts';
import type { CursorNote } from '../store/records.ts';
import type { Database } from '../store/schema.ts';

/** An attempt. */
export type Delivery = Selectable<Database['deliveries']>;
type Place = Pick<Delivery, 'created_at' | 'id'>;

/** Attempts of a receiver that are kept. */
export const DELIVERIES_KEPT = 100;

/**
 * Notes an attempt, and forgets those of the receiver that are too many: the oldest, but first those of the future, which were
 * noted by a clock that was put back since. `machine_ms`: the machine's clock.
 */
export async function addDelivery(
  rows: Transaction<Database>,
  delivery: Delivery,
  machine_ms = Date.now(),
): Promise<void> {
  await rows.insertInto('deliveries').values(delivery).execute();
  await rows
    .deleteFrom('deliveries')
    .where('id', 'in', (eb) =>
      eb
        .selectFrom('deliveries')
        .select('id')
        .where('receiver_id', '=', delivery.receiver_id)
        .orderBy((of) => of.case().when('created_at', '>', instant(machine_ms)).then(of.lit(1)).else(of.lit(0)).end())
        .orderBy('created_at', 'desc')
        .orderBy('id', 'desc')
        .limit(DELIVERIES_KEPT)
        .offset(DELIVERIES_KEPT),
    )
    .execute();
}

/** Attempts of a receiver after a place, newest first. */
export async function listDeliveries(
  rows: Kysely<Database>,
  receiver_id: string,
  after: Place | null,
  limit: number,
): Promise<readonly Delivery[]> {
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

/** An attempt of a receiver by its id, or the last one of an event by that of the event; null when it is not kept. */
export async function findDelivery(rows: Kysely<Database>, receiver_id: string, id: string): Promise<Delivery | null> {
  const found = await newestFirst(rows, receiver_id)
    .selectAll()
    .where(({ or }) => or({ id, event_id: id }))
    .limit(1)
    .executeTakeFirst();
  return found ?? null;
}

/** Place that a cursor of the list of a receiver stands for; null: it stands for nothing. */
export async function deliveryCursor(
  rows: Kysely<Database>,
  walk: Omit<Walk, 'list'>,
  receiver_id: string,
  cursor: string,
  now_ms: number,
): Promise<Place | null> {
  const created_at =
    (await cursorPlace(rows, { ...walk, list: listOf(receiver_id) }, cursor, now_ms)) ??
    (await newestFirst(rows, receiver_id).select('created_at').where('id', '=', cursor).executeTakeFirst())?.created_at;
  return created_at === undefined ? null : { created_at, id: cursor };
}

/** The note to hand to `Records.rememberCursor` when a page ends with an attempt. */
export function deliveryCursorNote(walk: Omit<Walk, 'list'>, last: Delivery, now_ms: number): CursorNote {
  return cursorNote({ ...walk, list: listOf(last.receiver_id) }, last.id, last.created_at, now_ms);
}

function listOf(receiver_id: string): string {
  return `webhooks.deliveries.${receiver_id}`;
}

function newestFirst(rows: Kysely<Database>, receiver_id: string) {
  return rows
    .selectFrom('deliveries')
    .where('receiver_id', '=', receiver_id)
    .orderBy('created_at', 'desc')
    .orderBy('id', 'desc');
}
