import { z } from 'zod';
import { enumQuery, numberQuery, pointQuery } from '../../../api/http/decode.ts';
import { ApiError } from '../../../api/http/errors.ts';
import { type Endpoint, readEndpoint, writeEndpoint } from '../../../api/server/endpoint.ts';
import { newId } from '../../../schemas/ids.ts';

const Nothing = z.object({});

/** One endpoint of every kind that the rules of the house tell apart, and what they answer from, moved by the test. */
export function sampleEndpoints() {
  const samples = {
    /** Content of `/v1/sample/point`. */
    value: 1,
    /** Version of `/v1/sample/version`. */
    version: 'v1',
    /** How often an answer was made, by path. */
    made: new Map<string, number>(),
    /** What an answer waits for before it is made. */
    gate: Promise.resolve(),
    /** What the next answer throws. */
    failure: null as Error | null,
  };
  const work = async (path: string) => {
    samples.made.set(path, (samples.made.get(path) ?? 0) + 1);
    await samples.gate;
    if (samples.failure !== null) throw samples.failure;
  };
  const told = { group: 'Samples', description: '', params: null } as const;

  const point = readEndpoint({
    ...told,
    route: 'GET /v1/sample/point',
    summary: 'Costs 15, its tag made from the content without the age',
    scope: 'sample:read',
    query: z.object({
      ...pointQuery,
      radius_km: numberQuery({ min: 0, exclusiveMin: true, max: 150, default: 50 }),
      pad: numberQuery({ min: 0, max: 100_000, default: 0 }),
    }),
    reply: z.object({ value: z.number(), age_seconds: z.number(), radius_km: z.number(), pad: z.string() }),
    cacheable: true,
    price: () => ({ operation: 'sample.point', credits: 15, count: 1 }),
    answer: async ({ query, now_ms }) => {
      await work('/v1/sample/point');
      const body = { value: samples.value, radius_km: query.radius_km, pad: 'x'.repeat(query.pad) };
      return { body: { ...body, age_seconds: Math.floor(now_ms / 1000) % 1000 }, tag: body };
    },
  });
  const versioned = readEndpoint({
    ...told,
    route: 'GET /v1/sample/version',
    summary: 'Costs 10, its tag known before it is answered',
    scope: 'sample:read',
    query: z.object({ format: enumQuery(['json', 'text'], 'json') }),
    reply: z.object({ version: z.string() }),
    other_replies: { 'text/plain; charset=utf-8': z.string() },
    price: () => ({ operation: 'sample.version', credits: 10, count: 1 }),
    plan: ({ edition }) => ({ dates: edition.dates, version: samples.version }),
    answer: async ({ query }) => {
      await work('/v1/sample/version');
      if (query.format === 'text') return { body: samples.version, type: 'text/plain; charset=utf-8' };
      return { body: { version: samples.version } };
    },
  });
  const named = readEndpoint({
    ...told,
    route: 'GET /v1/sample/items/{id}',
    summary: 'Free, found only by the name known',
    scope: 'sample:read',
    params: z.object({ id: z.string() }),
    reply: z.object({ id: z.string() }),
    cacheable: false,
    price: () => null,
    answer: async ({ params }) => {
      if (params.id !== 'known') throw new ApiError('not_found', 'no such item');
      return { body: { id: params.id } };
    },
  });
  const batch = readEndpoint({
    ...told,
    route: 'POST /v1/sample/batch',
    summary: 'Costs 8 a place',
    scope: 'sample:read',
    body: z.object({
      locations: z
        .array(z.object({ lat: z.number().min(-90).max(90), lon: z.number(), id: z.string().optional() }))
        .min(1)
        .max(50),
    }),
    reply: z.object({ count: z.number() }),
    cacheable: false,
    price: ({ body }) => ({
      operation: 'sample.batch',
      credits: 8 * body.locations.length,
      count: body.locations.length,
    }),
    answer: async ({ body }) => {
      await work('/v1/sample/batch');
      return { body: { count: body.locations.length } };
    },
  });
  const write = writeEndpoint({
    ...told,
    route: 'POST /v1/sample/locations',
    summary: 'Costs 10, writes a row',
    scope: 'sample:write',
    idempotent: true,
    body: z.object({ name: z.string().min(1), note: z.string().optional() }),
    body_limit_bytes: 5000,
    reply: z.object({ id: z.string(), name: z.string() }),
    price: () => ({ operation: 'sample.write', credits: 10, count: 1 }),
    write: async ({ body }, { rows, business_id, now_ms }) => {
      await work('/v1/sample/locations');
      const id = newId('location', now_ms);
      const at = new Date(now_ms).toISOString();
      const place = { lat: 35, lon: -97, address: '', tags: '[]', created_at: at, updated_at: at };
      await rows
        .insertInto('portfolio_locations')
        .values({ id, business_id, name: body.name, ...place })
        .execute();
      if (body.name === 'conflict') throw new ApiError('version_conflict', 'name is taken');
      return { body: { id, name: body.name } };
    },
  });
  const remove = writeEndpoint({
    ...told,
    route: 'DELETE /v1/sample/items/{id}',
    summary: 'Ignores a body',
    scope: 'sample:write',
    params: z.object({ id: z.string() }),
    reply: Nothing,
    price: () => null,
    write: async () => ({ body: {} }),
  });
  const featured = readEndpoint({
    ...told,
    route: 'GET /v1/sample/featured',
    summary: 'Needs what no plan has',
    scope: 'sample:read',
    feature: 'time_travel',
    reply: Nothing,
    price: () => null,
    answer: async () => ({ body: {} }),
  });
  const lying = readEndpoint({
    ...told,
    route: 'GET /v1/sample/lying',
    summary: 'Answers with what its schema does not have',
    scope: 'sample:read',
    reply: Nothing,
    price: () => ({ operation: 'sample.lying', credits: 1, count: 1 }),
    answer: async () => ({ body: JSON.parse('{"more":1}') as Record<string, never> }),
  });
  const endpoints: readonly Endpoint[] = [point, versioned, named, batch, write, remove, featured, lying];
  return Object.assign(samples, { endpoints });
}
