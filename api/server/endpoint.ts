import type { z } from 'zod';
import type { ErrorCode } from '../../schemas/errors.ts';
import type { MixedProvenance } from '../../schemas/provenance.ts';
import { DETAILS, type Detail, type Example } from '../../schemas/resources/fields.ts';
import type { Caller } from '../accounts/keyring.ts';
import type { Price } from '../billing/ledger.ts';
import type { Edition } from '../published/catalog.ts';
import type { Writer } from '../records/database.ts';
import type { Services } from '../services.ts';

/** Input of a handler: a request that passed every check, with typed values and its caller. */
export interface HandlerInput<Params, Query, Body> {
  readonly params: Params;
  readonly query: Query;
  readonly body: Body;
  readonly caller: Caller;
  /** `req_…`. */
  readonly request_id: string;
  /** Data clock when the request was accepted, epoch milliseconds. */
  readonly now_ms: number;
  readonly services: Services;
}

export type SimulatedInput<Params = unknown, Query = unknown, Body = unknown> = Pick<
  HandlerInput<Params, Query, Body>,
  'params' | 'query' | 'body' | 'request_id' | 'now_ms'
>;

/** The same for a handler that reads published data. */
interface ReadInput<Params, Query, Body, P extends ReadPlan> extends HandlerInput<Params, Query, Body> {
  /** Published data, pinned for the request; empty where the endpoint reads none. */
  readonly edition: Edition;
  readonly plan: P;
}

/** Input of a plan: without the caller, since the answer is the same for all. */
type PlanInput<Params = unknown, Query = unknown, Body = unknown> = Omit<
  ReadInput<Params, Query, Body, ReadPlan>,
  'caller' | 'request_id' | 'plan'
>;

/** Data that an answer will read, and results found while planning. */
export interface ReadPlan {
  /** Storm dates that the answer reads; unpublished ones are ignored. X-Data-Source is their provenance. */
  readonly dates: readonly string[];
  /** Provenance of other data that the answer reads; X-Data-Source states both together. */
  readonly provenance?: MixedProvenance | null;
  /**
   * Version of the data that the answer is made of, with whatever the clock decided (a date left out), when the answer
   * follows from it and the parameters alone: a 304 then costs no query. Left out: the tag is made from the content.
   */
  readonly version?: string;
}

/**
 * A success. `body` is the resource itself. `tag` is the content that an ETag stands for, without what only the clock
 * changes; left out, it is the body. `dates` are the storm dates it was made of, where only the answer knows them;
 * `provenance` is that of an answer made of items of collections, each of which has its own, null where there are none.
 * `type` and `headers` override those of the endpoint.
 */
