import test, { type ExecutionContext } from 'ava';
import { createLink } from '../../api/accounts/keys.ts';
import { ASKED_AT_ONCE, ASKED_PER_MINUTE, GEOCODER_MS, SPARED_MS, searchPlaces } from '../../api/routes/places.ts';
import { getScanTiles } from '../../api/routes/tiles.ts';
import { GUESTS_AT_ONCE } from '../../api/server/admit.ts';
import { parseSettings } from '../../schemas/settings.ts';
import { startWebServer } from '../support/data/web-server.ts';
import { openAccount } from '../support/service/account.ts';
import { serviceFor } from '../support/service/service.ts';
import { until } from '../support/until.ts';

/** Answers as the servers give them, shortened. */
const PHOTON = {
  type: 'FeatureCollection',
  features: [
    {
      type: 'Feature',
      properties: {
        ...{ osm_type: 'W', osm_id: 31233420, osm_key: 'building', osm_value: 'house', type: 'house' },
        ...{ housenumber: '660', street: 'Parrington Oval', postcode: '73019', city: 'Norman', state: 'Oklahoma' },
        ...{ country: 'United States', countrycode: 'US', extent: [-97.446, 35.2091, -97.445, 35.2085] },
      },
      geometry: { type: 'Point', coordinates: [-97.4457123, 35.2087764] },
    },
  ],
};
const NOMINATIM = [
  {
    ...{ place_id: 315_200_011, licence: 'Data © OpenStreetMap contributors, ODbL 1.0. http://osm.org/copyright' },
    ...{
      osm_type: 'way',
      osm_id: 31_233_420,
      lat: '35.2087764',
      lon: '-97.4457123',
      category: 'building',
      type: 'yes',
    },
    ...{ place_rank: 30, importance: 0.0000743, addresstype: 'building', name: '' },
    display_name: '660, Parrington Oval, Norman, Cleveland County, Oklahoma, 73019, United States',
    boundingbox: ['35.2085', '35.2091', '-97.4460', '-97.4450'],
  },
];
const PELIAS = {
  geocoding: {
    ...{ version: '0.2', attribution: 'https://geocode.example/attribution' },
    query: { text: '660 parrington oval', size: 5, private: false },
    ...{ engine: { name: 'Pelias', author: 'Mapzen', version: '1.0' }, timestamp: 1_777_680_000_000 },
  },
  type: 'FeatureCollection',
  features: [
    {
      type: 'Feature',
      geometry: { type: 'Point', coordinates: [-97.4457123, 35.2087764] },
      properties: {
        ...{ id: 'us/ok/cleveland:1', gid: 'openaddresses:address:1', layer: 'address', source: 'openaddresses' },
        ...{ name: '660 Parrington Oval', housenumber: '660', street: 'Parrington Oval', confidence: 1 },
        label: '660 Parrington Oval, Norman, OK, USA',
      },
    },
  ],
  bbox: [-97.4457123, 35.2087764, -97.4457123, 35.2087764],
};
const AT = { lat: 35.20878, lon: -97.44571 };
const OSM = '© OpenStreetMap contributors';
const UNAVAILABLE = { places: [], attribution: null, available: false };

/** The monotonic clock of the process, which a test may move. */
function movableClock(t: ExecutionContext) {
  const own = performance.now;
  const clock = { ahead_ms: 0 };
  performance.now = () => own.call(performance) + clock.ahead_ms;
  t.teardown(() => {
    performance.now = own;
  });
  return clock;
}

/** The service with a geocoder that answers so; every request that it got, and every failure that was reported. */
async function startBoth(t: ExecutionContext, path: string, body: string, status = 200) {
  const asked: URL[] = [];
  const failures: unknown[] = [];
  const { url } = await startWebServer(t, {}, (request, response) => {
    asked.push(new URL(request.url ?? '', 'http://geocoder'));
    response.writeHead(status, { 'content-type': 'application/json', location: '/elsewhere' }).end(body);
  });
  const endpoint = searchPlaces(`${url}${path}`, 'hail (test)', (error) => failures.push(error));
  const service = await serviceFor(t, { endpoints: [endpoint] });
  const search = (text: string) => service.json(`/v1/places?q=${encodeURIComponent(text)}`);
  return { search, asked, failures, service };
}

