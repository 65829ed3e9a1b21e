import { isDeepStrictEqual } from 'node:util';
import test from 'ava';
import fc from 'fast-check';
import { SELF_HOSTED } from '../../api/accounts/plans.ts';
import { openAccount } from '../support/service/account.ts';
import { makeArea, polygonBody } from '../support/service/areas.ts';
import {
  type ApiDescription,
  type DescribedOperation,
  type DescribedRequest,
  departuresOf,
  type JsonSchema,
} from '../support/service/document.ts';
import { sendRaw } from '../support/service/raw-http.ts';
import { startWholeService, type WholeService } from '../support/service/whole-service.ts';

/** Requests per operation and kind. */
const RUNS = 120;
const LONGEST_ANSWER_MS = 10_000;
const DATES = ['2026-05-01', '2026-05-02', '2026-04-30', '2024-02-29', '2026-05-03', '2010-01-01'];
const STATES = ['OK', 'TX', 'KS', 'AK', 'HI', 'ok', 'PR'];
/** Texts that parsers, query languages, shells and paths fall for. */
const HOSTILE = [
  '',
  ' ',
  "'",
  "' OR 1=1 --",
  "'); COPY (SELECT 1) TO '/tmp/x'; --",
  "read_text('/etc/passwd')",
  '$$',
  '%00',
  '\u0000',
  '\uD800',
  '\uFEFF',
  '‘“”’',
  '../../../etc/passwd',
  '..%2f..%2f',
  '\r\nX-Evil: 1',
  '1e999',
  '-1e999',
  'NaN',
  'Infinity',
  '0x10',
  '1_000',
  '٣',
  '-0',
  '1e-400',
  '99999999999999999999',
  '2026-02-30',
  '0000-00-00',
  '9999-12-31',
  '+2026-05-01',
  '2026-05-01T00:00:00Z',
  '1,2,3',
  'NaN,NaN,NaN,NaN',
  '-180,-90,180,90',
  '180,90,-180,-90',
  '0,0,0,0',
  '__proto__',
  'constructor',
  '{}',
  '[]',
  'null',
  'true',
  'x'.repeat(5000),
  '=cmd|calc',
  '🌩️'.repeat(40),
];

let whole: WholeService;
/** Key of a business whose quotas never end. */
let key: string;
/** An area of that business. */
let area_id: string;

test.before(async () => {
  whole = await startWholeService();
  const quotas = Object.fromEntries(Object.keys(SELF_HOSTED.quotas).map((name) => [name, 1e9]));
  ({ key } = await openAccount(whole.service, { plan: { quotas: { ...SELF_HOSTED.quotas, ...quotas } } }));
  area_id = (await makeArea(whole.service, polygonBody(), { key })).id;
});
test.after.always(async (t) => {
  t.deepEqual(whole.service.failures, []);
  await whole.service.close();
});

/** Values of a parameter that the description allows, as text. */
function allowed(name: string, schema: JsonSchema): fc.Arbitrary<string> {
  const {
    type,
    enum: words,
    minimum,
    maximum,
    exclusiveMinimum,
  } = schema as {
    type?: string;
    enum?: string[];
    minimum?: number;
    maximum?: number;
    exclusiveMinimum?: number;
  };
  if (words) return fc.constantFrom(...words);
  if (type === 'boolean') return fc.constantFrom('true', 'false');
  if (type === 'integer')
    return fc.integer({ min: Math.max(minimum ?? 0, -1e6), max: Math.min(maximum ?? 1000, 1e6) }).map(String);
  if (type === 'number') {
    const [min, max] = [minimum ?? (exclusiveMinimum ?? 0) + 1e-3, maximum ?? 1000];
    const anywhere = fc.double({ min, max, noNaN: true }).map(String);
    const here = { lat: [34.5, 36], lon: [-98, -96] }[name];
    if (here === undefined) return anywhere;
    return fc.oneof(anywhere, fc.double({ min: here[0], max: here[1], noNaN: true }).map(String));
  }
  if (name.startsWith('date')) return fc.constantFrom(...DATES.slice(0, 3));
  if (name === 'state') return fc.constantFrom(...STATES.slice(0, 5));
  if (name === 'period') return fc.constantFrom('2026-05', '2026-04', '2030-01');
  if (name === 'track_id') return fc.constantFrom(whole.known.track_id as string, 'unknown', 'a-b_C');
  if (name === 'id') return fc.constantFrom(area_id, 'unknown', 'a-b_C');
  if (name === 'bbox')
    return fc
      .tuple(fc.double({ min: -124, max: -70, noNaN: true }), fc.double({ min: 25, max: 45, noNaN: true }))
      .map(([lon, lat]) => [lon, lat, lon + 2, lat + 2].join(','));
  return fc.constantFrom('a', 'loc_01KAJ3W9QZ6R8V2T4X5Y7A9B0C');
}

