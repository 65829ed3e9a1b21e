import { type ErrorBody, type ErrorCode, escapeInvisible } from '../../schemas/errors.ts';
import type { Caller } from '../accounts/keyring.ts';

/** The request that an answer belongs to. */
export interface Stamp {
  readonly request_id: string;
  /** Data clock, epoch milliseconds. */
  readonly now_ms: number;
}

/** A variant of the interface: which calls belong to it, and what all of its answers have in common. */
export interface Variant {
  readonly name: Caller['variant'];
  /** True for a path that belongs to it with any key. */
  readonly hasPath: (path: string) => boolean;
  /** Paths at which an endpoint is served. */
  readonly pathsOf: (endpoint: { readonly path: string }) => readonly string[];
  /** The path that a key seen before still opens when the records are out of reach. */
  readonly health_path: string;
  /** Requests a minute of its test keys, which get simulated answers; null: nothing is simulated. */
  readonly simulated_per_minute: number | null;
  readonly errorBody: (code: ErrorCode, message: string, stamp: Stamp) => string;
}

/** The variant of every path and key that belong to no other one. */
export const CURRENT_VARIANT: Variant = {
  name: 'current',
  hasPath: () => true,
  pathsOf: ({ path }) => [path],
  health_path: '/v1/health',
  simulated_per_minute: null,
  errorBody: (error, message, { request_id }) =>
    JSON.stringify({ error, message: escapeInvisible(message), request_id } satisfies ErrorBody),
};

/** Requests a minute of a caller who gets simulated answers, for nothing: a test key made for the variant; null: any other key. */
export function simulatedRate({ kind, variant }: Pick<Caller, 'kind' | 'variant'>, served: Variant): number | null {
  return kind === 'test' && variant === served.name ? served.simulated_per_minute : null;
}
