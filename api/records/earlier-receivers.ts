import type { Kysely, Transaction } from 'kysely';
import type { Database } from './tables.ts';

/** Notes that a webhook or subscription was made in the earlier variant: it is told of events in its words. */
export async function markEarlierReceiver(
  rows: Transaction<Database>,
  receiver_id: string,
  business_id: string,
): Promise<void> {
  await rows.insertInto('earlier_receivers').values({ receiver_id, business_id }).execute();
}

/** True for a webhook or subscription that was made in the earlier variant. */
export async function isEarlierReceiver(rows: Kysely<Database>, receiver_id: string): Promise<boolean> {
  const found = rows.selectFrom('earlier_receivers').select('receiver_id').where('receiver_id', '=', receiver_id);
  return (await found.executeTakeFirst()) !== undefined;
}

/** Forgets it with the webhook or subscription. */
export async function unmarkEarlierReceiver(rows: Transaction<Database>, receiver_id: string): Promise<void> {
  await rows.deleteFrom('earlier_receivers').where('receiver_id', '=', receiver_id).execute();
}
