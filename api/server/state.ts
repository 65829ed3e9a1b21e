import type Koa from 'koa';
import type { Caller } from '../accounts/keyring.ts';
import type { Headers } from '../http/reply.ts';
import type { Variant } from './variant.ts';

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
  /** context, by the path; authenticate, by the key: the endpoints served, and the shape of answers. */
  variant: Variant;
  /** authenticate: whose key it is. */
  caller: Caller | null;
  /** rate limit: headers of the window of the key; null: the window of the address is shown. */
  rate_headers: Headers | null;
  /** read, write: what the call was charged, and so counted; null: it was not. */
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
