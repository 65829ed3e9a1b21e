import anyTest from 'ava';
import { z } from 'zod';
import { ENDPOINTS } from '../../api/routes/index.ts';
import type { Endpoint } from '../../api/server/endpoint.ts';
import { ErrorBody } from '../../schemas/errors.ts';
import { creditsOf, openAccount } from '../support/service/account.ts';
import { initOf } from '../support/service/document.ts';
import { ownFor } from '../support/service/own-resources.ts';
import { startWholeService, type WholeService } from '../support/service/whole-service.ts';

const test = anyTest.serial;

let whole: WholeService;
anyTest.before(async () => {
  whole = await startWholeService();
});
anyTest.after.always(() => whole.service.close());

const titleOf = ({ method, path }: Endpoint) => `${method} ${path}`;

function endpointOf(title: string): Endpoint {
  const found = ENDPOINTS.find((endpoint) => titleOf(endpoint) === title);
  if (found === undefined) throw new Error(`no endpoint ${title}`);
  return found;
}

/** The example of an endpoint, changed. */
interface Asked {
  readonly query: Readonly<Record<string, string>>;
  readonly body: unknown;
}

/** Asks an endpoint for its example, changed, as a business that owns what the path names. */
async function openAsker(endpoint: Endpoint) {
  const { service, known } = whole;
  const { business_id, key } = await openAccount(service);
  const ids: Record<string, string> = { ...known, ...(await ownFor(endpoint, service, business_id)) };
  const path = endpoint.path.replace(/\{(\w+)\}/g, (_, name: string) => ids[name] ?? 'unknown');

  const ask = async (change: (asked: Asked) => Asked): Promise<Response> => {
    const example = { query: { ...endpoint.example?.query }, body: endpoint.example?.body };
    const { query, body } = change(example);
    const values = Object.entries(query).map(([name, value]) => [name, known[name] ?? value]);
    const target = `${path}?${new URLSearchParams(values)}`;
    return await service.call(target, { ...initOf({ method: endpoint.method, target, body }), key });
  };
  /** Code and message of a refusal, with its cost by the ledger and by its header. */
  const refusal = async (change: (asked: Asked) => Asked): Promise<string> => {
    const before = await creditsOf(service, business_id);
    const answer = await ask(change);
    const { error, message } = ErrorBody.parse(await answer.json());
    const charged = (await creditsOf(service, business_id)) - before;
    return `${answer.status} ${error} for ${charged} credits and ${answer.headers.get('X-Credits-Charged')}: ${message}`;
  };
  return { ask, refusal };
}

const REFUSED = '400 invalid_parameter for 0 credits and 0:';
const BODY_REFUSED = '400 bad_request for 0 credits and 0:';
const parametersOf = ({ query }: Endpoint) => (query instanceof z.ZodObject ? Object.keys(query.shape) : []);
/** A name as somebody mistypes it. */
const mistyped = (name: string) => `${name}x`;

for (const endpoint of ENDPOINTS) {
  const names = parametersOf(endpoint);

  test(`${titleOf(endpoint)} refuses a parameter that it does not know, and ignores one that begins with _`, async (t) => {
    const { ask, refusal } = await openAsker(endpoint);
    const made_up = await refusal(({ query, body }) => ({ query: { ...query, qqqqqqqqqqqq: '1' }, body }));
    const expected = names.length === 0 ? 'none' : names.join(', ');
    t.is(made_up, `${REFUSED} qqqqqqqqqqqq is not a parameter of this endpoint, expected ${expected}`);
    for (const name of names) {
      const typo = await refusal(({ query, body }) => ({ query: { ...query, [mistyped(name)]: '1' }, body }));
      t.is(typo, `${REFUSED} ${mistyped(name)} is not a parameter of this endpoint, did you mean ${name}?`);
    }
    const ignored = await ask(({ query, body }) => ({ query: { ...query, _: '1714608000' }, body }));
    t.is(ignored.status, endpoint.status, await ignored.text());
  });

  if (endpoint.example?.body !== undefined)
    test(`${titleOf(endpoint)} refuses a field that it does not know, at any depth`, async (t) => {
      const { refusal } = await openAsker(endpoint);
      const example = endpoint.example?.body as Readonly<Record<string, unknown>>;
      for (const name of Object.keys(example)) {
        const typo = await refusal(({ query, body }) => ({
          query,
          body: { ...(body as object), [mistyped(name)]: 1 },
        }));
        t.is(typo, `${BODY_REFUSED} /${mistyped(name)}: is not a field of this request, did you mean ${name}?`);
      }
      const fields = await refusal(({ query, body }) => ({ query, body: { ...(body as object), qqqqqqqqq: 1 } }));
      t.true(fields.startsWith(`${BODY_REFUSED} /qqqqqqqqq: is not a field of this request, expected `), fields);
    });
}

