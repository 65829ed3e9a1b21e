import type { z } from 'zod';
import { enveloped } from '../../schemas/resources/earlier-envelope.ts';
import { MS_PER_DAY } from '../../schemas/time.ts';
import type { Writer } from '../records/database.ts';
import {
  type Answer,
  type Declared,
  type Endpoint,
  type HandlerInput,
  type ReadEndpoint,
  type ReadInput,
  type ReadPlan,
  readEndpoint,
  type Schema,
  type SimulatedInput,
  type Typed,
  type WriteEndpoint,
  writeEndpoint,
} from '../server/endpoint.ts';
import type { Stamp } from '../server/state.ts';
import { CURRENT_MOUNT, EARLIER_MOUNT, envelope } from './variant.ts';

/** A part of the input for the current endpoint; left out where that takes none. */
type Part<Name extends string, Value> = [Value] extends [null]
  ? { readonly [N in Name]?: null }
  : { readonly [N in Name]: Value };
type Served<Params, Query, Body> = Part<'params', Params> & Part<'query', Query> & Part<'body', Body>;
const NOTHING = { params: null, query: null, body: null } as const;

/** Question of an example. */
interface Asked {
  readonly params?: Readonly<Record<string, string>>;
  readonly query?: Readonly<Record<string, string>>;
  readonly body?: unknown;
}

/** The parts of an endpoint that differ from the current endpoint that serves it. */
interface Own<P extends Schema, Q extends Schema, B extends Schema, D extends z.ZodType, To> {
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
  readonly toCurrent: (given: Pick<SimulatedInput<Typed<P>, Typed<Q>, Typed<B>>, 'params' | 'query' | 'body'>) => To;
}

/** An endpoint that a current one serves: input and answer are translated, scope and price stay. */
export function earlierRead<
  SP,
  SQ,
  SB,
  SR,
  D extends z.ZodType,
  P extends Schema = null,
  Q extends Schema = null,
  B extends Schema = null,
>(
  serves: ReadEndpoint & Declared<SP, SQ, SB, SR>,
  own: Own<P, Q, B, D, Served<SP, SQ, SB>> & {
    readonly fromCurrent: (
      body: SR,
      input: ReadInput<Typed<P>, Typed<Q>, Typed<B>, ReadPlan>,
    ) => z.infer<D> | Promise<z.infer<D>>;
    /** `data` for a key that gets simulated answers. */
    readonly simulate: (input: SimulatedInput<Typed<P>, Typed<Q>, Typed<B>>) => z.infer<D>;
  },
): Endpoint {
  const { toCurrent, fromCurrent, asked, params = null as P, query = null as Q, body = null as B, ...outside } = own;
  const { plan, reads_dates } = serves;
  const endpoint = readEndpoint<D, P, Q, B>({
    ...takenOver(serves),
    ...outside,
    ...{ params, query, body, reads_dates },
    price: (given) => serves.price({ ...NOTHING, ...toCurrent(given) }),
    plan: plan === null ? null : (input) => plan({ ...input, ...NOTHING, ...toCurrent(input) }),
    answer: async (input) => {
      const answer = await serves.answer({ ...input, ...NOTHING, ...toCurrent(input) });
      // The answer type of the endpoint, which its value has lost.
      return { ...answer, body: await fromCurrent(answer.body as SR, input) };
    },
  });
  return earlier(endpoint, asked);
}

/** The same for an endpoint that writes; simulated answers are the current example with the values of the question. */
export function earlierWrite<
  SP,
  SQ,
  SB,
  SR,
  D extends z.ZodType,
  P extends Schema = null,
  Q extends Schema = null,
  B extends Schema = null,
>(
  serves: WriteEndpoint & Declared<SP, SQ, SB, SR>,
  own: Own<P, Q, B, D, Served<SP, SQ, SB>> & {
    readonly fromCurrent: (body: SR, input: SimulatedInput<Typed<P>, Typed<Q>, Typed<B>>) => z.infer<D>;
    /** Throws for a body that is refused without a look at the records, before a simulated answer. */
    readonly check?: (body: Typed<B>) => void;
    /** Writes more in the same transaction. */
    readonly also?: (writer: Writer, body: SR, input: HandlerInput<Typed<P>, Typed<Q>, Typed<B>>) => Promise<void>;
  },
): Endpoint {
  const { toCurrent, fromCurrent, check, also, asked, ...outside } = own;
  const { params = null as P, query = null as Q, body = null as B } = own;
  const { idempotent, answers_secret, committed } = serves;
  const endpoint = writeEndpoint<D, P, Q, B, unknown>({
    ...takenOver(serves),
    ...outside,
    ...{ params, query, body, idempotent, answers_secret, committed },
    price: (given) => serves.price({ ...NOTHING, ...toCurrent(given) }),
    prepare: (input) => serves.prepare({ ...input, ...NOTHING, ...toCurrent(input) }),
    write: async (input, writer, ready) => {
      const answer = await serves.write({ ...input, ...NOTHING, ...toCurrent(input) }, writer, ready);
      const served = answer.body as SR; // as above
      await also?.(writer, served, input);
      return { body: fromCurrent(served, input) };
    },
    simulate: (input) => {
      check?.(input.body);
      const day = { now_ms: input.now_ms - (input.now_ms % MS_PER_DAY) };
      return fromCurrent(exampleFor(serves, { ...input, ...NOTHING, ...toCurrent(input) }), { ...input, ...day });
    },
  });
  return earlier(endpoint, asked);
}

/** The example of an endpoint; values of the question replace those of the same names. */
export function exampleFor<SP, SQ, SB, SR>(
  { example }: Endpoint & Declared<SP, SQ, SB, SR>,
  { params, body }: Pick<SimulatedInput, 'params' | 'body'>,
): SR {
  const asked = { ...Object(params), ...Object(body) };
  const reply = Object.entries(Object(example?.reply)).map(([name, value]) => [name, asked[name] ?? value]);
  return Object.fromEntries(reply) as SR;
}

/** Fields taken over from the endpoint that serves: access, limits and documentation. */
export function takenOver(serves: Endpoint) {
  const { method, group, summary, description, scope, feature, test_key, body_limit_bytes, refusals } = serves;
  return { method, group, summary, description, scope, feature, test_key, body_limit_bytes, refusals };
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
