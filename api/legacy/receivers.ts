import type { Kysely, Transaction } from 'kysely';
import type { Database } from '../store/schema.ts';

/** Notes that a webhook or subscription was made in the earlier variant: it is told of events in its words. */
export async function markEarlierReceiver(
  rows: Transaction<Database>,
  receiver_id: string,
  business_id: string,
): Promise<void> {
  await rows.insertInto('earlier_receivers').values({ receiver_id, business_id }).execute();
}

/** Forgets a receiver that is being deleted. */
export async function unmarkEarlierReceiver(rows: Transaction<Database>, receiver_id: string): Promise<void> {
  await rows.deleteFrom('earlier_receivers').where('receiver_id', '=', receiver_id).execute();
}

/** Those of some receivers that were made in the earlier variant. */
export async function earlierAmong(
  rows: Kysely<Database>,
  receiver_ids: readonly string[],
): Promise<ReadonlySet<string>> {
  if (receiver_ids.length === 0) return new Set();
  const found = await rows
    .selectFrom('earlier_receivers')
    .select('receiver_id')
    .where('receiver_id', 'in', receiver_ids)
    .execute();
  return new Set(found.map(({ receiver_id }) => receiver_id));
}

/** Receivers of some businesses that were made in the earlier variant. */
export async function earlierReceiversOf(
  rows: Kysely<Database>,
  business_ids: readonly string[],
): Promise<ReadonlySet<string>> {
  if (business_ids.length === 0) return new Set();
  const found = await rows
    .selectFrom('earlier_receivers')
    .select('receiver_id')
    .where('business_id', 'in', business_ids)
    .execute();
  return new Set(found.map(({ receiver_id }) => receiver_id));
}