test('every documented parameter is accepted by its endpoint', async (t) => {
  for (const operation of whole.operations) {
    const endpoint = ENDPOINTS.find((one) => titleOf(one) === operation.title);
    if (endpoint === undefined) continue; // the description itself
    const described = operation.parameters.filter((parameter) => parameter.in === 'query').map(({ name }) => name);
    t.deepEqual(described.toSorted(), parametersOf(endpoint).toSorted(), operation.title);
    const { ask } = await openAsker(endpoint);
    for (const name of described) {
      const answer = await ask(({ query, body }) => ({ query: { ...query, [name]: query[name] ?? '?' }, body }));
      // The value may be refused, the name is not.
      t.notRegex(await answer.text(), /is not a parameter/, `${operation.title} ${name}`);
    }
  }
});

for (const [what, title, change, message] of [
  [
    'a radius',
    'GET /v1/hail/current',
    ({ query, body }: Asked) => ({ query: { ...query, radius: '150' }, body }),
    'radius is not a parameter of this endpoint, did you mean radius_km?',
  ],
  [
    'a longitude by its earlier name',
    'GET /v1/storms',
    ({ body }: Asked) => ({ query: { lat: '35', lng: '-97' }, body }),
    'lng is not a parameter of this endpoint (use lon)',
  ],
  [
    'an empty name',
    'GET /v1/coverage',
    ({ query, body }: Asked) => ({ query: { ...query, '': '1' }, body }),
    "'' is not a parameter of this endpoint, expected PARAMETERS",
  ],
  [
    'a name of every object',
    'GET /v1/coverage',
    ({ query, body }: Asked) => ({ query: { ...query, toString: '1' }, body }),
    'toString is not a parameter of this endpoint, expected PARAMETERS',
  ],
  [
    'a field of an item of a list',
    'POST /v1/hail/current/batch',
    ({ query }: Asked) => ({
      query,
      body: {
        locations: [
          { lat: 35, lon: -97 },
          { lat: 35, lon: -97, radius: 9 },
        ],
      },
    }),
    '/locations/1/radius: is not a field of this request, did you mean radius_km?',
  ],
  [
    'a field of a nested object',
    'POST /v1/areas',
    ({ query }: Asked) => ({
      query,
      body: { kind: 'point', name: 'Yard', point: { lat: 35, lon: -97, altitude_ft: 1 } },
    }),
    '/point/altitude_ft: is not a field of this request, expected lat, lng, lon',
  ],
] as const)
  test(`${title} names ${what} that it does not know`, async (t) => {
    const { refusal } = await openAsker(endpointOf(title));
    const parameters = parametersOf(endpointOf(title)).join(', ');
    const found = await refusal(change);
    t.is(found, `${message.startsWith('/') ? BODY_REFUSED : REFUSED} ${message.replace('PARAMETERS', parameters)}`);
  });

test('a geometry may have members that GeoJSON allows and we do not use', async (t) => {
  const { ask } = await openAsker(endpointOf('POST /v1/areas'));
  const answer = await ask(({ query, body }) => {
    const area = body as { geometry: object };
    return { query, body: { ...area, geometry: { ...area.geometry, bbox: [-97.6, 35.3, -97.4, 35.5] } } };
  });
  t.is(answer.status, 200, await answer.text());
});

test('a row with a field that is unknown is rejected alone, and a location of the list may be sent back', async (t) => {
  const account = await openAccount(whole.service);
  const upload = async (data: readonly unknown[]) => {
    const answer = await whole.service.call('/v1/portfolio/locations', {
      ...initOf({ method: 'POST', target: '', body: { format: 'json', data } }),
      key: account.key,
    });
    return (await answer.json()) as { accepted_count: number; rejected: { row_index: number; reason: string }[] };
  };
  const yard = { name: 'Yard', lat: 35, lon: -97 };
  const { rejected } = await upload([yard, { ...yard, adress: '1 Main Street' }, { ...yard, _note: 'ours' }]);
  t.like(rejected, [{ row_index: 1, reason: 'malformed_row: adress is not a field of a row, did you mean address?' }]);
  t.is(rejected.length, 1);
  const { locations } = (await whole.service.json('/v1/portfolio/locations', { key: account.key })) as {
    locations: readonly unknown[];
  };
  t.is((await upload(locations)).accepted_count, locations.length);
});
