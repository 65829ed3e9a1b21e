import { z } from 'zod';
import {
  createDocument,
  type ZodOpenApiObject,
  type ZodOpenApiOperationObject,
  type ZodOpenApiOverride,
  type ZodOpenApiParameters,
  type ZodOpenApiPathsObject,
  type ZodOpenApiRequestBodyObject,
  type ZodOpenApiResponseObject,
  type ZodOpenApiResponsesObject,
} from 'zod-openapi';
import { ERROR_MESSAGES, ERRORS, type ErrorCode } from '../schemas/errors.ts';
import { decimal } from '../schemas/units.ts';
import type { Endpoint, Price } from './endpoint.ts';
import { ApiError } from './errors.ts';
import { parseQuery } from './http/query.ts';
import { allowHeader, noRouteError } from './http/routes.ts';
import { validInput } from './middleware/validate.ts';
import {
  type AnswerShape,
  CURRENT_ANSWERS,
  commonHeaderRefs,
  errorResponses,
  FILE_HEADERS,
  fixedMessage,
  HEADERS,
  headerRefs,
  publishSchema,
  renameDefaults,
  WITHOUT_KEY,
} from './openapi-components.ts';
import { FILES_GROUP, filePaths } from './openapi-files.ts';
import { nameResources } from './openapi-resources.ts';
import { shareResponses } from './openapi-responses.ts';
import { CURRENT_EVENTS, type DescribedEvent, describedWebhooks } from './openapi-webhooks.ts';

/** An OpenAPI 3.1 document, as plain JSON. */
type ApiDocument = ReturnType<typeof createDocument>;

interface DocumentOptions {
  readonly endpoints: readonly Endpoint[];
  /** Public address, ending in `/v1`. */
  readonly base_url: string;
  readonly version: string;
  /** Which variant of the interface is described; the current one when left out. */
  readonly variant?: DescribedVariant;
}

const INTRODUCTION = `Hail intelligence for the contiguous United States, answered straight from published radar files.

Every call carries \`Authorization: Bearer <API_KEY>\`. Calls cost credits: a 304 costs what the 200 it mirrors costs, refusals
and failures cost nothing; \`X-Credits-Charged\` says what a call cost. A parameter or field that is not described here is refused,
unless its name begins with an underscore. Sizes are millimetres, distances kilometres, times UTC, unless a name ends in another unit. Sizes
are radar estimates, not ground measurements.

HEAD answers as GET does, without the body and for the same price. Words in answers may grow in number: those known today stand
in \`x-extensible-enum\`, and a client must expect others. \`x-unit\` is the unit of a number, \`x-default\` the value of a property that is left out.`;

/** What a description says of a variant in addition to its endpoints. */
export interface DescribedVariant extends AnswerShape {
  readonly title: string;
  readonly introduction: string;
  /** Path of the description. */
  readonly own_path: string;
  readonly keys: string;
  /** Its test keys open every endpoint. */
  readonly opens_test_keys: boolean;
  readonly events: readonly DescribedEvent[];
}

const CURRENT: DescribedVariant = {
  ...CURRENT_ANSWERS,
  title: 'hail',
  introduction: INTRODUCTION,
  own_path: '/v1/openapi.json',
  keys: 'A key that begins with hs_live_ (or hs_test_, for /v1/health).',
  opens_test_keys: false,
  events: CURRENT_EVENTS,
};

/** Error codes of every endpoint. */
const EVERYWHERE: readonly ErrorCode[] = [
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
];

