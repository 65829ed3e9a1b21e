import { z } from 'zod';
import {
  createDocument,
  type ZodOpenApiOperationObject,
  type ZodOpenApiPathsObject,
  type ZodOpenApiResponsesObject,
} from 'zod-openapi';
import { ErrorBody, type ErrorCode } from '../../schemas/errors.ts';
import { decimal } from '../../schemas/units.ts';
import type { Price } from '../billing/ledger.ts';
import { ApiError } from '../http/errors.ts';
import { mediaType } from '../http/reply.ts';
import type { Endpoint } from './endpoint.ts';
import * as answers from './openapi-answers.ts';
import { ANYWHERE, fileOperations, WITHOUT_KEY } from './openapi-files.ts';
import { CURRENT_EVENTS, type DescribedEvent, describedWebhooks } from './openapi-webhooks.ts';
import { allowHeader, noRouteError, paramNames } from './router.ts';
import { parseQuery, validInput } from './validate.ts';

interface DocumentOptions {
  readonly endpoints: readonly Endpoint[];
  /** Public address, ending in `/v1`. */
  readonly base_url: string;
  readonly version: string;
  /** Which variant of the interface is described; the current one when left out. */
  readonly variant?: DescribedVariant;
}

/** What a description says of a variant in addition to its endpoints. */
export interface DescribedVariant extends answers.AnswerShape {
  readonly title: string;
  readonly introduction: string;
  /** Path of the description. */
  readonly own_path: string;
  readonly keys: string;
  /** Its test keys open every endpoint. */
  readonly opens_test_keys: boolean;
  readonly events: readonly DescribedEvent[];
}

const INTRODUCTION = `Hail intelligence for the contiguous United States, answered straight from published radar files.

Every call carries \`Authorization: Bearer <API_KEY>\`. Calls cost credits: a 304 costs what the 200 it mirrors costs, refusals
and failures cost nothing; \`X-Credits-Charged\` says what a call cost. A parameter or field that is not described here is refused,
unless its name begins with an underscore. Sizes are millimetres, distances kilometres, times UTC, unless a name ends in another unit. Sizes
are radar estimates, not ground measurements.

HEAD answers as GET does, without the body and for the same price. Words in answers may grow in number: those known today stand
in \`x-extensible-enum\`, and a client must expect others. \`x-unit\` is the unit of a number, \`x-default\` the value of a property that is left out.`;

const CURRENT: DescribedVariant = {
  error: {
    schema: ErrorBody,
    example: (error, message) => ({ error, message, request_id: answers.EXAMPLE_REQUEST_ID }),
  },
  title: 'hail',
  introduction: INTRODUCTION,
  own_path: '/v1/openapi.json',
  keys: 'A key that begins with hs_live_ (or hs_test_, for /v1/health).',
  opens_test_keys: false,
  events: CURRENT_EVENTS,
};

/** Error codes of every endpoint. */
const EVERYWHERE = [
  'invalid_parameter',
  'bad_request',
  'unauthorized',
  'forbidden',
  'insufficient_scope',
  'method_not_allowed',
  'not_acceptable',
  'uri_too_long',
  'rate_limited',
  'too_many_failed_attempts',
  'headers_too_large',
  'internal_error',
  'metering_unavailable',
] as const;

/** The description of the interface in OpenAPI 3.1, made from the same values that route, validate and answer. */
export function describeApi({ endpoints, base_url, version, variant = CURRENT }: DocumentOptions) {
  const paths: Record<string, Record<string, ZodOpenApiOperationObject>> = {};
  const add = (path: string, method: string, operation: ZodOpenApiOperationObject) => {
    paths[path] = { ...paths[path], [method]: operation, ...(method === 'get' && { head: headOf(operation) }) };
  };
  for (const endpoint of endpoints) {
    const methods = endpoints.filter(({ path }) => path === endpoint.path).map(({ method }) => method);
    add(endpoint.path, endpoint.method.toLowerCase(), operation(endpoint, methods, variant));
  }
  if (variant === CURRENT) for (const [path, get] of Object.entries(fileOperations(variant))) add(path, 'get', get);
  add(variant.own_path, 'get', ownOperation(variant));
  const tags = new Set([...endpoints.map(({ group }) => group), ...(variant === CURRENT ? ['Files'] : [])]);
  const document = createDocument(
    {
      openapi: '3.1.0',
      info: {
        title: variant.title,
        version,
        description: variant.introduction,
        license: { name: 'MIT', identifier: 'MIT' },
      },
      servers: [{ url: base_url.replace(/\/v1$/, '') }],
      security: [{ key: [] }],
      tags: [...tags].map((name) => ({ name })),
      paths: paths as ZodOpenApiPathsObject,
      webhooks: describedWebhooks(variant.events),
      components: {
        headers: answers.headerComponents(variant === CURRENT ? answers.FILE_HEADERS : {}),
        securitySchemes: { key: { type: 'http', scheme: 'bearer', description: variant.keys } },
      },
    },
    {
      override: ({ jsonSchema, io, path }) => {
        answers.publishSchema(jsonSchema, io);
        if (path.length > 0) answers.renameDefaults(jsonSchema.properties); // the root holds the parameters of every operation
      },
    },
  );
  return answers.shareResponses(document);
}

