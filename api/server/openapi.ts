import { readFileSync } from 'node:fs';
import { z } from 'zod';
import {
  createDocument,
  type ZodOpenApiOperationObject,
  type ZodOpenApiParameters,
  type ZodOpenApiPathsObject,
  type ZodOpenApiResponseObject,
  type ZodOpenApiResponsesObject,
} from 'zod-openapi';
import { ERROR_MESSAGES, ERRORS, ErrorBody, type ErrorCode } from '../../schemas/errors.ts';
import { RELEASE } from '../../schemas/release.ts';
import { SIGNED_URL_SECONDS } from '../../schemas/resources/report-job.ts';
import { PMTILES_TYPE } from '../../schemas/resources/tile-frame.ts';
import { decimal } from '../../schemas/units.ts';
import { mediaType } from '../http/reply.ts';
import { FILE_KINDS } from '../jobs/export.ts';
import type { Endpoint } from './endpoint.ts';
import { CURRENT_EVENTS, describedWebhooks, publishSchema, renameDefaults, TEXTS } from './openapi-webhooks.ts';
import { paramNames } from './router.ts';

const INTEGER_HEADERS = /^X-RateLimit-|^X-Credits-|^Retry-After$|^Content-Length$/;
const ERROR_HEADERS: Readonly<Record<string, readonly string[]>> = {
  401: ['WWW-Authenticate'],
  403: ['X-Required-Scope'],
  405: ['Allow'],
  416: ['Content-Range', 'ETag'],
  429: ['Retry-After'],
  503: ['Retry-After'],
};
export const EXAMPLE_REQUEST_ID = 'req_01KQHS8V6ZJ6J2C4T2W9M8N7QX';

const CURRENT = {
  error: {
    schema: ErrorBody as z.ZodType,
    example: (error: ErrorCode, message: string): unknown => ({ error, message, request_id: EXAMPLE_REQUEST_ID }),
  },
  title: 'hail',
  introduction: readFileSync(new URL('./introduction.md', import.meta.url), 'utf8').trimEnd(),
  own_path: '/v1/openapi.json',
  keys: 'A key that begins with hs_live_ (or hs_test_, for /v1/health).',
  /** Its test keys open every endpoint. */
  opens_test_keys: false,
  events: CURRENT_EVENTS,
};
/** What a description says of a variant in addition to its endpoints. */
export type DescribedVariant = typeof CURRENT;

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

/**
 * The description of a variant of the interface in OpenAPI 3.1, made from the same values that route, validate and answer. `base_url`:
 * public address, ending in `/v1`.
 */
export function describeApi(endpoints: readonly Endpoint[], base_url: string, variant = CURRENT) {
  const errors = errorResponses(variant);
  const paths: Record<string, Record<string, ZodOpenApiOperationObject>> = {};
  for (const endpoint of endpoints) {
    const { path, method } = endpoint;
    paths[path] = { ...paths[path], [method.toLowerCase()]: operation(endpoint, variant, errors) };
  }
  Object.assign(paths, variant === CURRENT ? fileOperations(errors) : {});
  const tagged = headersOf('ETag');
  paths[variant.own_path] = {
    get: {
      operationId: operationId({ method: 'GET', path: variant.own_path }),
      tags: ['Account'],
      summary: 'This description',
      description: 'The interface in OpenAPI 3.1. Free, without a key.',
      ...WITHOUT_KEY,
      responses: {
        '200': {
          description: 'The description.',
          headers: tagged,
          content: { 'application/json': { schema: { type: 'object' } } },
        },
        '304': { description: 'The description at hand is still right.', headers: tagged },
        ...errors(ANYWHERE),
      },
    },
  };
  const headers = Object.entries({ ...TEXTS.common_headers, ...TEXTS.other_headers }).map(([name, description]) => {
    const type = INTEGER_HEADERS.test(name) ? ('integer' as const) : ('string' as const);
    return [name, { description, schema: { type } }] as const;
  });
  const operations = Object.values(paths).flatMap((methods) => Object.values(methods));
  const tags = new Set(operations.flatMap(({ tags = [] }) => tags));
  const document = createDocument(
    {
      openapi: '3.1.0',
      info: {
        title: variant.title,
        version: RELEASE,
        description: variant.introduction,
        license: { name: 'MIT', identifier: 'MIT' },
      },
      servers: [{ url: base_url.replace(/\/v1$/, '') }],
      security: [{ key: [] }],
      tags: [...tags].map((name) => ({ name, description: TEXTS.tags[name] as string })),
      paths: paths as ZodOpenApiPathsObject,
      webhooks: describedWebhooks(variant.events),
      components: {
        headers: Object.fromEntries(headers),
        securitySchemes: { key: { type: 'http', scheme: 'bearer', description: variant.keys } },
      },
    },
    {
      override: ({ jsonSchema, io, path }) => {
        publishSchema(jsonSchema, io);
        // A client takes answers with fields that are new, and makes no request with a field that is refused.
        if (io === 'output' && jsonSchema.additionalProperties === false) delete jsonSchema.additionalProperties;
        if (io === 'input' && variant === CURRENT && jsonSchema.properties !== undefined)
          jsonSchema.additionalProperties ??= false;
        if (path.length > 0) renameDefaults(jsonSchema.properties); // the root holds the parameters of every operation
      },
    },
  );
  // Beside a reference, where zod leaves it, the keyword refuses every member.
  return JSON.parse(JSON.stringify(document), (_, value) => {
    if (value?.$ref !== undefined) delete value.additionalProperties;
    return value;
  }) as typeof document;
}