for (const [kind, path, answer, label, attribution, parameters] of [
  ['Photon', '/api', PHOTON, '660 Parrington Oval, Norman, Oklahoma', OSM, { q: '660 parrington oval', limit: '5' }],
  [
    ...['Nominatim', '/search', NOMINATIM, NOMINATIM[0]?.display_name, NOMINATIM[0]?.licence],
    { q: '660 parrington oval', limit: '5', format: 'jsonv2', bounded: '1' },
  ],
  [
    ...['Pelias', '/v1/search', PELIAS, PELIAS.features[0]?.properties.label, PELIAS.geocoding.attribution],
    { text: '660 parrington oval', size: '5', 'boundary.rect.min_lat': '24' },
  ],
] as const)
  test(`an address is found by ${kind}, asked once for one text, with its attribution`, async (t) => {
    const { search, asked } = await startBoth(t, path, JSON.stringify(answer));
    const expected = { places: [{ label, ...AT }], attribution, available: true };
    t.deepEqual(await Promise.all([search('660 Parrington Oval'), search(' 660 parrington oval ')]), [
      expected,
      expected,
    ]);
    t.deepEqual(await search('660 PARRINGTON OVAL'), expected);
    t.is(asked.length, 1);
    t.like(Object.fromEntries(asked[0]?.searchParams ?? []), parameters);
  });

test('a key in the address of the geocoder stays in its requests', async (t) => {
  const { search, asked } = await startBoth(t, '/v1/search?api_key=ge-1', JSON.stringify(PELIAS));
  t.like(await search('norman'), { available: true });
  t.is(asked[0]?.searchParams.get('api_key'), 'ge-1');
});

for (const [fault, body, status, reason] of [
  ['fails', '{}', 503, /answers 503, expected 200/],
  ['answers no JSON', '<html>', 200, /JSON/],
  ['answers another document', '{"results":[]}', 200, /features/],
  ['answers too much', `[${' '.repeat(600_000)}]`, 200, /more than 500000 bytes/],
  ['leads elsewhere', '', 302, /fetch failed/],
] as const)
  test.serial(
    `a geocoder that ${fault} makes no failure of the call, is reported, and is asked again later`,
    async (t) => {
      const clock = movableClock(t);
      const { search, asked, failures } = await startBoth(t, '/search', body, status);
      for (const [times, later_ms] of [
        [1, 0],
        [1, SPARED_MS - 5_000],
        [2, 5_000],
      ] as const) {
        clock.ahead_ms += later_ms;
        t.deepEqual(await search('norman'), UNAVAILABLE);
        t.is(asked.length, times);
        t.is(failures.length, times);
        t.regex(String(failures.at(-1)), reason);
      }
    },
  );

test('a geocoder that does not answer is waited for at most three seconds, by few callers, and no other guest waits', async (t) => {
  let asked = 0;
  const { url } = await startWebServer(t, {}, () => {
    asked += 1;
  });
  const failures: unknown[] = [];
  const endpoint = searchPlaces(`${url}/api`, 'hail', (error) => failures.push(error));
  const endpoints = [endpoint, getScanTiles];
  const { call, json } = await serviceFor(t, { endpoints, app: { guestEndpoints: endpoints } });
  const guest = { key: null };
  const started_ms = performance.now();
  const waiting = Array.from({ length: ASKED_AT_ONCE }, (_, n) => json(`/v1/places?q=norman ${n}`, guest));
  await until(() => asked === ASKED_AT_ONCE);
  t.true(ASKED_AT_ONCE >= GUESTS_AT_ONCE);
  t.deepEqual(await json('/v1/places?q=tulsa', guest), UNAVAILABLE);
  t.is((await call('/v1/tiles/scan', guest)).status, 200);
  t.is(failures.length, 0, 'the geocoder is still waited for');
  for (const answer of await Promise.all(waiting)) t.deepEqual(answer, UNAVAILABLE);
  t.true(performance.now() - started_ms < GEOCODER_MS + 2_000);
  t.is(failures.length, ASKED_AT_ONCE);
  t.is(asked, ASKED_AT_ONCE);
});

