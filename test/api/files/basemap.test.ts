import { mkdtempSync, writeFileSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { VectorTile } from '@mapbox/vector-tile';
import test, { type ExecutionContext } from 'ava';
import { PbfReader } from 'pbf';
import { PMTiles } from 'pmtiles';
import { SettingsError } from '../../../api/config.ts';
import { openStreets } from '../../../api/published/archives/basemap-streets.ts';
import { viewerPages } from '../../../api/routes/viewer.ts';
import { scratch } from '../../support/data/world.ts';
import { startServe } from '../../support/service/serve-child.ts';
import { serviceFor } from '../../support/service/service.ts';

const newFolder = () => mkdtempSync(join(tmpdir(), 'hail-basemap-'));
/** The page of a service with a street map and a store of archives, whose other paths `ask` reads. */
async function open(t: ExecutionContext, streets: string | null, tiles_url: string | null = null) {
  const options = { streets: await openStreets(streets), tiles_url };
  const service = await serviceFor(t, {
    data_root: newFolder(),
    public_routes: () => viewerPages('https://hail.example/service/v1', options),
  });
  const ask = (path: string, headers = {}) => fetch(`${service.url}${path.replace('/service', '')}`, { headers });
  const page = await ask('/viewer');
  return { ask, policy: page.headers.get('content-security-policy') ?? '', html: await page.text() };
}
const metaOf = (html: string, name: string) => new RegExp(`<meta name="${name}" content="([^"]*)"`).exec(html)?.[1];

/** Names in a layer of a tile. */
async function namesIn(archive: PMTiles, [z, x, y]: readonly [number, number, number], layer: string) {
  const tile = await archive.getZxy(z, x, y);
  const found = tile && new VectorTile(new PbfReader(new Uint8Array(tile.data))).layers[layer];
  return Array.from({ length: found?.length ?? 0 }, (_, i) => found?.feature(i).properties.name);
}

/** Tile at a zoom with Norman, Oklahoma. */
const AT_NORMAN = { 4: [4, 3, 6], 7: [7, 29, 50], 8: [8, 58, 101] } as const;

test('the base map is read by range: towns and counties come with their zooms', async (t) => {
  const root = await scratch(t);
  await mkdir(root, { recursive: true });
  const service = await startServe(root);
  t.teardown(() => service.end('SIGKILL'));
  const html = await (await fetch(`${service.url}/viewer`)).text();
  const ranges: number[] = [];
  const archive = new PMTiles({
    getKey: () => 'ground',
    getBytes: async (offset, length) => {
      const headers = { Range: `bytes=${offset}-${offset + length - 1}` };
      const response = await fetch(`${service.url}${metaOf(html, 'hail-ground')}`, { headers });
      ranges.push(response.status);
      return { data: await response.arrayBuffer() };
    },
  });
  const { maxZoom, numAddressedTiles } = await archive.getHeader();
  t.is(maxZoom, 8);
  t.true(numAddressedTiles > 1000);
  const towns = (at: keyof typeof AT_NORMAN) => namesIn(archive, AT_NORMAN[at], 'towns');
  t.true((await towns(8)).includes('Norman') && (await towns(8)).includes('Newcastle'));
  t.true((await towns(7)).includes('Norman') && !(await towns(7)).includes('Newcastle'));
  t.false((await towns(4)).includes('Norman'));
  t.true((await namesIn(archive, AT_NORMAN[8], 'county_names')).includes('Cleveland County'));
  t.deepEqual(await namesIn(archive, AT_NORMAN[7], 'county_names'), []);
  t.true((await namesIn(archive, AT_NORMAN[4], 'state_names')).includes('Oklahoma'));
  t.true((await namesIn(archive, [0, 0, 0], 'neighbours')).includes('Canada'));
  t.true(ranges.length > 0 && ranges.every((status) => status === 206));
});

test('an archive is public, answered by range for good, and found under its own name only', async (t) => {
  const { ask, html } = await open(t, null);
  const path = metaOf(html, 'hail-ground') ?? '';
  const part = await ask(path, { range: 'bytes=0-6' });
  t.is(part.status, 206);
  t.is(await part.text(), 'PMTiles');
  t.is(part.headers.get('cache-control'), 'public, max-age=31536000, immutable');
  t.regex(part.headers.get('content-range') ?? '', /^bytes 0-6\/\d{7}$/);
  t.is((await ask(path, { range: 'bytes=99999999-' })).status, 416);
  t.is((await ask(path.replace(/-[0-9a-f]{4}/, '-0000'))).status, 404);
});

for (const [what, streets, tiles_url, named, origins] of [
  ['without a street map the page names none and connects', null, null, '', ''],
  [
    'a street map elsewhere opens the page',
    'https://maps.example.com/us.pmtiles?a=1&b=2',
    null,
    'https://maps.example.com/us.pmtiles?a=1&amp;b=2',
    ' https://maps.example.com',
  ],
  [
    'a style and its tiles elsewhere open the page',
    'https://maps.example.com/light.json https://maps.example.com/dark.json https://img.example.org',
    null,
    'https://maps.example.com/light.json https://maps.example.com/dark.json https://img.example.org',
    ' https://maps.example.com https://img.example.org',
  ],
  ['a store of archives opens the page', null, 'https://tiles.example.com/hail', '', ' https://tiles.example.com'],
] as const)
  test(`${what} to its own address and no other`, async (t) => {
    const { html, policy } = await open(t, streets, tiles_url);
    t.is(metaOf(html, 'hail-streets'), named);
    t.is(metaOf(html, 'hail-api'), '/service/v1');
    t.true(policy.includes(`connect-src 'self' https://hail.example${origins};`));
    const sources = metaOf(html, 'hail-map-sources') ?? '';
    t.is(sources.startsWith('© OpenStreetMap contributors, Protomaps'), streets?.includes('.pmtiles') === true);
    t.true(html.includes('src="/service/viewer/assets/'));
  });

test('a street map that is missing or no archive is refused with what was found', async (t) => {
  const instanceOf = SettingsError;
  const path = join(newFolder(), 'text.pmtiles');
  await t.throwsAsync(openStreets(path), { instanceOf, message: /cannot be opened, expected a PMTiles file/ });
  writeFileSync(path, 'not a map '.repeat(50));
  await t.throwsAsync(openStreets(path), { instanceOf, message: /does not begin like PMTiles 3/ });
  await t.throwsAsync(openStreets(tmpdir()), { instanceOf, message: /does not begin like PMTiles 3/ });
});
