import type Koa from 'koa';
import { type ErrorBody, type ErrorCode, escapeInvisible } from '../../schemas/errors.ts';
import type { Caller } from '../accounts/keyring.ts';
import type { Headers } from '../http/reply.ts';

/** What `ctx.state` holds of every request; the step that sets a field is named beside it. */
export interface State {
  /** context: `req_…`, in the header and in the body of errors. */
  readonly request_id: string;
  /** context: path as it came, undecoded, without the query; the trailing slash is gone. */
  readonly path: string;
  /** context: query string as it came, without '?'. */
  readonly search: string;
  /** context: who is at the other end, IPv4 or the /64 of IPv6. */
  readonly address: string;
  /** context: data clock when the request was accepted, epoch milliseconds. */
  readonly now_ms: number;
  /** context, by the path; admit, by the key: the endpoints served, and the shape of answers. */
  variant: Variant;
  /** admit: whose key it is. */
  caller: Caller | null;
  /** admit: headers of the window of the key; null: the window of the address is shown. */
  rate_headers: Headers | null;
  /** call: what the call was charged, and so counted; null: it was not. */
  credits_charged: number | null;
}

/** `ctx.state` behind the key. */
export interface CallState extends State {
  caller: Caller;
}

/** What the router adds to the context. */
interface Routed {
  /** Path of the route, as its declaration has it. */
  routerName?: string;
  /** Parameters of the path, in order. */
  captures?: readonly string[];
}

export type Context<S extends State = State> = Koa.ParameterizedContext<S, Routed>;
export type Middleware<S extends State = State> = (ctx: Context<S>, next: Koa.Next) => Promise<unknown> | unknown;
/** Answers the calls of one endpoint. */
export type CallHandler = (ctx: Context<CallState>) => Promise<void>;

/** The request that an answer belongs to. */
export type Stamp = Pick<State, 'request_id' | 'now_ms'>;

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