test('all callers together ask a geocoder so many questions in a minute, and what is known is answered', async (t) => {
  const { search, asked, failures } = await startBoth(t, '/api', JSON.stringify(PHOTON));
  for (let n = 0; n < ASKED_PER_MINUTE; n++) t.like(await search(`norman ${n}`), { available: true });
  t.deepEqual(await search('tulsa'), UNAVAILABLE);
  t.like(await search('norman 0'), { available: true });
  t.is(asked.length, ASKED_PER_MINUTE);
  t.deepEqual(failures, []);
});

const [HOUSE] = NOMINATIM;
const [FEATURE] = PHOTON.features;
const line = { type: 'LineString', coordinates: [[-97.4, 35.2]] };
for (const [what, path, answer, count] of [
  ['more places than were asked for', '/search', Array(40).fill(HOUSE), 5],
  ['a place outside CONUS', '/search', [{ ...HOUSE, lat: '51.5' }, HOUSE], 1],
  ['a place without a position', '/search', [{ display_name: 'nowhere' }, HOUSE], 1],
  ['a place with a long label', '/search', [{ ...HOUSE, display_name: 'x'.repeat(301) }, HOUSE], 1],
  ['a place without a label', '/api', { features: [{ ...FEATURE, properties: {} }, FEATURE] }, 1],
  ['a line', '/api', { features: [{ ...FEATURE, geometry: line }, FEATURE] }, 1],
  ['places that are none', '/api', { features: [null, 'norman', FEATURE] }, 1],
] as const)
  test(`of an answer with ${what} the first points in CONUS with a label are shown`, async (t) => {
    const { search } = await startBoth(t, path, JSON.stringify(answer));
    const { places } = (await search('norman')) as { places: unknown[] };
    t.is(places.length, count);
    for (const place of places) t.like(place, AT);
  });

test('a search without a text is refused by the name of the parameter', async (t) => {
  const { service, asked } = await startBoth(t, '/api', JSON.stringify(PHOTON));
  for (const query of ['', '?q=', '?q=%20%20'])
    t.like(await service.json(`/v1/places${query}`), { error: 'invalid_parameter' }, query);
  t.regex(JSON.stringify(await service.json('/v1/places?q=%20')), /"q is blank or missing/);
  t.is(asked.length, 0);
});

test('pages of other sites do not read what is found, and a key without the scope of the map finds nothing', async (t) => {
  const { service, asked } = await startBoth(t, '/api', JSON.stringify(PHOTON));
  const { records, services, call } = service;
  const { headers } = await call('/v1/places?q=norman');
  t.is(headers.get('Access-Control-Allow-Origin'), new URL(services.base_url).origin);
  const { business_id } = await openAccount(service);
  const link = { business_id, name: 'phone', scopes: ['*'] };
  const { text } = await records.transaction((rows) => createLink(rows, link, services.now()));
  t.is((await call('/v1/places?q=tulsa', { key: text })).headers.get('X-Required-Scope'), 'tiles:read');
  t.is(asked.length, 1);
});

test('the address of a geocoder says its kind, and is not repeated in a refusal', (t) => {
  const settingsOf = (HAIL_GEOCODER_URL: string) => parseSettings({ HAIL_GEOCODER_URL }, (faults) => new Error(faults));
  for (const path of ['/api', '/search', '/search?key=1', '/v1/search'])
    t.notThrows(() => settingsOf(`https://geocoder.example${path}`), path);
  for (const wrong of ['https://geocoder.example/?key=secret', 'ftp://geocoder.example/api', 'geocoder'])
    t.throws(
      () => settingsOf(wrong),
      { message: /^HAIL_GEOCODER_URL is set: expected the search address of Photon/ },
      wrong,
    );
});
