import { STATUS_CODES } from 'node:http';
import type { z } from 'zod';
import type { ZodOpenApiResponsesObject } from 'zod-openapi';
import { ERROR_MESSAGES, ERRORS, type ErrorCode } from '../../schemas/errors.ts';

/** Headers of every answer, with their meaning. */
const COMMON_HEADERS = {
  'X-Request-Id': 'Id of this answer, also in the body of errors.',
  'X-RateLimit-Limit':
    'Requests allowed in the window: a minute from its first call; the UTC day in a refusal for its requests.',
  'X-RateLimit-Remaining': 'Requests left in the window.',
  'X-RateLimit-Reset': 'Unix seconds at which the window ends.',
  RateLimit: 'Requests left and seconds until the window ends, in the form of the IETF draft.',
  'RateLimit-Policy': 'Requests per window, in the form of the IETF draft.',
  'X-Credits-Charged': 'Credits that this call cost; 0 for refusals, free calls and replays.',
  'Cache-Control': 'Whether, and by whom, the answer may be kept.',
  Vary: 'Request headers that the answer depends on.',
};
const OTHER_HEADERS = {
  ETag: 'Weak tag: equal tags mean equal answers apart from age_seconds.',
  'X-Data-Source':
    'What the data are that the answer read: observed, simulated, or mixed where it read both. Absent when none of them is published.',
  'Content-Disposition': 'Name under which the answer may be saved.',
  'Idempotent-Replay': 'true when this is the answer to an earlier request with the same Idempotency-Key.',
  'WWW-Authenticate': 'Bearer realm="hail".',
  'X-Required-Scope': 'The missing scope, with insufficient_scope.',
  Allow: 'Methods that the path takes.',
  'Retry-After': 'Seconds until the next request will be admitted.',
};
/** Headers of files. */
export const FILE_HEADERS = {
  'Accept-Ranges': 'bytes: parts of the file may be asked for with Range.',
  'Content-Range': 'Which bytes of how many these are; after 416 only how many there are.',
  'Content-Length': 'Bytes of the body; absent where it is compressed.',
  'Content-Encoding': 'gzip where the answer is compressed, for clients that take it.',
};
const INTEGER_HEADERS = /^X-RateLimit-|^X-Credits-|^Retry-After$|^Content-Length$/;
const ERROR_HEADERS: Readonly<Record<string, readonly string[]>> = {
  401: ['WWW-Authenticate'],
  403: ['X-Required-Scope'],
  405: ['Allow'],
  416: ['Content-Range'],
  429: ['Retry-After'],
  503: ['Retry-After'],
};
export const EXAMPLE_REQUEST_ID = 'req_01KQHS8V6ZJ6J2C4T2W9M8N7QX';

/** What the answers of a variant have in common. */
export interface AnswerShape {
  readonly error: {
    readonly schema: z.ZodType;
    readonly example: (code: ErrorCode, message: string) => unknown;
  };
}

/** The headers of each variant and `more` as components of a document. */
export function headerComponents(more: Readonly<Record<string, string>>) {
  const all = Object.entries({ ...COMMON_HEADERS, ...OTHER_HEADERS, ...more });
  return Object.fromEntries(
    all.map(([name, description]) => {
      const type = INTEGER_HEADERS.test(name) ? ('integer' as const) : ('string' as const);
      return [name, { description, schema: { type } }];
    }),
  );
}

/** References to the headers of every answer and to `more`. */
export function headersOf(...more: readonly string[]) {
  const names = [...Object.keys(COMMON_HEADERS), ...more];
  return Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` as const }]));
}

/** One response for each status with its error codes and their messages; `headers` go with every one. */
export function errorResponses(
  codes: readonly ErrorCode[],
  shape: AnswerShape,
  messageFor: (code: ErrorCode) => string = fixedMessage,
  headers: readonly string[] = [],
): ZodOpenApiResponsesObject {
  const { schema, example } = shape.error;
  const byStatus = Map.groupBy(codes, (code) => `${ERRORS[code].status}`);
  return Object.fromEntries(
    [...byStatus].map(([status, here]) => {
      const examples = Object.fromEntries(here.map((code) => [code, { value: example(code, messageFor(code)) }]));
      const response = {
        description: here.map((code) => `\`${code}\`: ${ERRORS[code].meaning}.`).join(' '),
        headers: headersOf(...headers, ...(ERROR_HEADERS[status] ?? [])),
        content: { 'application/json': { schema, examples } },
      };
      return [status, response];
    }),
  );
}

/** Message of a code whose message is the same at every endpoint. */
export function fixedMessage(code: ErrorCode): string {
  return (ERROR_MESSAGES as Readonly<Partial<Record<ErrorCode, string>>>)[code] ?? ERRORS[code].meaning;
}

/**
 * Changes a JSON schema for publication: a unit becomes `x-unit`, an enum of an answer becomes `x-extensible-enum`, and a tuple of
 * equal members becomes a list of fixed length.
 */
export function publishSchema(jsonSchema: object, io: 'input' | 'output'): void {
  rename(jsonSchema, 'unit', 'x-unit');
  if (io === 'output') rename(jsonSchema, 'enum', 'x-extensible-enum');
  const { prefixItems = [] } = jsonSchema as { readonly prefixItems?: readonly object[] };
  if (new Set(prefixItems.map((item) => JSON.stringify(item))).size !== 1) return;
  Object.assign(jsonSchema, { items: prefixItems[0], minItems: prefixItems.length, maxItems: prefixItems.length });
  Reflect.deleteProperty(jsonSchema, 'prefixItems');
}

/** Calls the defaults of properties `x-default`, because generators of clients make a property with a `default` required. */
export function renameDefaults(properties: object = {}): void {
  for (const property of Object.values(properties)) rename(property, 'default', 'x-default');
}

function rename(value: object, from: string, to: string): void {
  if (!(from in value)) return;
  Object.assign(value, { [to]: Reflect.get(value, from) });
  Reflect.deleteProperty(value, from);
}

/** An operation as far as sharing reads it. */
interface Answering {
  readonly responses: Record<string, object>;
}

/**
 * Moves every response that several operations have in common to `components.responses`; successes with a body stay. Its name is
 * that of the status, `Unauthorized`; others of the same status are numbered, `Forbidden2`.
 */
export function shareResponses<Document extends { paths?: object; components?: object }>(document: Document): Document {
  const operations: Answering[] = Object.values(document.paths ?? {}).flatMap((methods) => Object.values(methods));
  const all = operations.flatMap(({ responses }) =>
    Object.entries(responses).map(([status, response]) => ({ status, response, responses })),
  );
  const shared: Record<string, object> = {};
  for (const uses of Map.groupBy(all, ({ status, response }) => status + JSON.stringify(response)).values()) {
    const [{ status, response }] = uses as [(typeof all)[number]];
    if (uses.length === 1 || (status.startsWith('2') && 'content' in response)) continue;
    const word = (STATUS_CODES[status] ?? status).replaceAll(/[^A-Za-z]/g, '');
    const taken = Object.keys(shared).filter((name) => name.replace(/\d+$/, '') === word).length;
    const name = taken === 0 ? word : `${word}${taken + 1}`;
    shared[name] = response;
    for (const { responses } of uses) responses[status] = { $ref: `#/components/responses/${name}` };
  }
  Object.assign(document.components ?? {}, { responses: shared });
  return document;
}
