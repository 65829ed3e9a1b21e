import type { EarlierMeta } from '../../schemas/resources/earlier-envelope.ts';
import { timestamp } from '../../schemas/time.ts';

/** What an envelope is stamped with. */
export interface Stamp {
  readonly request_id: string;
  /** Data clock, epoch milliseconds. */
  readonly now_ms: number;
}

/** What an answer says of itself. */
export function metaOf({ request_id, now_ms }: Stamp): EarlierMeta {
  return { request_id, timestamp: timestamp(now_ms) };
}

/** A success of the earlier variant: its data, and what it says of itself. */
export function envelope<Data>(data: Data, stamp: Stamp): { readonly data: Data; readonly meta: EarlierMeta } {
  return { data, meta: metaOf(stamp) };
}