/** Any text in place of a value. */
const hostile = fc.oneof(
  fc.constantFrom(...HOSTILE),
  fc.string({ unit: 'binary', maxLength: 40 }),
  fc.double().map(String),
  fc.constantFrom(...DATES, ...STATES),
);

/** Parameters whose values only another answer tells, or that exclude the body. */
const NEEDS_MORE = ['cursor', 'operations_cursor', 'ids'];

/** Parameters that may stand together: no state beside a bbox, and a last date that is not before the first. */
function together(given: readonly string[]): readonly string[] {
  const start = given.find((part) => part.startsWith('date_start='))?.slice('date_start='.length) ?? '';
  const hasBox = given.some((part) => part.startsWith('bbox='));
  return given
    .filter((part) => !(hasBox && part.startsWith('state=')))
    .map((part) => (part.startsWith('date_end=') && part < `date_end=${start}` ? `date_end=${start}` : part));
}

function encoded(text: string): string {
  return encodeURIComponent(text.toWellFormed());
}

/** Bodies: what the example has, some of its members replaced. */
function bodies(example: unknown, isHostile: boolean): fc.Arbitrary<unknown> {
  const place = fc.record(
    {
      id: fc.string({ maxLength: 20 }),
      name: fc.string({ minLength: 1, maxLength: 20 }),
      lat: fc.double({ min: 25, max: 49, noNaN: true }),
      lon: fc.double({ min: -124, max: -67, noNaN: true }),
      radius_km: fc.double({ min: 0.1, max: 50, noNaN: true }),
    },
    { requiredKeys: ['id', 'name', 'lat', 'lon'] },
  );
  const places = fc.uniqueArray(place, { minLength: 1, maxLength: 5, selector: ({ id }) => id });
  const listOf = ['locations', 'data', 'ids'].filter((name) => name in (example as object));
  const withList = (list: unknown) => ({
    ...(example as object),
    ...Object.fromEntries(listOf.map((name) => [name, list])),
  });
  if (!isHostile)
    return fc.oneof(
      fc.constant(example),
      places.map((list) =>
        listOf.includes('locations') ? withList(list.map(({ name: _, ...location }) => location)) : example,
      ),
      places.map((list) =>
        listOf.includes('data') ? { format: 'json', data: list.map(({ radius_km: _, ...row }) => row) } : example,
      ),
    );
  const value = fc.oneof(hostile, fc.jsonValue({ maxDepth: 4 }), fc.constant(null), fc.constant('__proto__'));
  const members = Object.keys(example as object);
  const changed = fc
    .dictionary(fc.constantFrom(...members), value)
    .map((parts) => ({ ...(example as object), ...parts }));
  const broken = fc.array(fc.oneof(place, fc.dictionary(fc.constantFrom('id', 'name', 'lat', 'lon', 'tags'), value)), {
    maxLength: 60,
  });
  return fc.oneof(
    value,
    changed,
    broken.map(withList),
    broken.map((locations) => ({ ...(example as object), locations, data: locations, ids: locations })),
  );
}

