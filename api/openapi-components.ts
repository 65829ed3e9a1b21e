import type { z } from 'zod';
import type { ZodOpenApiResponsesObject } from 'zod-openapi';
import { ERROR_MESSAGES, ERRORS, ErrorBody, type ErrorCode } from '../schemas/errors.ts';

/** Every response header of the interface. */
export const HEADERS = {
  'X-Request-Id': stringHeader('Id of this answer, also in the body of errors.'),
  'X-RateLimit-Limit': integerHeader(
    'Requests allowed in the window: 60 rolling seconds; the UTC day in a refusal for its requests.',
  ),
  'X-RateLimit-Remaining': integerHeader('Requests left in the window.'),
  'X-RateLimit-Reset': integerHeader('Unix seconds at which the window is empty again.'),
  RateLimit: stringHeader('Requests left and seconds until the window is empty again, in the form of the IETF draft.'),
  'RateLimit-Policy': stringHeader('Requests per window, in the form of the IETF draft.'),
  'X-Credits-Charged': integerHeader('Credits that this call cost; 0 for refusals, free calls and replays.'),
  ETag: stringHeader('Weak tag: equal tags mean equal answers apart from age_seconds.'),
  'X-Data-Source': stringHeader(
    'What the data are that the answer read: observed, simulated, or mixed where it read both. Absent when none of them is published.',
  ),
  'Cache-Control': stringHeader('Whether, and by whom, the answer may be kept.'),
  Vary: stringHeader('Request headers that the answer depends on.'),
  'Content-Disposition': stringHeader('Name under which the answer may be saved.'),
  'Idempotent-Replay': stringHeader(
    'true when this is the answer to an earlier request with the same Idempotency-Key.',
  ),
  'WWW-Authenticate': stringHeader('Bearer realm="hail".'),
  'X-Required-Scope': stringHeader('The missing scope, with insufficient_scope.'),
  Allow: stringHeader('Methods that the path takes.'),
  'Retry-After': integerHeader('Seconds until the next request will be admitted.'),
};
/** Fields of an operation that needs no key and is free. */
export const WITHOUT_KEY = {
  security: [],
  'x-scope': null,
  'x-feature': null,
  'x-test-key': true,
  'x-credits': 0,
  'x-credits-per': 'call',
  'x-operation': null,
};

const COMMON_HEADERS = headerRefs([
  'X-Request-Id',
  'X-RateLimit-Limit',
  'X-RateLimit-Remaining',
  'X-RateLimit-Reset',
  'RateLimit',
  'RateLimit-Policy',
  'X-Credits-Charged',
  'Cache-Control',
  'Vary',
]);
/** Headers of one error status. */
const ERROR_HEADERS: Readonly<Partial<Record<string, ReturnType<typeof headerRefs>>>> = {
  401: headerRefs(['WWW-Authenticate']),
  403: headerRefs(['X-Required-Scope']),
  405: headerRefs(['Allow']),
  429: headerRefs(['Retry-After']),
  503: headerRefs(['Retry-After']),
};

/** Headers of answers that are files. */
export const FILE_HEADERS = {
  'Accept-Ranges': stringHeader('bytes: parts of the file may be asked for with Range.'),
  'Content-Range': stringHeader('Which bytes of how many these are; after 416 only how many there are.'),
  'Content-Length': integerHeader('Bytes of the body; absent where it is compressed.'),
  'Content-Encoding': stringHeader('gzip where the answer is compressed, for clients that take it.'),
};

/** What the answers of a variant have in common. */
export interface AnswerShape {
  /** Headers of every answer in addition to those of each variant, by name. */
  readonly headers: Readonly<Record<string, ReturnType<typeof stringHeader>>>;
  /** Body of an error. */
  readonly error: {
    readonly schema: z.ZodType;
    readonly example: (code: ErrorCode, message: string) => unknown;
  };
}

/** Headers of every answer of a variant. */
export function commonHeaderRefs({ headers: more }: Pick<AnswerShape, 'headers'>): ReturnType<typeof headerRefs> {
  return { ...COMMON_HEADERS, ...headerRefs(Object.keys(more)) };
}

export const EXAMPLE_REQUEST_ID = 'req_01KQHS8V6ZJ6J2C4T2W9M8N7QX';

export const CURRENT_ANSWERS: AnswerShape = {
  headers: {},
  error: {
    schema: ErrorBody,
    example: (error, message) => ({ error, message, request_id: EXAMPLE_REQUEST_ID }),
  },
};

/** One response per status with its error codes, and an example message for each code. */
export function errorResponses(
  codes: readonly ErrorCode[],
  messageFor: (code: ErrorCode) => string,
  shape: AnswerShape,
  more: ReturnType<typeof headerRefs> = {},
): ZodOpenApiResponsesObject {
  const { schema, example } = shape.error;
  const byStatus = Map.groupBy(codes, (code) => String(ERRORS[code].status));
  return Object.fromEntries(
    [...byStatus].map(([status, here]) => [
      status,
      {
        description: here.map((code) => `\`${code}\`: ${ERRORS[code].meaning}.`).join(' '),
        headers: { ...commonHeaderRefs(shape), ...ERROR_HEADERS[status], ...more },
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

/** Message of a code whose message is the same at every endpoint. */
export function fixedMessage(code: ErrorCode): string {
  const messages: Readonly<Partial<Record<ErrorCode, string>>> = ERROR_MESSAGES;
  return messages[code] ?? ERRORS[code].meaning;
}

/**
 * Changes a JSON schema for publication: a unit becomes `x-unit`, an enum of an answer becomes `x-extensible-enum`, and a tuple of
 * equal members becomes a list of fixed length.
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

/**
 * A document in which a default of a property is called `x-default`, because generators of clients make a property with a
 * `default` required. Parameters keep theirs.
 */
export function renameDefaults<Document extends object>(document: Document): Document {
  return JSON.parse(
    JSON.stringify(document),
    (_, value: { properties?: Record<string, { default?: unknown }> } | null) => {
      for (const property of Object.values(value?.properties ?? {})) {
        if (property?.default === undefined) continue;
        Object.assign(property, { 'x-default': property.default });
        Reflect.deleteProperty(property, 'default');
      }
      return value;
    },
  );
}

/** References to headers by their names. */
export function headerRefs(names: readonly string[]): Record<string, { $ref: `#/components/headers/${string}` }> {
  return Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` as const }]));
}

export function stringHeader(description: string) {
  return { description, schema: { type: 'string' as const } };
}

function integerHeader(description: string) {
  return { description, schema: { type: 'integer' as const } };
}
