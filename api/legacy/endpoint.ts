import type { z } from 'zod';
import { enveloped } from '../../schemas/resources/earlier-envelope.ts';
import type { Writer } from '../records/database.ts';
import {
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
import type { Stamp } from '../server/variant.ts';
import { CURRENT_MOUNT, EARLIER_MOUNT, envelope } from './variant.ts';

/** Input of an endpoint: that of the caller, or its translation for the current endpoint. */
interface Given<Params, Query, Body> {
  readonly params: Params;
  readonly query: Query;
  readonly body: Body;
}

/** The parts of an endpoint that differ from the current endpoint that serves it. */
interface Own<P extends Schema, Q extends Schema, B extends Schema, D extends z.ZodType, Served> {
  /** Below the mount, such as `/hail/current`. */
  readonly path: string;
  readonly summary: string;
  readonly description: string;
  readonly params: P;
  readonly query: Q;
  readonly body: B;
  /** Schema of `data` in the envelope. */
  readonly data: D;
  readonly example: EarlierExample<z.infer<D>>;
  /** Translates the input for the endpoint that serves it. */
  readonly toCurrent: (given: Given<Typed<P>, Typed<Q>, Typed<B>>) => Served;
  /** Answer to a key that gets simulated answers; null: such keys are answered like any other. */
  readonly simulate: ((input: SimulatedInput<Typed<P>, Typed<Q>, Typed<B>>) => z.infer<D>) | null;
}

export interface EarlierExample<Data> {
  readonly query?: Record<string, string>;
  readonly body?: unknown;
  readonly data: Data;
}

/** An endpoint that a current one serves: input and answer are translated, scope and price stay. */
export function earlierRead<SP, SQ, SB, SR, P extends Schema, Q extends Schema, B extends Schema, D extends z.ZodType>(
  serves: ReadEndpoint & Declared<SP, SQ, SB, SR>,
  own: Own<P, Q, B, D, Given<SP, SQ, SB>> & {
    readonly fromCurrent: (
      body: SR,
      input: ReadInput<Typed<P>, Typed<Q>, Typed<B>, ReadPlan>,
    ) => z.infer<D> | Promise<z.infer<D>>;
  },
): Endpoint {
  const { plan } = serves;
  return readEndpoint<P, Q, B, z.ZodType>({
    ...takenOver(serves),
    ...spokenFor(own),
    cacheable: false,
    reads_dates: serves.reads_dates,
    price: (given) => serves.price(own.toCurrent(given)),
    plan: plan === null ? null : (input) => plan({ ...input, ...own.toCurrent(input) }),
    answer: async (input) => {
      const answer = await serves.answer({ ...input, ...own.toCurrent(input) });
      // The answer type of the endpoint, which its value has lost.
      const data = await own.fromCurrent(answer.body as SR, input);
      return { ...answer, body: envelope(data, input) };
    },
  });
}

/** The same for an endpoint that writes; `also` writes more in the same transaction. */
export function earlierWrite<SP, SQ, SB, SR, P extends Schema, Q extends Schema, B extends Schema, D extends z.ZodType>(
  serves: WriteEndpoint & Declared<SP, SQ, SB, SR>,
  own: Own<P, Q, B, D, Given<SP, SQ, SB>> & {
    readonly fromCurrent: (body: SR, input: HandlerInput<Typed<P>, Typed<Q>, Typed<B>>) => z.infer<D>;
    readonly also?: (writer: Writer, body: SR, input: HandlerInput<Typed<P>, Typed<Q>, Typed<B>>) => Promise<void>;
  },
): Endpoint {
  return writeEndpoint<P, Q, B, z.ZodType, unknown>({
    ...takenOver(serves),
    ...spokenFor(own),
    idempotent: serves.idempotent,
    answers_secret: serves.answers_secret,
    committed: serves.committed,
    price: (given) => serves.price(own.toCurrent(given)),
    prepare: (input) => serves.prepare({ ...input, ...own.toCurrent(input) }),
    write: async (input, writer, ready) => {
      const answer = await serves.write({ ...input, ...own.toCurrent(input) }, writer, ready);
      const body = answer.body as SR; // as above
      await own.also?.(writer, body, input);
      return { body: envelope(own.fromCurrent(body, input), input) };
    },
  });
}

/** Fields taken over from the endpoint that serves: access, limits and group of the documentation. */
export function takenOver({ method, group, scope, feature, test_key, body_limit_bytes, refusals }: Endpoint) {
  return { variant: 'earlier' as const, method, group, scope, feature, test_key, body_limit_bytes, refusals };
}

/** Path, questions, answers and example of an endpoint of the earlier variant, its data in their envelope. */
export function spokenFor<P extends Schema, Q extends Schema, B extends Schema, D extends z.ZodType>({
  path,
  summary,
  description,
  params,
  query,
  body,
  data,
  example,
  simulate,
}: Omit<Own<P, Q, B, D, unknown>, 'toCurrent'>) {
  return {
    path: `${EARLIER_MOUNT}${path}`,
    summary,
    description,
    params,
    query,
    body,
    reply: enveloped(data),
    example: inEnvelope(example),
    simulate:
      simulate === null
        ? null
        : (input: SimulatedInput<Typed<P>, Typed<Q>, Typed<B>>) => envelope(simulate(input), input),
  };
}

/** A current endpoint, its answers in an envelope. */
export function wrapped(serves: Endpoint, simulate: ((input: SimulatedInput) => unknown) | null): Endpoint {
  const { path, reply, example } = serves;
  const outside = {
    variant: 'earlier' as const,
    path: path.replace(CURRENT_MOUNT, EARLIER_MOUNT),
    reply: enveloped(reply),
    example: example === null ? null : { ...example, reply: envelope(example.reply, EXAMPLE_STAMP) },
    simulate: simulate === null ? null : (input: SimulatedInput) => envelope(simulate(input), input),
  };
  if (serves.kind === 'read')
    return {
      ...serves,
      ...outside,
      cacheable: false,
      answer: async (input) => {
        const answer = await serves.answer(input);
        return { ...answer, body: envelope(answer.body, input) };
      },
    };
  return {
    ...serves,
    ...outside,
    write: async (input, writer, ready) => {
      const answer = await serves.write(input, writer, ready);
      return { ...answer, body: envelope(answer.body, input) };
    },
  };
}

const EXAMPLE_STAMP: Stamp = {
  request_id: 'req_01KQHS8V6ZJ6J2C4T2W9M8N7QX',
  now_ms: Date.parse('2026-05-01T20:14:07Z'),
};

/** An example, its data in their envelope. */
export function inEnvelope<Data>({ data, ...asked }: EarlierExample<Data>) {
  return { ...asked, reply: envelope(data, EXAMPLE_STAMP) };
}