/** References to the headers of every answer and to `more`. */
function headersOf(...more: readonly string[]) {
  const names = [...Object.keys(TEXTS.common_headers), ...more];
  return Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` as const }]));
}

type ErrorResponses = ReturnType<typeof errorResponses>;

/** Makes one response for each status with its error codes; `more` are headers of every one. Equal ones are one component. */
function errorResponses({ error: { schema, example } }: DescribedVariant) {
  const messages: Readonly<Partial<Record<ErrorCode, string>>> = ERROR_MESSAGES;
  const made = new Map<string, ZodOpenApiResponseObject>();
  return (codes: readonly ErrorCode[], ...more: readonly string[]): ZodOpenApiResponsesObject => {
    const byStatus = Map.groupBy(codes, (code) => `${ERRORS[code].status}`);
    const responses = [...byStatus].map(([status, here]) => {
      const id = [...here, ...more].join('-');
      const examples = here.map((code) => [code, { value: example(code, messages[code] ?? ERRORS[code].meaning) }]);
      const response = made.get(id) ?? {
        id,
        description: here.map((code) => `\`${code}\`: ${ERRORS[code].meaning}.`).join(' '),
        headers: headersOf(...more, ...(ERROR_HEADERS[status] ?? [])),
        content: { 'application/json': { schema, examples: Object.fromEntries(examples) } },
      };
      made.set(id, response);
      return [status, response];
    });
    return Object.fromEntries(responses);
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
  { opens_test_keys }: DescribedVariant,
  errors: ErrorResponses,
): ZodOpenApiOperationObject {
  const { params, query, body, example, priced } = endpoint;
  const price = priceAt(endpoint);
  const header = {
    ...(isRepeatable(endpoint) && { 'Idempotency-Key': IDEMPOTENCY_KEY }),
    ...(isTagged(endpoint) && { 'If-None-Match': optional('Tags of answers that are at hand.') }),
  };
  return {
    operationId: operationId(endpoint),
    tags: [endpoint.group],
    summary: endpoint.summary,
    description: endpoint.description,
    'x-scope': endpoint.scope,
    'x-feature': endpoint.feature,
    'x-test-key': endpoint.test_key || opens_test_keys,
    'x-credits': price.credits,
    'x-credits-per': endpoint.priced_per ?? 'call',
    'x-operation': price.operation,
    ...(priced.length > 0 && { 'x-prices': priced.map((when) => ({ when, ...priceAt(endpoint, when) })) }),
    requestParams: {
      ...(params instanceof z.ZodObject && { path: params }),
      ...(query instanceof z.ZodObject && { query: withExamples(query, example?.query) }),
      header: z.object(header),
    },
    ...(body !== null && {
      requestBody: { required: !body.safeParse(undefined).success, content: json(body, example?.body) },
    }),
    responses: {
      ...successes(endpoint),
      ...errors(errorCodes(endpoint, price.operation !== null), ...when(isRepeatable(endpoint), 'Idempotent-Replay')),
    },
  };
}

const isTagged = (endpoint: Endpoint) => endpoint.kind === 'read' && endpoint.cacheable;
const isRepeatable = (endpoint: Endpoint) => endpoint.kind === 'write' && endpoint.idempotent;
const when = <const Word extends string>(applies: boolean, ...words: readonly Word[]) => (applies ? words : []);
const text = (description: string) => z.string().meta({ description });
const optional = (description: string) => z.string().optional().meta({ description });
const IDEMPOTENCY_KEY = z.string().min(1).max(255).optional().meta({
  description: 'Makes a repetition within 24 hours answer with the first answer, and change nothing.',
});
const json = (schema: z.ZodType, example: unknown) => ({
  'application/json': { schema, ...(example !== undefined && { example }) },
});

/**
 * Price of the example call, with `when` overriding its query string; a call costs `credits` for each of its `count`. Free without a
 * valid example.
 */