export interface Answer<Reply> {
  readonly body: Reply;
  readonly tag?: unknown;
  readonly dates?: readonly string[];
  readonly provenance?: MixedProvenance | null;
  readonly type?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

export type Schema = z.ZodType | null;
export type Typed<S extends Schema> = S extends z.ZodType ? z.infer<S> : null;

interface Common<P extends Schema, Q extends Schema, B extends Schema, R extends z.ZodType> {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  readonly variant: Caller['variant'];
  /** With `{name}` for path parameters, such as `/v1/storms/{track_id}`. */
  readonly path: string;
  readonly group: string;
  readonly summary: string;
  readonly description: string;
  /** Scope the key needs; null: any key will do. */
  readonly scope: string | null;
  /** Feature the plan needs; null: none. */
  readonly feature: string | null;
  readonly test_key: boolean;
  readonly params: P;
  readonly query: Q;
  readonly body: B;
  /** What GET returns of a resource that is changed: its other fields are ignored in a body, so that an answer may be sent back. */
  readonly resource: z.ZodObject | null;
  /** Largest request body, bytes. */
  readonly body_limit_bytes: number;
  readonly reply: R;
  /** Media types of the reply other than application/json, with their schema; the answer picks one by `type`. */
  readonly other_replies: Readonly<Record<string, z.ZodType>>;
  readonly status: 200 | 202;
  /** Error codes of its own, in addition to those that follow from the other members. */
  readonly refusals: readonly ErrorCode[];
  /** Example of a request and its reply, for the documentation. */
  readonly example: Example<R> | null;
  /**
   * Questions that together show every price, as query strings over that of the example, such as `detail=advanced`; empty
   * when there is one price.
   */
  readonly priced: readonly string[];
  /** What the price is for, in the singular, when a call has several of them (`location`); null: the call. */
  readonly priced_per: string | null;
  /**
   * Answer to a key that gets simulated answers, from the question and the day alone; null: it is answered like any other.
   */
  readonly simulate: ((input: SimulatedInput<Typed<P>, Typed<Q>, Typed<B>>) => z.infer<R>) | null;
  /** Price of a call; null: free. */
  readonly price: (
    input: Pick<HandlerInput<Typed<P>, Typed<Q>, Typed<B>>, 'params' | 'query' | 'body'>,
  ) => Price | null;
}

/** An endpoint that reads; without type arguments, any of them. */
export interface ReadEndpoint<
  P extends Schema = Schema,
  Q extends Schema = Schema,
  B extends Schema = Schema,
  R extends z.ZodType = z.ZodType,
  Planned extends ReadPlan = ReadPlan,
> extends Common<P, Q, B, R> {
  readonly kind: 'read';
  /** ETag and 304 are served; the answer is the same for every caller. Left out: true for an endpoint with a plan. */
  readonly cacheable: boolean;
  /** Plans what the answer will read, from the pinned edition. Null: it reads no published data. */
  readonly plan: ((input: PlanInput<Typed<P>, Typed<Q>, Typed<B>>) => Planned) | null;
  /** The plan may name storm dates, whose provenance X-Data-Source then states. */
  readonly reads_dates: boolean;
  /** Query parameters that stay out of the tag: the clock decides their default, and the version or content shows it. */
  readonly clocked: readonly string[];
  /** A success of another media type has as `type` one of `other_replies`, whose schema its body fits. */
  readonly answer: (
    input: ReadInput<Typed<P>, Typed<Q>, Typed<B>, Planned>,
  ) => Promise<Answer<z.infer<R>> | (Answer<unknown> & { readonly type: string })>;
}

/** An endpoint that writes: its rows, its charge and its idempotency record commit together. */
export interface WriteEndpoint<
  P extends Schema = Schema,
  Q extends Schema = Schema,
  B extends Schema = Schema,
  R extends z.ZodType = z.ZodType,
  Ready = unknown,
> extends Common<P, Q, B, R> {
  readonly kind: 'write';
  /** Idempotency-Key is honoured. */
  readonly idempotent: boolean;
  /** The answer carries a secret: it is never compressed, and encrypted where it is kept for repetitions. */
  readonly answers_secret: boolean;
  /** Provenance of the data that a body was made from, which X-Data-Source states, of a repetition too; null: it reads none. */
  readonly data_source: ((body: z.infer<R>) => MixedProvenance | null) | null;
  /** Runs before the transaction, which blocks other writers: slow work that needs no records belongs here. */
  readonly prepare: (input: HandlerInput<Typed<P>, Typed<Q>, Typed<B>>) => Promise<Ready>;
  /** Inside the transaction; must not wait for anything but the records. */
  readonly write: (
    input: HandlerInput<Typed<P>, Typed<Q>, Typed<B>>,
    writer: Writer,
    ready: Ready,
  ) => Promise<Answer<z.infer<R>>>;
  /** Runs after the transaction: wakes the workers of its tasks. */
  readonly committed: (services: Services) => void;
}

export type Endpoint = ReadEndpoint | WriteEndpoint;

/** The types that an endpoint was declared with. For the compiler alone: no value has them. */
export interface Declared<Params, Query, Body, Reply> {
  readonly types?: { readonly params: Params; readonly query: Query; readonly body: Body; readonly reply: Reply };
}
/** What a declaration says: method and path as the `route`, such as `GET /v1/usage`; members with a default may be left out. */
type Given<E, Defaults> = Omit<E, 'kind' | 'method' | 'path' | keyof Defaults> &
  Partial<Pick<E, keyof E & keyof Defaults>> & { readonly route: `${Endpoint['method']} /${string}` };

function declared({ route, ...endpoint }: { readonly route: string }) {
  const [method, path] = route.split(' ');
  return { method, path, ...endpoint };
}

/** Declares an endpoint that reads; types of its input, plan and reply are inferred. `plan` stands before `answer`. */
export function readEndpoint<
  R extends z.ZodType,
  P extends Schema = null,
  Q extends Schema = null,
  B extends Schema = null,
  Planned extends ReadPlan = ReadPlan,
>(
  endpoint: Given<ReadEndpoint<P, Q, B, R, Planned>, typeof READ_DEFAULTS>,
): ReadEndpoint & Declared<Typed<P>, Typed<Q>, Typed<B>, z.infer<R>> {
  const cacheable = endpoint.plan != null;
  return { kind: 'read', ...READ_DEFAULTS, cacheable, ...declared(endpoint) } as unknown as ReadEndpoint;
}

export function writeEndpoint<
  R extends z.ZodType,
  P extends Schema = null,
  Q extends Schema = null,
  B extends Schema = null,
  Ready = null,
>(
  endpoint: Given<WriteEndpoint<P, Q, B, R, Ready>, typeof WRITE_DEFAULTS>,
): WriteEndpoint & Declared<Typed<P>, Typed<Q>, Typed<B>, z.infer<R>> {
  return { kind: 'write', ...WRITE_DEFAULTS, ...declared(endpoint) } as unknown as WriteEndpoint;
}

const DEFAULTS = {
  params: null,
  query: null,
  body: null,
  resource: null,
  variant: 'current',
  feature: null,
  test_key: false,
  body_limit_bytes: 1_000_000,
  other_replies: {},
  status: 200,
  refusals: [],
  example: null,
  priced: [],
  priced_per: null,
  simulate: null,
} as const;
const READ_DEFAULTS = { ...DEFAULTS, cacheable: false, plan: null, reads_dates: true, clocked: [] } as const;
const WRITE_DEFAULTS = {
  ...DEFAULTS,
  idempotent: false,
  answers_secret: false,
  data_source: null,
  prepare: async () => null,
  committed: () => {},
} as const;

/** Price of an operation that costs the same for every call. */
export function flatPrice(operation: string, credits: number): () => Price {
  return () => ({ operation, credits, count: 1 });
}

/** Questions that show both prices of an operation with a detail. */
export const PRICED_BY_DETAIL = DETAILS.map((detail) => `detail=${detail}`);

/** Price of an operation by its detail; the advanced one is an operation of its own. */
export function detailPrice(
  operation: string,
  credits: Readonly<Record<Detail, number>>,
): (asked: { readonly query: { readonly detail: Detail } }) => Price {
  return ({ query: { detail } }) => ({
    operation: detail === 'advanced' ? `${operation}.advanced` : operation,
    credits: credits[detail],
    count: 1,
  });
}
