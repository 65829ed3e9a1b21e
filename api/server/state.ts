import type { Layer } from '@koa/router';
import type Koa from 'koa';
import type { Caller } from '../accounts/keyring.ts';
import type { Price } from '../billing/ledger.ts';
import type { JsonObject } from '../http/json.ts';
import type { QueryText } from '../http/query.ts';
import type { Edition } from '../published/catalog.ts';
import type { ReadPlan } from './endpoint.ts';
import type { Variant } from './variant.ts';

/** What `ctx.state` holds of every request; the middleware that sets a field is named beside it. */
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
  /** context, by the path; authenticate, by the key: what is served, and the shape of the answer. */
  variant: Variant;
  /** authenticate: whose key it is. */
  caller: Caller | null;
  /** rate limit: headers of the window of the key; null: the window of the address is shown. */
  rate_headers: Readonly<Record<string, string>> | null;
  /** charge, or the transaction of a write: the call was charged, and so counted. */
  charged: boolean;
  /** What the chain of an endpoint finds out on its way. */
  query: QueryText | null;
  body: JsonObject | null;
  /** Claim of an idempotency key, until a write has finished it or a failure has ended it. */
  claim: string | null;
  input: Input | null;
  price: Price | null;
  edition: Edition | null;
  plan: ReadPlan | null;
  version: string | null;
  tag: string | null;
  fresh: boolean | null;
}

/** Input of an endpoint after validation; what it declares no schema for is null. */
export interface Input {
  readonly params: unknown;
  readonly query: unknown;
  readonly body: unknown;
}

/** `ctx.state` within the chain of an endpoint: there is a caller, and each middleware finds what those before it have set. */
export interface CallState extends State {
  caller: Caller;
  /** validate: typed values. */
  input: Input;
  /** validate: null where the call is free; a replay never gets here. */
  price: Price | null;
  /** plan, or reply cache: what is published, pinned for the whole request. */
  edition: Edition;
  /** plan: what of it is read. */
  plan: ReadPlan;
  /** plan: stands for an answer that follows from the data and the question alone; null for any other. */
  version: string | null;
  /** plan, where a version makes it, else the answer: entity tag; null where there is none. */
  tag: string | null;
  /** conditional get: the caller has the answer already; null: not compared yet. */
  fresh: boolean | null;
}

/** What @koa/router adds to the context. */
interface Routed {
  readonly matched?: readonly Layer[];
  readonly captures?: readonly string[];
  routerName?: string;
}

export type Context<S extends State = State> = Koa.ParameterizedContext<S, Routed>;
export type Middleware<S extends State = State> = (ctx: Context<S>, next: Koa.Next) => Promise<unknown> | unknown;
/** Middleware of the chain of an endpoint. */
export type CallMiddleware = Middleware<CallState>;