/** Requests of an operation; each parameter is left out, allowed, or in the hostile kind anything. */
function requests(operation: DescribedOperation, isHostile: boolean): fc.Arbitrary<DescribedRequest> {
  const parts = operation.parameters.filter(
    (parameter) => parameter.in === 'query' && (isHostile || !NEEDS_MORE.includes(parameter.name)),
  );
  const query = fc.tuple(
    ...parts.map(({ name, schema, required = false }) => {
      const value = isHostile
        ? fc.oneof({ weight: 4, arbitrary: allowed(name, schema) }, hostile)
        : allowed(name, schema);
      const given = value.map((text) => `${name}=${encoded(text)}`);
      const twice = fc.tuple(given, given).map((pair) => pair.join('&'));
      if (isHostile) return fc.oneof({ weight: 16, arbitrary: given }, twice, fc.constant(''));
      return required ? given : fc.oneof(given, fc.constant(''));
    }),
  );
  const path = operation.parameters.find((parameter) => parameter.in === 'path');
  const id = path === undefined ? fc.constant('') : isHostile ? hostile : allowed(path.name, path.schema);
  const example = operation.requestBody?.content['application/json']?.example;
  return fc
    .record({ query, id, body: example === undefined ? fc.constant(undefined) : bodies(example, isHostile) })
    .map(({ query, id, body }) => {
      const given = query.filter((part) => part !== '');
      const search = (isHostile ? given : together(given)).join('&');
      return {
        method: operation.method,
        target: `${operation.path.replace(/\{\w+\}/, encoded(id) || '-')}${search === '' ? '' : `?${search}`}`,
        body,
      };
    });
}

const hostileHeaders = fc.oneof(
  { weight: 3, arbitrary: fc.constant({}) },
  fc.dictionary(
    fc.constantFrom(
      'Accept',
      'Accept-Encoding',
      'If-None-Match',
      'Idempotency-Key',
      'X-Forwarded-For',
      'X-Request-Id',
      'Content-Type',
      'Content-Encoding',
    ),
    fc.oneof(
      fc.constantFrom('*/*', 'application/json', 'text/html', '*', 'W/"a"', 'gzip;q=0', 'identity', '""', ''),
      fc.string({ maxLength: 60 }).map((text) => text.replaceAll(/[^\x20-\x7e]/g, '?')),
    ),
    { maxKeys: 3 },
  ),
);

async function answerOf(request: DescribedRequest, headers: Record<string, string>) {
  const init = request.body === undefined ? {} : { body: JSON.stringify(request.body) };
  const response = await whole.service.call(request.target, {
    method: request.method,
    ...init,
    key,
    headers: { ...(request.body === undefined ? {} : { 'Content-Type': 'application/json' }), ...headers },
    signal: AbortSignal.timeout(LONGEST_ANSWER_MS),
  });
  return { status: response.status, headers: response.headers, text: await response.text() };
}

