import type { z } from 'zod';
import type { ZodOpenApiResponseObject, ZodOpenApiResponsesObject } from 'zod-openapi';
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

/** Every header as a component of a document. */
export function headerComponents() {
  const all = Object.entries({ ...COMMON_HEADERS, ...OTHER_HEADERS });
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

/** One response for each status with its error codes; `headers` go with every one. */
export type ErrorResponses = (codes: readonly ErrorCode[], ...headers: readonly string[]) => ZodOpenApiResponsesObject;

/** Makes error responses; equal ones are one component of the document. */
export function errorResponses({ error: { schema, example } }: AnswerShape): ErrorResponses {
  const made = new Map<string, ZodOpenApiResponseObject>();
  const responseOf = (status: string, codes: readonly ErrorCode[], headers: readonly string[]) => {
    const id = [...codes, ...headers].join('-');
    const examples = Object.fromEntries(codes.map((code) => [code, { value: example(code, messageOf(code)) }]));
    const response = made.get(id) ?? {
      id,
      description: codes.map((code) => `\`${code}\`: ${ERRORS[code].meaning}.`).join(' '),
      headers: headersOf(...headers, ...(ERROR_HEADERS[status] ?? [])),
      content: { 'application/json': { schema, examples } },
    };
    made.set(id, response);
    return response;
  };
  return (codes, ...headers) => {
    const byStatus = Map.groupBy(codes, (code) => `${ERRORS[code].status}`);
    return Object.fromEntries([...byStatus].map(([status, here]) => [status, responseOf(status, here, headers)]));
  };
}

function messageOf(code: ErrorCode): string {
  return (ERROR_MESSAGES as Readonly<Partial<Record<ErrorCode, string>>>)[code] ?? ERRORS[code].meaning;
}
