import type { z } from 'zod';
import type { ZodOpenApiResponsesObject } from 'zod-openapi';
import { ERROR_MESSAGES, ERRORS, ErrorBody, type ErrorCode } from '../schemas/errors.ts';

/** Every header of an answer that is part of the interface. */
export const HEADERS = {
  'X-Request-Id': text('Id of this answer, also in the body of errors.'),
  'X-RateLimit-Limit': whole(
    'Requests allowed in the window: 60 rolling seconds; the UTC day in a refusal for its requests.',
  ),
  'X-RateLimit-Remaining': whole('Requests left in the window.'),
  'X-RateLimit-Reset': whole('Unix seconds at which the window is empty again.'),
  RateLimit: text('Requests left and seconds until the window is empty again, in the form of the IETF draft.'),
  'RateLimit-Policy': text('Requests per window, in the form of the IETF draft.'),
  ETag: text('Weak tag: equal tags mean equal answers apart from age_seconds.'),
  'X-Data-Source': text(
    'What the data are that the answer read: observed, simulated, or mixed where it read both. Absent when none of them is published.',
  ),
  'Cache-Control': text('Whether, and by whom, the answer may be kept.'),
  Vary: text('Request headers that the answer depends on.'),
  'Content-Disposition': text('Name under which the answer may be saved.'),
  'Idempotent-Replay': text('true when this is the answer to an earlier request with the same Idempotency-Key.'),
  'WWW-Authenticate': text('Bearer realm="hail".'),
  'X-Required-Scope': text('The missing scope, with insufficient_scope.'),
  Allow: text('Methods that the path takes.'),
  'Retry-After': whole('Seconds until the next request will be admitted.'),
};
/** Of an operation that needs no key and costs nothing. */
export const WITHOUT_KEY = {
  security: [],
  'x-scope': null,
  'x-feature': null,
  'x-test-key': true,
  'x-credits': 0,
  'x-credits-per': 'call',
  'x-operation': null,
};

const COMMON_HEADERS = headers([
  'X-Request-Id',
  'X-RateLimit-Limit',
  'X-RateLimit-Remaining',
  'X-RateLimit-Reset',
  'RateLimit',
  'RateLimit-Policy',
  'Cache-Control',
  'Vary',
]);
/** Headers that come with one error. */
const ERROR_HEADERS: Readonly<Partial<Record<string, ReturnType<typeof headers>>>> = {
  401: headers(['WWW-Authenticate']),
  403: headers(['X-Required-Scope']),
  405: headers(['Allow']),
  429: headers(['Retry-After']),
  503: headers(['Retry-After']),
};

/** Headers of answers that are files. */
export const FILE_HEADERS = {
  'Accept-Ranges': text('bytes: parts of the file may be asked for with Range.'),
  'Content-Range': text('Which bytes of how many these are; after 416 only how many there are.'),
  'Content-Length': whole('Bytes of the body; absent where it is compressed.'),
  'Content-Encoding': text('gzip where the answer is compressed, for clients that take it.'),
};

/** What the answers of a variant have in common. */
export interface AnswerShape {
  /** Headers of every answer in addition to those of each variant, by name. */
  readonly headers: Readonly<Record<string, ReturnType<typeof text>>>;
  /** Body of an error. */
  readonly error: {
    readonly schema: z.ZodType;
    readonly example: (code: ErrorCode, message: string) => unknown;
  };
}

/** Headers of every answer of a variant. */
export function commonHeaders({ headers: more }: Pick<AnswerShape, 'headers'>): ReturnType<typeof headers> {
  return { ...COMMON_HEADERS, ...headers(Object.keys(more)) };
}

export const EXAMPLE_REQUEST_ID = 'req_01KQHS8V6ZJ6J2C4T2W9M8N7QX';

export const CURRENT_ANSWERS: AnswerShape = {
  headers: {},
  error: {
    schema: ErrorBody,
    example: (error, message) => ({ error, message, request_id: EXAMPLE_REQUEST_ID }),
  },
};

/** One response per status, naming the codes that come with it, each with what the service says then. */
export function errors(
  codes: readonly ErrorCode[],
  messageFor: (code: ErrorCode) => string,
  shape: AnswerShape,
  more: ReturnType<typeof headers> = {},
): ZodOpenApiResponsesObject {
  const { schema, example } = shape.error;
  const byStatus = Map.groupBy(codes, (code) => String(ERRORS[code].status));
  return Object.fromEntries(
    [...byStatus].map(([status, here]) => [
      status,
      {
        description: here.map((code) => `\`${code}\`: ${ERRORS[code].meaning}.`).join(' '),
        headers: { ...commonHeaders(shape), ...ERROR_HEADERS[status], ...more },
        content: {
          'application/json': {
            schema,
            examples: Object.fromEntries(here.map((code) => [code, { value: example(code, messageFor(code)) }])),
          },
        },
      },
    ]),
  );
}

/** What the service says with a code wherever it comes from. */
export function fixedMessage(code: ErrorCode): string {
  const messages: Readonly<Partial<Record<ErrorCode, string>>> = ERROR_MESSAGES;
  return messages[code] ?? ERRORS[code].meaning;
}

/**
 * Changes a JSON schema into what is published: a unit is an extension of JSON Schema, the words of what the service writes are open,
 * and a list of a fixed length whose members are alike is a list.
 */
export function publishSchema(jsonSchema: object, io: 'input' | 'output'): void {
  const { unit, enum: words, prefixItems } = jsonSchema as { unit?: string; enum?: unknown[]; prefixItems?: unknown[] };
  if (unit !== undefined) Object.assign(jsonSchema, { 'x-unit': unit });
  Reflect.deleteProperty(jsonSchema, 'unit');
  if (prefixItems !== undefined && new Set(prefixItems.map((item) => JSON.stringify(item))).size === 1) {
    Object.assign(jsonSchema, { items: prefixItems[0], minItems: prefixItems.length, maxItems: prefixItems.length });
    Reflect.deleteProperty(jsonSchema, 'prefixItems');
  }
  if (io === 'input' || words === undefined) return;
  Object.assign(jsonSchema, { 'x-extensible-enum': words });
  Reflect.deleteProperty(jsonSchema, 'enum');
}

/** References to headers by their names. */
export function headers(names: readonly string[]): Record<string, { $ref: `#/components/headers/${string}` }> {
  return Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` as const }]));
}

export function text(description: string) {
  return { description, schema: { type: 'string' as const } };
}

function whole(description: string) {
  return { description, schema: { type: 'integer' as const } };
}
