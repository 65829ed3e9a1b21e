import { type ErrorCode, escapeInvisible } from '../../schemas/errors.ts';
import type { EarlierErrorBody, EarlierMeta } from '../../schemas/resources/earlier-envelope.ts';
import { timestamp } from '../../schemas/time.ts';
import type { Stamp } from '../http/variant.ts';

/** Body of a success. */
export function envelope<Data>(data: Data, stamp: Stamp): { readonly data: Data; readonly meta: EarlierMeta } {
  return { data, meta: metaOf(stamp) };
}

/** Body of an error, as JSON. */
export function earlierErrorBody(code: ErrorCode, message: string, stamp: Stamp): string {
  const body: EarlierErrorBody = { error: { code, message: escapeInvisible(message) }, meta: metaOf(stamp) };
  return JSON.stringify(body);
}

function metaOf({ request_id, now_ms }: Stamp): EarlierMeta {
  return { request_id, timestamp: timestamp(now_ms) };
}