/** The description of the interface, made from the same values that route, validate and answer. */
export function describeApi({ endpoints, base_url, version, variant = CURRENT }: DocumentOptions): ApiDocument {
  const { title, introduction, own_path, keys } = variant;
  nameResources();
  const paths: Record<string, Record<string, ZodOpenApiOperationObject>> = {};
  for (const endpoint of endpoints) {
    const place = paths[endpoint.path] ?? {};
    const described = operation(endpoint, endpoints, variant);
    place[endpoint.method.toLowerCase()] = described;
    if (endpoint.method === 'GET') place.head = headOperation(described);
    paths[endpoint.path] = place;
  }
  const own = documentOperation(variant);
  const document: ZodOpenApiObject = {
    openapi: '3.1.0',
    info: { title, version, description: introduction, license: { name: 'MIT', identifier: 'MIT' } },
    servers: [{ url: base_url.replace(/\/v1$/, '') }],
    security: [{ key: [] }],
    tags: [...new Set(endpoints.map(({ group }) => group)), ...(variant === CURRENT ? [FILES_GROUP] : [])].map(
      (name) => ({
        name,
      }),
    ),
    paths: {
      ...paths,
      ...(variant === CURRENT ? withHeadOperations(filePaths()) : {}),
      [own_path]: { get: own, head: headOperation(own) },
    } as ZodOpenApiPathsObject,
    webhooks: describedWebhooks(variant.events),
    components: {
      headers: { ...HEADERS, ...(variant === CURRENT ? FILE_HEADERS : variant.headers) },
      securitySchemes: {
        key: {
          type: 'http',
          scheme: 'bearer',
          description: keys,
        },
      },
    },
  };
  return shareResponses(renameDefaults(createDocument(document, { override: publishOverride })));
}

const publishOverride: ZodOpenApiOverride = ({ jsonSchema, io }) => publishSchema(jsonSchema, io);

/** GET operations, each with its HEAD operation. */
function withHeadOperations(paths: Readonly<Record<string, ZodOpenApiOperationObject>>) {
  return Object.fromEntries(Object.entries(paths).map(([path, get]) => [path, { get, head: headOperation(get) }]));
}

/** HEAD operation of a GET operation: the same without a body. */
function headOperation(endpointOperation: ZodOpenApiOperationObject): ZodOpenApiOperationObject {
  const { operationId = '', summary = '', responses } = endpointOperation;
  return {
    ...endpointOperation,
    operationId: operationId.replace(/^get/, 'head'),
    summary: `${summary}: head only`,
    responses: Object.fromEntries(
      Object.entries(responses as Record<string, ZodOpenApiResponseObject>).map(([status, { content: _, ...rest }]) => [
        status,
        rest,
      ]),
    ) as ZodOpenApiResponsesObject,
  };
}

