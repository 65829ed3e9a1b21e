import type { VariantParts } from '../app.ts';
import type { Variant } from '../http/variant.ts';
import { earlierErrorBody } from './envelope.ts';
import { rememberSunsetHeaders } from './sunset-headers.ts';

/** Below it the earlier variant is served to every key. */
export const EARLIER_MOUNT = '/legacy/v1';
/** Below it a key gets the variant that it was made for. */
export const CURRENT_MOUNT = '/v1';

/** The earlier variant of the interface. */
export function openEarlierVariant({ records, common, monotonic_ms }: VariantParts): Variant {
  return {
    name: 'earlier',
    hasPath: (path) => path === EARLIER_MOUNT || path.startsWith(`${EARLIER_MOUNT}/`),
    pathsOf: ({ path }) => [path, `${CURRENT_MOUNT}${path.slice(EARLIER_MOUNT.length)}`],
    health_path: `${EARLIER_MOUNT}/health`,
    simulated_per_minute: 600,
    errorBody: earlierErrorBody,
    headers: rememberSunsetHeaders(records, common, monotonic_ms),
  };
}
