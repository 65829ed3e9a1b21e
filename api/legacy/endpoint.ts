import type { Transaction } from 'kysely';
import type { z } from 'zod';
import { type ErrorCode, escapeInvisible } from '../../schemas/errors.ts';
import { type EarlierErrorBody, type EarlierMeta, enveloped } from '../../schemas/resources/earlier-envelope.ts';
import { MS_PER_DAY, timestamp } from '../../schemas/time.ts';
import type { Database } from '../records/schema.ts';
import type { Answer, Declared, Endpoint, Schema, SimulatedInput, Typed } from '../server/endpoint.ts';
import type { Stamp, Variant } from '../server/state.ts';

/** The types that a current endpoint was declared with; its value has lost them. */
type Declares<S> =
  S extends Declared<infer Params, infer Query, infer Body, infer Reply>
    ? { readonly taken: { readonly params: Params; readonly query: Query; readonly body: Body }; readonly reply: Reply }
    : never;
/** Parts of the input that are there. */
type Present<Parts> = { readonly [Name in keyof Parts as Parts[Name] extends null ? never : Name]: Parts[Name] };
const NOTHING = { params: null, query: null, body: null } as const;

/** Question of an example. */
interface Asked {
  readonly params?: Readonly<Record<string, string>>;
  readonly query?: Readonly<Record<string, string>>;
  readonly body?: unknown;
}

/** The parts of an endpoint that differ from the current endpoint that serves it. */
interface Own<S, D extends z.ZodType, P extends Schema, Q extends Schema, B extends Schema> {
  /** As if it were of the current variant, such as `/v1/hail/current`. */
  readonly path: string;
  readonly summary?: string;
  readonly description?: string;
  readonly params?: P;
  readonly query?: Q;
  readonly body?: B;
  /** Schema of `data` in the envelope. */
  readonly reply: D;
  /** The example is the simulated answer to it. */
  readonly asked: Asked;
  /** Translates the input for the endpoint that serves it. */
  readonly toCurrent: (given: SimulatedInput<Typed<P>, Typed<Q>, Typed<B>>) => Present<Declares<S>['taken']>;
  readonly fromCurrent: (body: Declares<S>['reply'], input: SimulatedInput<Typed<P>, Typed<Q>, Typed<B>>) => z.infer<D>;
  /** `data` for a key that gets simulated answers; left out: the current example with the values of the question. */
  readonly simulate?: (input: SimulatedInput<Typed<P>, Typed<Q>, Typed<B>>) => z.infer<D>;
  /** Throws for a body that is refused without a look at the records, before a simulated answer. */
  readonly check?: (body: Typed<B>) => void;
  /** Writes more in the same transaction. */
  readonly also?: (rows: Transaction<Database>, body: Declares<S>['reply']) => Promise<void>;
}

/** An endpoint that a current one serves: input and answer are translated, scope and price stay. */
export function earlierOf<
  S extends Endpoint,
  D extends z.ZodType,
  P extends Schema = null,
  Q extends Schema = null,
  B extends Schema = null,
>(serves: S, own: Own<S, D, P, Q, B>): Endpoint {
  const { toCurrent, fromCurrent, check, also, asked, ...outside } = own;
  type Given = Parameters<typeof toCurrent>[0];
  const served = <Input extends object>(input: Input) => ({ ...input, ...NOTHING, ...toCurrent(input as Given) });
  const simulate = (input: Given) => {
    check?.(input.body);
    const day_ms = input.now_ms - (input.now_ms % MS_PER_DAY);
    return fromCurrent(exampleFor(serves, served(input)), { ...input, now_ms: day_ms });
  };
  const common = {
    ...{ ...NOTHING, simulate, ...outside },
    ...{ other_replies: {}, priced: [], priced_per: null },
    price: (given: Pick<SimulatedInput, keyof typeof NOTHING>) => serves.price(served(given)),
  };
  if (serves.kind === 'read') {
    const { plan } = serves;
    type Asking = Parameters<NonNullable<typeof plan>>[0];
    const answer: typeof serves.answer = async (input) => {
      const found = await serves.answer(served(input));
      return { ...found, body: fromCurrent(found.body as Declares<S>['reply'], input as Given) };
    };
    const endpoint = { ...serves, ...common, plan: plan && ((input: Asking) => plan(served(input))), answer };
    return earlier(endpoint as Endpoint, asked);
  }
  const prepare: typeof serves.prepare = (input) => serves.prepare(served(input));
  const write: typeof serves.write = async (input, writer, ready) => {
    const body = (await serves.write(served(input), writer, ready)).body as Declares<S>['reply'];
    await also?.(writer.rows, body);
    return { body: fromCurrent(body, input as Given) };
  };
  return earlier({ ...serves, ...common, prepare, write } as Endpoint, asked);
}

/** The example of an endpoint; values of the question replace those of the same names. */
export function exampleFor<S extends Endpoint>(
  { example }: S,
  { params, body }: Pick<SimulatedInput, 'params' | 'body'>,
): Declares<S>['reply'] {
  const asked = { ...Object(params), ...Object(body) };
  const reply = Object.entries(Object(example?.reply)).map(([name, value]) => [name, asked[name] ?? value]);
  return Object.fromEntries(reply) as Declares<S>['reply'];
}

/** Fields taken over from the endpoint that serves: access, limits and documentation. */
export function takenOver(serves: Endpoint) {
  const { group, summary, description, scope, feature, test_key, body_limit_bytes, refusals } = serves;
  return { group, summary, description, scope, feature, test_key, body_limit_bytes, refusals };
}

/**
 * An endpoint in the earlier variant: below its mount, and with every answer in an envelope. Without `asked` its own example
 * stays.
 */
export function earlier(endpoint: Endpoint, asked: Asked | null = null): Endpoint {
  const { path, reply, simulate } = endpoint;
  const example = asked === null ? endpoint.example : simulatedExample(endpoint, asked);
  const outside = {
    variant: 'legacy' as const,
    path: path.replace(CURRENT_MOUNT, EARLIER_MOUNT),
    reply: enveloped(reply),
    example: example === null ? null : { ...example, reply: envelope(example.reply, EXAMPLE_STAMP) },
    simulate: simulate === null ? null : (input: SimulatedInput) => envelope(simulate(input), input),
  };
  const wrapped = (answer: Answer<unknown>, stamp: Stamp) => ({ ...answer, body: envelope(answer.body, stamp) });
  if (endpoint.kind === 'read') {
    const answer = async (input: Parameters<typeof endpoint.answer>[0]) => wrapped(await endpoint.answer(input), input);
    return { ...endpoint, ...outside, cacheable: false, answer };
  }
  const write: typeof endpoint.write = async (input, ...rest) => wrapped(await endpoint.write(input, ...rest), input);
  return { ...endpoint, ...outside, write };
}

const EXAMPLE_STAMP: Stamp = {
  request_id: 'req_01KQHS8V6ZJ6J2C4T2W9M8N7QX',
  now_ms: Date.parse('2026-05-01T20:14:07Z'),
};

function simulatedExample({ query, body, simulate }: Endpoint, { params = {}, ...asked }: Asked) {
  const input = { params, query: query?.parse(asked.query), body: body?.parse(asked.body), ...EXAMPLE_STAMP };
  return { ...asked, reply: simulate?.(input) };
}

/** Below it the earlier variant is served to every key. */
export const EARLIER_MOUNT = '/legacy/v1';
/** Below it a key gets the variant that it was made for. */
const CURRENT_MOUNT = '/v1';

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
function envelope<Data>(data: Data, stamp: Stamp): { readonly data: Data; readonly meta: EarlierMeta } {
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
