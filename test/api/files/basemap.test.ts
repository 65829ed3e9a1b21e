import { mkdtempSync, writeFileSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { VectorTile } from '@mapbox/vector-tile';
import test from 'ava';
import { PbfReader } from 'pbf';
import { PMTiles } from 'pmtiles';
import { SettingsError } from '../../../api/config.ts';
import { openStreets } from '../../../api/published/archives/basemap-streets.ts';
import { openViewer } from '../../../api/published/archives/viewer.ts';
import { scratch } from '../../support/data/world.ts';
import { startServe } from '../../support/service/serve-child.ts';

const newFolder = () => mkdtempSync(join(tmpdir(), 'hail-basemap-'));
const page = async (streets: string | null, tiles_url: string | null = null) => {
  const viewer = openViewer('http://127.0.0.1:8080/v1', {
    streets: await openStreets(streets),
    tiles_url,
  });
  const { headers, body } = await viewer.respond({ method: 'GET', path: '/viewer', headers: {} });
  return { viewer, policy: headers['Content-Security-Policy'] ?? '', html: String(body) };
};
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
  const { viewer, html } = await page(null);
  const path = metaOf(html, 'hail-ground') ?? '';
  const ask = (range: string) => viewer.respond({ method: 'GET', path, headers: { range } });
  const { status, headers, body } = await ask('bytes=0-6');
  t.is(status, 206);
  t.is(String(await buffer(body as Readable)), 'PMTiles');
  t.is(headers['Cache-Control'], 'public, max-age=31536000, immutable');
  t.regex(headers['Content-Range'] ?? '', /^bytes 0-6\/\d{7}$/);
  await t.throwsAsync(ask('bytes=99999999-'), { message: /behind the end/ });
  const other = path.replace(/-[0-9a-f]{4}/, '-0000');
  await t.throwsAsync(viewer.respond({ method: 'GET', path: other, headers: {} }), { message: /no such file/ });
});

test('without a street map the page names none and connects to this service only', async (t) => {
  const { html, policy } = await page(null);
  t.is(metaOf(html, 'hail-streets'), '');
  t.true(policy.includes("connect-src 'self' http://127.0.0.1:8080;"));
  t.true(html.includes('Map: US Census, Natural Earth, GeoNames (CC BY 4.0)'));
});

test('a street map elsewhere opens the policy for its origin alone', async (t) => {
  const { html, policy } = await page('https://maps.example.com/us.pmtiles?a=1&b=2');
  t.is(metaOf(html, 'hail-streets'), 'https://maps.example.com/us.pmtiles?a=1&amp;b=2');
  t.true(policy.includes("connect-src 'self' http://127.0.0.1:8080 https://maps.example.com;"));
  t.true(html.includes('Map: © OpenStreetMap contributors, Protomaps'));
});

test('a public store of tile archives opens the policy for its origin alone', async (t) => {
  const { policy } = await page(null, 'https://tiles.example.com/hail/data');
  t.true(policy.includes("connect-src 'self' http://127.0.0.1:8080 https://tiles.example.com;"));
});

test('a street map that is missing or no archive is refused with what was found', async (t) => {
  const instanceOf = SettingsError;
  const path = join(newFolder(), 'text.pmtiles');
  await t.throwsAsync(openStreets(path), { instanceOf, message: /cannot be opened, expected a PMTiles file/ });
  writeFileSync(path, 'not a map '.repeat(50));
  await t.throwsAsync(openStreets(path), { instanceOf, message: /does not begin like PMTiles 3/ });
  await t.throwsAsync(openStreets(tmpdir()), { instanceOf, message: /does not begin like PMTiles 3/ });
});