/** Faults of an answer, with what was asked. */
function faultsOf(
  description: ApiDescription,
  operation: DescribedOperation,
  answer: { readonly status: number; readonly headers: Headers; readonly text: string },
): string[] {
  const faults = departuresOf(description, operation, answer, answer.text);
  if (answer.status >= 500) faults.push(`status ${answer.status}`);
  if (!answer.headers.has('X-Request-Id')) faults.push('no X-Request-Id');
  if (answer.status >= 400) {
    const body = JSON.parse(answer.text) as Record<string, unknown>;
    if (!isDeepStrictEqual(Object.keys(body), ['error', 'message', 'request_id'])) faults.push('more than an error');
    if (
      /\/work|\/tmp|\/dev\/shm|node_modules|SELECT|parquet/.test(String(body.message).replace(/'[^']*'|"[^"]*"/g, ''))
    )
      faults.push(`tells of the inside: ${body.message}`);
  }
  return faults;
}

function isQuota({ status, text }: { readonly status: number; readonly text: string }): boolean {
  return status === 429 && (JSON.parse(text) as { readonly error: string }).error === 'resource_exhausted';
}

async function fuzz(operation: DescribedOperation, isHostile: boolean, seed: number): Promise<Map<number, number>> {
  const statuses = new Map<number, number>();
  const headers = isHostile ? hostileHeaders : fc.constant({});
  await fc.assert(
    fc.asyncProperty(requests(operation, isHostile), headers, async (request, sent) => {
      const answer = await answerOf(request, sent);
      statuses.set(answer.status, (statuses.get(answer.status) ?? 0) + 1);
      const faults = faultsOf(whole.description, operation, answer);
      if (faults.length > 0) throw new Error(`${faults.join('; ')}: ${answer.text.slice(0, 300)}`);
      // An id may be unknown, the version of an area another one by now, and twenty jobs may wait.
      if (!isHostile && ![200, 202, 404, 409].includes(answer.status) && !isQuota(answer))
        throw new Error(`${answer.status} for a request that is described: ${answer.text.slice(0, 300)}`);
    }),
    { numRuns: RUNS, seed, endOnFailure: false },
  );
  return statuses;
}

for (const [title, isHostile, seed] of [
  ['every request that the description allows is answered as it describes', false, 7],
  ['no request makes an operation fail, answer with a status it does not describe, or hang', true, 11],
] as const)
  test.serial(title, async (t) => {
    const failures: string[] = [];
    for (const operation of whole.operations.filter(({ keyed }) => keyed)) {
      const told = await fuzz(operation, isHostile, seed).catch(
        (error: Error) => void failures.push(`${operation.title}: ${error.message}`),
      );
      if (told) t.log(operation.title, Object.fromEntries(told));
    }
    t.deepEqual(failures, []);
  });

test.serial('no bytes on the wire make the service fail or hang', async (t) => {
  const line = fc.oneof(
    fc
      .tuple(
        fc.constantFrom('GET', 'POST', 'get', 'X', ''),
        hostile,
        fc.constantFrom('HTTP/1.1', 'HTTP/1.0', 'HTTP/9', ''),
      )
      .map((parts) => parts.join(' ')),
    fc.constantFrom('GET /v1/health HTTP/1.1', 'POST /v1/portfolio/locations HTTP/1.1'),
  );
  const header = fc.oneof(
    fc.constantFrom(
      'Content-Length: 5',
      'Content-Length: 6',
      'Content-Length: -1',
      'Transfer-Encoding: chunked',
      'Transfer-Encoding: x',
      'Expect: 100-continue',
      'Upgrade: h2c',
      ' folded: 1',
      `Authorization: Bearer ${whole.service.live_key}`,
      'Authorization: Basic eA==',
      'Content-Type: application/json',
    ),
    hostile.map((text) => `X-Any: ${text}`),
  );
  const wire = fc.tuple(line, fc.array(header, { maxLength: 6 }), fc.oneof(fc.constant('{"a":1}'), hostile));
  const statuses = new Map<number, number>();
  await fc.assert(
    fc.asyncProperty(wire, async ([first, headers, body]) => {
      const text = [first, 'Host: x', 'Connection: close', ...headers].join('\r\n');
      const answer = await sendRaw(whole.service.url, `${text}\r\n\r\n${body}`);
      statuses.set(answer.status, (statuses.get(answer.status) ?? 0) + 1);
      if (answer.status >= 500) throw new Error(`${answer.status} ${answer.body.slice(0, 200)}`);
    }),
    { numRuns: 2000, seed: 13, interruptAfterTimeLimit: 60_000, markInterruptAsFailure: true },
  );
  t.log(Object.fromEntries(statuses));
  t.is((await whole.service.call('/v1/health')).status, 200);
});
