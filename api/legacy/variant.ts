import { type ErrorCode, escapeInvisible } from '../../schemas/errors.ts';
import type { EarlierErrorBody, EarlierMeta } from '../../schemas/resources/earlier-envelope.ts';
import { timestamp } from '../../schemas/time.ts';
import type { Stamp, Variant } from '../server/state.ts';

/** Below it the earlier variant is served to every key. */
export const EARLIER_MOUNT = '/legacy/v1';
/** Below it a key gets the variant that it was made for. */
export const CURRENT_MOUNT = '/v1';

/** The earlier variant of the interface. */
export const EARLIER_VARIANT: Variant = {
  name: 'legacy',
  hasPath: (path) => path === EARLIER_MOUNT || path.startsWith(`${EARLIER_MOUNT}/`),
  pathsOf: ({ path }) => [path, `${CURRENT_MOUNT}${path.slice(EARLIER_MOUNT.length)}`],
  health_path: `${EARLIER_MOUNT}/health`,
  simulated_per_minute: 600,
  errorBody: earlierErrorBody,
};

/** Body of a success. */
export function envelope<Data>(data: Data, stamp: Stamp): { readonly data: Data; readonly meta: EarlierMeta } {
  return { data, meta: metaOf(stamp) };
}

/** Body of an error, as JSON. */
function earlierErrorBody(code: ErrorCode, message: string, stamp: Stamp): string {
  const body: EarlierErrorBody = { error: { code, message: escapeInvisible(message) }, meta: metaOf(stamp) };
  return JSON.stringify(body);
}

function metaOf({ request_id, now_ms }: Stamp): EarlierMeta {
  return { request_id, timestamp: timestamp(now_ms) };
}
