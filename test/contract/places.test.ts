import test, { type ExecutionContext } from 'ava';
import { GEOCODER_MS, searchPlaces } from '../../api/routes/places.ts';
import { parseSettings } from '../../schemas/settings.ts';
import { startWebServer } from '../support/data/web-server.ts';
import { startService } from '../support/service/service.ts';

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

/** The service with a geocoder that answers so; every request that it got, and every failure that was reported. */
async function startBoth(t: ExecutionContext, path: string, body: string, status = 200) {
  const asked: URL[] = [];
  const failures: unknown[] = [];
  const { url } = await startWebServer(t, {}, (request, response) => {
    asked.push(new URL(request.url ?? '', 'http://geocoder'));
    response.writeHead(status, { 'content-type': 'application/json', location: '/elsewhere' }).end(body);
  });
  const endpoint = searchPlaces(`${url}${path}`, 'hail (test)', (error) => failures.push(error));
  const service = await startService({ endpoints: [endpoint] });
  t.teardown(service.close);
  const search = (text: string) => service.json(`/v1/places?q=${encodeURIComponent(text)}`);
  return { search, asked, failures };
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
  test(`a geocoder that ${fault} makes no failure of the call, is reported, and is asked again`, async (t) => {
    const { search, asked, failures } = await startBoth(t, '/search', body, status);
    for (const times of [1, 2]) {
      t.deepEqual(await search('norman'), { places: [], attribution: null, available: false });
      t.is(asked.length, times);
      t.regex(String(failures.at(-1)), reason);
    }
  });

test('a geocoder that does not answer is waited for at most three seconds', async (t) => {
  const { url } = await startWebServer(t, {}, () => {});
  const failures: unknown[] = [];
  const service = await startService({
    endpoints: [searchPlaces(`${url}/api`, 'hail', (error) => failures.push(error))],
  });
  t.teardown(service.close);
  const started_ms = performance.now();
  t.like(await service.json('/v1/places?q=norman'), { available: false });
  t.true(performance.now() - started_ms < GEOCODER_MS + 2_000);
  t.is(failures.length, 1);
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