function priceAt({ path, query, body, example, price }: Endpoint, when = '') {
  const asked = query?.safeParse({ ...example?.query, ...Object.fromEntries(new URLSearchParams(when)) });
  const sent = body?.safeParse(example?.body);
  const params = Object.fromEntries(paramNames(path).map((name) => [name, 'example']));
  const is_valid = asked?.success !== false && sent?.success !== false;
  const found = is_valid ? price({ params, query: asked?.data ?? null, body: sent?.data ?? null }) : null;
  return { operation: found?.operation ?? null, credits: found === null ? 0 : found.credits / found.count };
}

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
  const headers = headersOf(
    ...when(isTagged(endpoint), 'ETag'),
    ...when(has_source, 'X-Data-Source'),
    ...when(isRepeatable(endpoint), 'Idempotent-Replay'),
    ...when(is_text, 'Content-Disposition'),
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
  return [
    ...EVERYWHERE,
    ...when(endpoint.feature !== null, 'feature_not_available'),
    ...when(endpoint.path.includes('{'), 'not_found'),
    ...when(endpoint.body !== null, 'payload_too_large', 'unsupported_media_type'),
    ...when(isRepeatable(endpoint), 'invalid_idempotency_key', 'idempotency_key_in_progress'),
    ...endpoint.refusals,
    ...when(endpoint.kind === 'write', 'resource_exhausted'),
    ...when(is_billed, 'spend_cap_exceeded', 'upstream_write_failed', 'overloaded'),
  ];
}

const WITHOUT_KEY = {
  security: [],
  'x-scope': null,
  'x-feature': null,
  'x-test-key': true,
  'x-credits': 0,
  'x-credits-per': 'call',
  'x-operation': null,
};
const ANYWHERE = ['bad_request', 'method_not_allowed', 'uri_too_long', 'headers_too_large'] as const;

const RANGE_HEADERS = z.object({
  Range: optional('One range of bytes; several get the whole file.').meta({ example: 'bytes=0-16383' }),
  'If-Range': optional('The tag that the range is of: another content is sent whole.'),
  'If-Match': optional('Tags of which the content must have one, else 412.'),
  'If-None-Match': optional('Tags of contents that are at hand.'),
});
const DATE = text('Storm date, YYYY-MM-DD.').meta({ format: 'date' });
const SCAN = z.object({ date: DATE, file: text('File name as /v1/tiles/scan gives it, with its content in it.') });

/** GET operations for files, by path: signed addresses of reports and exports, tile archives. */
function fileOperations(errors: ErrorResponses) {
  const headers = (...more: readonly string[]) => headersOf('ETag', 'Accept-Ranges', 'X-Data-Source', ...more);
  const refusals = ['precondition_failed', 'range_not_satisfiable', 'internal_error', 'not_found'] as const;
  const file = (
    about: Pick<ZodOpenApiOperationObject, 'operationId' | 'summary' | 'description'>,
    params: ZodOpenApiParameters,
    types: readonly string[],
    ...more: readonly ErrorCode[]
  ): { readonly get: ZodOpenApiOperationObject } => {
    const schema = { type: 'string' as const, format: 'binary' };
    const content = Object.fromEntries(types.map((type) => [type, { schema }]));
    const responses = {
      '200': { description: 'The whole file.', headers: headers('Content-Length', 'Content-Encoding'), content },
      '206': { description: 'The range.', headers: headers('Content-Length', 'Content-Range'), content },
      '304': { description: 'The content at hand is still right.', headers: headers() },
      ...errors([...ANYWHERE, ...refusals, ...more]),
    };
    const requestParams = { ...params, header: RANGE_HEADERS };
    return { get: { ...about, ...WITHOUT_KEY, tags: ['Files'], requestParams, responses } };
  };
  const archive = (operationId: string, of: string, path: z.ZodObject) => {
    const description =
      'A PMTiles archive, free and without a key: readers ask for ranges of it. `/v1/tiles/scan` and `/v1/tiles/daily` tell where archives are.';
    return file({ operationId, summary: `Archive of ${of}`, description }, { path }, [PMTILES_TYPE]);
  };
  const exp = text('Unix seconds until which the address is good.');
  return {
    '/v1/files/{job}': file(
      {
        operationId: 'getJobFile',
        summary: 'The file of a report or an export',
        description: `Free and without a key, at an address that the poll of its job gives and that is good for ${SIGNED_URL_SECONDS} seconds. CSV and GeoJSON are compressed for clients that take gzip, unless they ask for a range.`,
      },
      {
        path: z.object({ job: text('Id of the job.') }),
        query: z.object({ exp, sig: text('Signature of the address.') }),
      },
      ['application/pdf', ...Object.values(FILE_KINDS).map(({ media_type }) => mediaType(media_type))],
      'forbidden',
      'metering_unavailable',
    ),
    '/tiles/scan/{date}/{file}': archive('getScanArchive', 'a scan', SCAN),
    '/tiles/reflectivity/{date}/{file}': archive('getReflectivityArchive', 'the reflectivity of a scan', SCAN),
    '/tiles/daily/{date}.pmtiles': archive('getDailyArchive', 'a day', z.object({ date: DATE })),
  };
}