/** `get /v1/storms/{track_id}` → `getStormsByTrackId`; a mount before `/v1` comes first: `getLegacyHailCurrent`. */
export function operationId({ method, path }: Pick<Endpoint, 'method' | 'path'>): string {
  const words = path
    .replace(/^\/(\w+\/)?v1\//, '$1')
    .split(/[/_-]/)
    .map((word) => (word.startsWith('{') ? `by_${word.slice(1)}` : word).replace('}', ''))
    .flatMap((word) => word.split('_'));
  return method.toLowerCase() + words.map((word) => word.charAt(0).toUpperCase() + word.slice(1)).join('');
}

/** Price of the example call, with `otherwise` overriding its query string; null: free, or no valid example. */
function examplePrice(endpoint: Endpoint, otherwise = ''): Price | null {
  const { example } = endpoint;
  const query = endpoint.query?.safeParse({ ...example?.query, ...Object.fromEntries(new URLSearchParams(otherwise)) });
  const body = endpoint.body?.safeParse(example?.body);
  if (query?.success === false || body?.success === false) return null;
  return endpoint.price({ params: exampleParams(endpoint), query: query?.data ?? null, body: body?.data ?? null });
}

/** Every price of an endpoint, each with its query string; a call costs `credits` for each of its `count`. */
function examplePrices(endpoint: Endpoint) {
  return endpoint.priced.map((when) => {
    const { operation = null, credits = 0, count = 1 } = examplePrice(endpoint, when) ?? {};
    return { when, operation, credits: credits / count };
  });
}

function exampleParams({ path }: Endpoint): Record<string, string> {
  return Object.fromEntries([...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => [name as string, 'example']));
}

function operation(
  endpoint: Endpoint,
  endpoints: readonly Endpoint[],
  variant: DescribedVariant,
): ZodOpenApiOperationObject {
  const { scope, feature, test_key, priced_per } = endpoint;
  const price = examplePrice(endpoint);
  return {
    operationId: operationId(endpoint),
    tags: [endpoint.group],
    summary: endpoint.summary,
    description: endpoint.description,
    'x-scope': scope,
    'x-feature': feature,
    'x-test-key': test_key || variant.opens_test_keys,
    'x-credits': price === null ? 0 : price.credits / price.count,
    'x-credits-per': priced_per ?? 'call',
    'x-operation': price?.operation ?? null,
    ...(endpoint.priced.length === 0 ? {} : { 'x-prices': examplePrices(endpoint) }),
    requestParams: requestParams(endpoint),
    ...(endpoint.body === null ? {} : { requestBody: requestBody(endpoint, endpoint.body) }),
    responses: responses(endpoint, endpoints, variant),
  };
}

function requestParams(endpoint: Endpoint): ZodOpenApiParameters {
  const header = z.object({
    ...(takesIdempotencyKey(endpoint)
      ? {
          'Idempotency-Key': z.string().min(1).max(255).optional().meta({
            description: 'Makes a repetition within 24 hours answer with the first answer, and change nothing.',
          }),
        }
      : {}),
    ...(isCacheable(endpoint)
      ? { 'If-None-Match': z.string().optional().meta({ description: 'Tags of answers that are at hand.' }) }
      : {}),
  });
  return {
    ...(endpoint.params instanceof z.ZodObject ? { path: endpoint.params } : {}),
    ...(endpoint.query instanceof z.ZodObject ? { query: withExamples(endpoint.query, endpoint.example?.query) } : {}),
    ...(Object.keys(header.shape).length === 0 ? {} : { header }),
  };
}

/** Query parameters with the values of the example. */
function withExamples(query: z.ZodObject, example: Readonly<Record<string, string>> = {}): z.ZodObject {
  const shape = Object.entries(query.shape).map(([name, schema]) => {
    const text = example[name];
    if (text === undefined) return [name, schema];
    return [
      name,
      (schema as z.ZodType).meta({ ...(schema as z.ZodType).meta(), param: { example: decimal(text) ?? text } }),
    ];
  });
  return z.object(Object.fromEntries(shape));
}

function requestBody(endpoint: Endpoint, schema: z.ZodType): ZodOpenApiRequestBodyObject {
  const example = endpoint.example?.body;
  return {
    required: !schema.safeParse(undefined).success,
    content: { 'application/json': { schema, ...(example === undefined ? {} : { example }) } },
  };
}

function responses(
  endpoint: Endpoint,
  endpoints: readonly Endpoint[],
  variant: DescribedVariant,
): ZodOpenApiResponsesObject {
  const textOnly = endpoint.reply instanceof z.ZodString;
  const own = {
    ...commonHeaderRefs(variant),
    ...(isCacheable(endpoint) ? headerRefs(['ETag']) : {}),
    ...(sendsDataSource(endpoint) ? headerRefs(['X-Data-Source']) : {}),
    ...(takesIdempotencyKey(endpoint) ? headerRefs(['Idempotent-Replay']) : {}),
    ...(textOnly ? headerRefs(['Content-Disposition']) : {}),
  };
  const others = Object.entries(endpoint.other_replies).map(([type, schema]) => [type.split(';')[0], { schema }]);
  const example = endpoint.example?.reply;
  return {
    [String(endpoint.status)]: {
      description: endpoint.status === 202 ? 'Accepted.' : 'Success.',
      headers: own,
      content: {
        ...(textOnly
          ? {}
          : { 'application/json': { schema: endpoint.reply, ...(example === undefined ? {} : { example }) } }),
        ...Object.fromEntries(others),
      },
    },
    ...(isCacheable(endpoint)
      ? { '304': { description: 'The answer at hand is still right. Costs what the 200 costs.', headers: own } }
      : {}),
    ...errorResponses(
      errorCodes(endpoint),
      (code) => exampleMessage(code, endpoint, endpoints),
      variant,
      takesIdempotencyKey(endpoint) ? headerRefs(['Idempotent-Replay']) : {},
    ),
  };
}

function errorCodes(endpoint: Endpoint): readonly ErrorCode[] {
  return [
    ...EVERYWHERE,
    ...(endpoint.feature === null ? [] : (['feature_not_available'] as const)),
    ...(endpoint.path.includes('{') ? (['not_found'] as const) : []),
    ...(endpoint.body === null ? [] : (['payload_too_large', 'unsupported_media_type'] as const)),
    ...(takesIdempotencyKey(endpoint) ? (['invalid_idempotency_key', 'idempotency_key_in_progress'] as const) : []),
    ...endpoint.refusals,
    ...(endpoint.kind === 'write' ? (['resource_exhausted'] as const) : []),
    ...(examplePrice(endpoint) === null
      ? []
      : (['spend_cap_exceeded', 'upstream_write_failed', 'overloaded'] as const)),
  ];
}

/** Example message of an error code at an endpoint. */
function exampleMessage(code: ErrorCode, endpoint: Endpoint, endpoints: readonly Endpoint[]): string {
  switch (code) {
    case 'invalid_parameter':
      return parameterMessage(endpoint);
    case 'bad_request':
      return endpoint.body === null ? ERROR_MESSAGES.bad_request : bodyMessage(endpoint);
    case 'insufficient_scope':
      return `the key lacks the scope ${endpoint.scope}`;
    case 'feature_not_available':
      return `the plan has no ${endpoint.feature}`;
    case 'payload_too_large':
      return `body is larger than ${endpoint.body_limit_bytes} bytes`;
    case 'method_not_allowed':
      return methodMessage(endpoints.filter(({ path }) => path === endpoint.path).map(({ method }) => method));
    default:
      return fixedMessage(code);
  }
}

function methodMessage(methods: readonly string[]): string {
  return noRouteError('TRACE', allowHeader(methods)).message;
}

/** Message of the first refused query string: an empty one, one with an invalid parameter, or invalid encoding. */
function parameterMessage(endpoint: Endpoint): string {
  const names = endpoint.query instanceof z.ZodObject ? Object.keys(endpoint.query.shape) : [];
  const queries = ['', ...names.map((name) => `${name}=?`), 'a=%FF'];
  const faults = queries.map((query) =>
    caughtApiError(() => validInput(endpoint, exampleParams(endpoint), parseQuery(query), null)),
  );
  return faults.find((fault) => fault?.code === 'invalid_parameter')?.message ?? ERRORS.invalid_parameter.meaning;
}

/** Message of a refused body: no body, or an empty object. */
function bodyMessage(endpoint: Endpoint): string {
  const query = { ...endpoint.example?.query };
  const faults = [null, {}].map((body) =>
    caughtApiError(() => validInput(endpoint, exampleParams(endpoint), query, body)),
  );
  return faults.find((fault) => fault?.code === 'bad_request')?.message ?? ERROR_MESSAGES.bad_request;
}

function caughtApiError(check: () => unknown): ApiError | null {
  try {
    check();
    return null;
  } catch (error) {
    if (error instanceof ApiError) return error;
    throw error;
  }
}

function documentOperation(variant: DescribedVariant): ZodOpenApiOperationObject {
  const own = { ...commonHeaderRefs(variant), ...headerRefs(['ETag']) };
  return {
    operationId: operationId({ method: 'GET', path: variant.own_path.replace('.', '_') }),
    tags: ['Account'],
    summary: 'This description',
    description: 'The interface in OpenAPI 3.1. Free, without a key.',
    ...WITHOUT_KEY,
    responses: {
      '200': {
        description: 'The description.',
        headers: own,
        content: { 'application/json': { schema: { type: 'object' } } },
      },
      '304': { description: 'The description at hand is still right.', headers: own },
      ...errorResponses(
        ['bad_request', 'method_not_allowed', 'uri_too_long', 'headers_too_large'],
        (code) => (code === 'method_not_allowed' ? methodMessage(['GET']) : fixedMessage(code)),
        variant,
      ),
    },
  };
}

/** Whether answers have X-Data-Source. */
function sendsDataSource(endpoint: Endpoint): boolean {
  if (endpoint.kind === 'write') return endpoint.data_source !== null;
  return endpoint.plan !== null && endpoint.reads_dates;
}

function isCacheable(endpoint: Endpoint): boolean {
  return endpoint.kind === 'read' && endpoint.cacheable;
}

function takesIdempotencyKey(endpoint: Endpoint): boolean {
  return endpoint.kind === 'write' && endpoint.idempotent;
}