/** HEAD operation of a GET operation: the same without a body. */
function headOf(get: ZodOpenApiOperationObject): ZodOpenApiOperationObject {
  const { operationId = '', summary = '', responses } = get;
  const bodiless = Object.entries(responses ?? {}).map(([status, { content: _, ...rest }]) => [status, rest]);
  return {
    ...get,
    operationId: operationId.replace(/^get/, 'head'),
    summary: `${summary}: head only`,
    responses: Object.fromEntries(bodiless),
  };
}

/** `get /v1/storms/{track_id}` → `getStormsByTrackId`; a mount before `/v1` comes first: `getLegacyHailCurrent`. */
export function operationId({ method, path }: Pick<Endpoint, 'method' | 'path'>): string {
  const words = path
    .replace(/^\/(\w+\/)?v1\//, '$1')
    .replaceAll('{', 'by_')
    .split(/\W|_/)
    .map((word) => word.charAt(0).toUpperCase() + word.slice(1));
  return method.toLowerCase() + words.join('');
}

function operation(
  endpoint: Endpoint,
  methods: readonly string[],
  variant: DescribedVariant,
): ZodOpenApiOperationObject {
  const { params, query, body, example, priced } = endpoint;
  const price = examplePrice(endpoint);
  return {
    operationId: operationId(endpoint),
    tags: [endpoint.group],
    summary: endpoint.summary,
    description: endpoint.description,
    'x-scope': endpoint.scope,
    'x-feature': endpoint.feature,
    'x-test-key': endpoint.test_key || variant.opens_test_keys,
    'x-credits': price === null ? 0 : price.credits / price.count,
    'x-credits-per': endpoint.priced_per ?? 'call',
    'x-operation': price?.operation ?? null,
    ...(priced.length > 0 && { 'x-prices': priced.map((when) => priceAt(endpoint, when)) }),
    requestParams: {
      ...(params instanceof z.ZodObject && { path: params }),
      ...(query instanceof z.ZodObject && { query: withExamples(query, example?.query) }),
      header: z.object({
        ...(isRepeatable(endpoint) && { 'Idempotency-Key': IDEMPOTENCY_KEY }),
        ...(isTagged(endpoint) && { 'If-None-Match': IF_NONE_MATCH }),
      }),
    },
    ...(body !== null && {
      requestBody: { required: !body.safeParse(undefined).success, content: json(body, example?.body) },
    }),
    responses: {
      ...successes(endpoint),
      ...answers.errorResponses(
        errorCodes(endpoint, price !== null),
        variant,
        (code) => exampleMessage(code, endpoint, methods),
        isRepeatable(endpoint) ? ['Idempotent-Replay'] : [],
      ),
    },
  };
}

const isTagged = (endpoint: Endpoint) => endpoint.kind === 'read' && endpoint.cacheable;
const isRepeatable = (endpoint: Endpoint) => endpoint.kind === 'write' && endpoint.idempotent;
const IF_NONE_MATCH = z.string().optional().meta({ description: 'Tags of answers that are at hand.' });
const IDEMPOTENCY_KEY = z.string().min(1).max(255).optional().meta({
  description: 'Makes a repetition within 24 hours answer with the first answer, and change nothing.',
});
const json = (schema: z.ZodType, example: unknown) => ({
  'application/json': { schema, ...(example !== undefined && { example }) },
});

/** Price of the example call, with `otherwise` overriding its query string; null: free, or no valid example. */
function examplePrice(endpoint: Endpoint, otherwise = ''): Price | null {
  const { query, body, example } = endpoint;
  const asked = query?.safeParse({ ...example?.query, ...Object.fromEntries(new URLSearchParams(otherwise)) });
  const sent = body?.safeParse(example?.body);
  if (asked?.success === false || sent?.success === false) return null;
  return endpoint.price({ params: exampleParams(endpoint), query: asked?.data ?? null, body: sent?.data ?? null });
}

/** Price of a query string; a call costs `credits` for each of its `count`. */
function priceAt(endpoint: Endpoint, when: string) {
  const { operation = null, credits = 0, count = 1 } = examplePrice(endpoint, when) ?? {};
  return { when, operation, credits: credits / count };
}

const exampleParams = ({ path }: Endpoint) => Object.fromEntries(paramNames(path).map((name) => [name, 'example']));

/** Query parameters with the values of the example. */
function withExamples({ shape }: z.ZodObject, example: Readonly<Record<string, string>> = {}): z.ZodObject {
  const changed = Object.entries(example).map(([name, text]) => {
    const schema = shape[name] as z.ZodType;
    return [name, schema.meta({ ...schema.meta(), param: { example: decimal(text) ?? text } })];
  });
  return z.object({ ...shape, ...Object.fromEntries(changed) });
}

function successes(endpoint: Endpoint): ZodOpenApiResponsesObject {
  const { kind, reply, example, status, other_replies } = endpoint;
  const has_source = kind === 'write' ? endpoint.data_source !== null : endpoint.plan !== null && endpoint.reads_dates;
  const is_text = reply instanceof z.ZodString;
  const headers = answers.headersOf(
    ...(isTagged(endpoint) ? ['ETag'] : []),
    ...(has_source ? ['X-Data-Source'] : []),
    ...(isRepeatable(endpoint) ? ['Idempotent-Replay'] : []),
    ...(is_text ? ['Content-Disposition'] : []),
  );
  const others = Object.entries(other_replies).map(([type, schema]) => [mediaType(type), { schema }]);
  const content = { ...(!is_text && json(reply, example?.reply)), ...Object.fromEntries(others) };
  const unchanged = 'The answer at hand is still right. Costs what the 200 costs.';
  return {
    [`${status}`]: { description: status === 202 ? 'Accepted.' : 'Success.', headers, content },
    ...(isTagged(endpoint) && { '304': { description: unchanged, headers } }),
  };
}

function errorCodes(endpoint: Endpoint, is_billed: boolean): readonly ErrorCode[] {
  const also = (applies: boolean, ...codes: readonly ErrorCode[]) => (applies ? codes : []);
  return [
    ...EVERYWHERE,
    ...also(endpoint.feature !== null, 'feature_not_available'),
    ...also(endpoint.path.includes('{'), 'not_found'),
    ...also(endpoint.body !== null, 'payload_too_large', 'unsupported_media_type'),
    ...also(isRepeatable(endpoint), 'invalid_idempotency_key', 'idempotency_key_in_progress'),
    ...endpoint.refusals,
    ...also(endpoint.kind === 'write', 'resource_exhausted'),
    ...also(is_billed, 'spend_cap_exceeded', 'upstream_write_failed', 'overloaded'),
  ];
}

/** Example message of an error code at an endpoint; for a fault of the request, that of the first request with it. */
function exampleMessage(code: ErrorCode, endpoint: Endpoint, methods: readonly string[]): string {
  switch (code) {
    case 'invalid_parameter':
    case 'bad_request':
      return faultsOf(endpoint).find((fault) => fault.code === code)?.message ?? answers.fixedMessage(code);
    case 'insufficient_scope':
      return `the key lacks the scope ${endpoint.scope}`;
    case 'feature_not_available':
      return `the plan has no ${endpoint.feature}`;
    case 'payload_too_large':
      return `body is larger than ${endpoint.body_limit_bytes} bytes`;
    case 'method_not_allowed':
      return methodMessage(methods);
    default:
      return answers.fixedMessage(code);
  }
}

const methodMessage = (methods: readonly string[]) => noRouteError('TRACE', allowHeader(methods)).message;

/** Refusals of faulty requests: nothing asked, each parameter as `?`, wrong encoding, no body, an empty body. */
function faultsOf(endpoint: Endpoint): readonly ApiError[] {
  const { query, example } = endpoint;
  const names = query instanceof z.ZodObject ? Object.keys(query.shape) : [];
  const asked = `${new URLSearchParams(example?.query)}`;
  const faulty = ['', ...names.map((name) => `${name}=?`), 'a=%FF', asked].map((text) => [text, null] as const);
  return [...faulty, [asked, {}] as const].flatMap(([text, body]) => {
    try {
      validInput(endpoint, exampleParams(endpoint), parseQuery(text), body);
      return [];
    } catch (error) {
      if (error instanceof ApiError) return [error];
      throw error;
    }
  });
}

/** The operation that answers with the description. */
function ownOperation(variant: DescribedVariant): ZodOpenApiOperationObject {
  const headers = answers.headersOf('ETag');
  const message = (code: ErrorCode) =>
    code === 'method_not_allowed' ? methodMessage(['GET']) : answers.fixedMessage(code);
  const content = { 'application/json': { schema: { type: 'object' as const } } };
  return {
    operationId: operationId({ method: 'GET', path: variant.own_path }),
    tags: ['Account'],
    summary: 'This description',
    description: 'The interface in OpenAPI 3.1. Free, without a key.',
    ...WITHOUT_KEY,
    responses: {
      '200': { description: 'The description.', headers, content },
      '304': { description: 'The description at hand is still right.', headers },
      ...answers.errorResponses(ANYWHERE, variant, message),
    },
  };
}
