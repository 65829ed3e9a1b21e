import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'ava';
import fc from 'fast-check';
import { EtagMismatch } from 'pmtiles';
import { favicon, viewerPages } from '../../api/routes/viewer.ts';
import { DEFAULT_LAYERS, readAddress, writeAddress } from '../../api/viewer/address.ts';
import { openPieces, PIECE_BYTES } from '../../api/viewer/data/archives.ts';
import { refusal } from '../../api/viewer/data/service.ts';
import { CONE_ERROR, circle } from '../../api/viewer/layers/layer.ts';
import { type UncoveredBlocks, uncoveredArea } from '../../api/viewer/map/coverage.ts';
import { findingInWords, pickAmong } from '../../api/viewer/map/pick.ts';
import { filtered, rounded } from '../../api/viewer/map/smooth.ts';
import { BASEMAP, REFLECTIVITY, SIZES } from '../../api/viewer/page/palette.ts';
import { bandInWords, motionInWords, sizeInWords, sourceInWords, timeInWords } from '../../api/viewer/page/words.ts';
import { roughDistanceKm } from '../../schemas/geo/distance.ts';
import { MATURE_ERROR } from '../../schemas/nowcast/probability.ts';
import { BASEMAPS, REFLECTIVITY_COLORS, SIZE_COLORS } from '../../schemas/palette.ts';
import { parseSettings } from '../../schemas/settings.ts';
import { type RunningService, startService } from '../support/service/service.ts';

const BASE = 'http://127.0.0.1:8080/v1';
const ROOT = mkdtempSync(join(tmpdir(), 'hail-viewer-'));
let service: RunningService;

test.before(async () => {
  service = await startService({
    data_root: ROOT,
    public_routes: () => [
      ...viewerPages(BASE, { embed_origins: ['https://news.example', 'https://*.example.org'] }),
      favicon,
    ],
  });
});
test.after.always(async () => {
  await service.close();
  rmSync(ROOT, { recursive: true, force: true });
});

/** Asks for a path as a browser would, which may keep what it gets. */
const ask = (path: string, init: RequestInit = {}) => fetch(`${service.url}${path}`, init);
const text = async (path: string) => (await ask(path)).text();
const page = () => text('/viewer');

/** Address of a file of the page. */
async function addressOf(name: string): Promise<string> {
  const folder = /href="(\/viewer\/assets\/[0-9a-f]+)\//.exec(await page())?.[1] ?? '';
  return `${folder}/${name}`;
}

test('GET /viewer is the page, with or without a trailing slash, checked for changes on every visit', async (t) => {
  const plain = await ask('/viewer');
  t.is(plain.status, 200);
  t.is(plain.headers.get('content-type'), 'text/html; charset=utf-8');
  t.is(plain.headers.get('cache-control'), 'no-cache');
  const html = await plain.text();
  t.is(await text('/viewer/'), html);
  t.true(html.includes('Radar estimate, not a ground measurement'));
  const again = await ask('/viewer', { headers: { 'if-none-match': `"other", ${plain.headers.get('etag')}` } });
  t.is(again.status, 304);
});

test('whoever accepts gzip gets the same bytes in gzip', async (t) => {
  const path = await addressOf('viewer.js');
  const plain = await ask(path, { headers: { 'accept-encoding': 'gzip;q=0' } });
  const zipped = await ask(path, { headers: { 'accept-encoding': 'br, gzip' } });
  t.is(zipped.headers.get('content-encoding'), 'gzip');
  t.is(zipped.headers.get('vary'), 'Accept-Encoding');
  t.is(plain.headers.get('content-encoding'), null);
  t.is(await zipped.text(), await plain.text());
});

test('every address in the page and every import of its modules is served, for good', async (t) => {
  const script = await addressOf('viewer.js');
  const named = [...(await page()).matchAll(/"(\/viewer\/assets\/[^"]+\.[a-z]+)"/g)].map(([, address]) => address);
  t.true(named.includes(script));
  const imported = [...(await text(script)).matchAll(/(?:from|import\()"\.\/([\w.-]+\.js)"/g)].map(([, name]) => name);
  t.deepEqual(imported.toSorted(), ['draw.js', 'streets.js']);
  const others = [...imported, 'maplibre-gl-worker.mjs', 'places.json', 'zips.json'];
  for (const address of [...named, ...(await Promise.all(others.map((name) => addressOf(`${name}`))))]) {
    const { status, headers } = await ask(`${address}`);
    t.is(status, 200, address);
    t.is(headers.get('cache-control'), 'public, max-age=31536000, immutable', address);
  }
});

test('the page names no address elsewhere, and no module of its own does', async (t) => {
  const folder = new URL('../../api/viewer/', import.meta.url);
  const modules = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) =>
    /\.(tsx?|css)$/.test(name),
  );
  for (const content of [await page(), ...modules.map((name) => readFileSync(new URL(name, folder), 'utf8'))])
    t.false(/https?:\/\//.test(content.replaceAll('http://www.w3.org/2000/svg', '')));
});

test('the policy lets the page load from here only', async (t) => {
  const response = await ask('/viewer');
  const policy = response.headers.get('content-security-policy') ?? '';
  t.true(policy.includes("script-src 'self';"));
  t.true(policy.startsWith("default-src 'none'"));
  t.false(policy.includes('unsafe'));
  t.notRegex(await response.text(), /<script(?! type="module" src=)|<style| style=/);
});

test('a site that may frame the map is named as an origin', (t) => {
  const originsOf = (HAIL_EMBED_ORIGINS: string) =>
    parseSettings({ HAIL_EMBED_ORIGINS }, (faults) => new Error(faults)).HAIL_EMBED_ORIGINS;
  t.deepEqual(originsOf('https://news.example, http://127.0.0.1:8000,https://*.example.org'), [
    ...['https://news.example', 'http://127.0.0.1:8000', 'https://*.example.org'],
  ]);
  for (const wrong of ['news.example', 'https://news.example/', "'self'", 'https://a b', '*', 'https://a;script-src *'])
    t.throws(
      () => originsOf(wrong),
      { message: /^HAIL_EMBED_ORIGINS is '.*': expected origins such as https:/ },
      wrong,
    );
});

test('/embed is the same page for frames of the named origins, and the map for none', async (t) => {
  const policyOf = async (path: string) => (await ask(path)).headers.get('content-security-policy') ?? '';
  t.true((await policyOf('/embed')).endsWith('frame-ancestors https://news.example https://*.example.org'));
  for (const path of ['/viewer', await addressOf('viewer.js')])
    t.true((await policyOf(path)).endsWith("frame-ancestors 'none'"), path);
  t.is((await text('/embed')).replace(' data-embed', ''), await page());
  for (const path of ['/embed', '/embed/']) {
    const asked = await ask(`${path}?view=day&date=2026-05-01`, { redirect: 'manual' });
    t.is(asked.headers.get('location'), '/embed#view=day&date=2026-05-01');
  }
});

test('the icon needs no key, and a page and what it loads show no rate', async (t) => {
  const icon = await ask('/favicon.ico');
  t.is(icon.status, 200);
  t.is(icon.headers.get('content-type'), 'image/svg+xml');
  for (const path of ['/viewer', await addressOf('viewer.js'), '/favicon.ico'])
    t.is((await ask(path)).headers.get('x-ratelimit-limit'), null, path);
});

test('only names of the page are served under its address: no settings, no page, no climbing', async (t) => {
  const names = ['tsconfig.json', 'index.html', '..', 'package.json', '%2e%2e', 'VIEWER.JS', 'constructor'];
  const paths = ['/viewer/index.html', '/viewer/viewer.js', '/viewer/assets/0123456789abcdef/viewer.js'];
  for (const path of [...paths, ...(await Promise.all(names.map(addressOf)))])
    t.is((await ask(path)).status, 404, path);
  const posted = await ask('/viewer', { method: 'POST' });
  t.is(posted.status, 405);
  t.is(posted.headers.get('allow'), 'GET, HEAD, OPTIONS');
});

test('the page colours sizes and map as every picture does', (t) => {
  const bands = SIZES.map(({ mm_min, category, color, ink }) => ({ mm_min, category, color, ink }));
  t.deepEqual(bands, SIZE_COLORS);
  t.deepEqual(REFLECTIVITY, REFLECTIVITY_COLORS);
  t.deepEqual(BASEMAP, BASEMAPS.light);
  const inches = SIZES.map(({ inches }) => inches);
  t.deepEqual(inches, '0.2 0.4 0.75 1.00 1.50 2.50 2.75 4.00'.split(' '));
});

test('an address brings back date, view, scan, layers and place', async (t) => {
  const hash = '#view=scan&date=2026-11-21&frame=20261121T040511Z&layers=reflectivity,storms&map=6.20/36.1000/-98.5000';
  const address = readAddress(hash);
  t.deepEqual(address, {
    date: '2026-11-21',
    view: 'scan',
    span: 'date',
    scan_id: '20261121T040511Z',
    layers: ['reflectivity', 'storms'],
    place: { zoom: 6.2, lat: 36.1, lon: -98.5 },
    pin: null,
  });
  t.is(writeAddress(address), hash);
});

test('what an address says wrongly counts as not said', async (t) => {
  const nothing = {
    ...{ date: null, view: 'day', span: 'recent', scan_id: null, place: null, pin: null },
    layers: DEFAULT_LAYERS,
  };
  for (const hash of [
    '',
    '#',
    '#date=2026-02-30',
    '#date=today&view=radar',
    '#frame=../x',
    '#layers=hail,tornadoes',
    '#map=99/1/1',
    '#map=5/95/0',
    '#map=5/1',
    '#map=1e9/a/b',
    '#%',
  ])
    t.deepEqual(readAddress(hash), nothing, hash);
});

test('an address without layers shows the usual ones, an empty list none, in the order of the card', (t) => {
  t.deepEqual(readAddress('#view=day').layers, ['hail']);
  t.deepEqual(readAddress('#layers=').layers, []);
  t.deepEqual(readAddress('#layers=areas,hail').layers, ['hail', 'areas']);
  const none = '#view=day&date=2026-05-01&layers=';
  t.is(writeAddress(readAddress(none)), none);
});

test('the cone of a storm opens by the errors that the nowcast assumes of a storm that has been tracked for a while', (t) => {
  t.deepEqual(CONE_ERROR, MATURE_ERROR);
});

test('a circle on the map has its radius in every direction, and is closed', (t) => {
  const centre = { lat: 35.2, lon: -97.5 };
  const ring = circle([centre.lon, centre.lat], 80);
  t.deepEqual(ring[0], ring.at(-1));
  for (const [lon, lat] of ring) {
    const km = roughDistanceKm(centre, { lat: lat as number, lon: lon as number });
    t.true(Math.abs(km - 80) < 0.5, `${km}`);
  }
});

test('any text as an address gives something to show', async (t) => {
  const property = fc.property(fc.string(), (hash) => {
    const address = readAddress(hash);
    t.deepEqual(readAddress(writeAddress(address)), address);
  });
  fc.assert(property);
});

for (const [mm_min, mm, inches, category] of [
  [5, '5–10 mm', '0.2–0.4 in', null],
  [10, '10–19 mm', '0.4–0.75 in', null],
  [19, '19–25 mm', '0.75–1.00 in', 'nickel'],
  [25, '25–38 mm', '1.00–1.50 in', 'quarter'],
  [69, '69–101 mm', '2.75–4.00 in', 'baseball'],
  [101, '101 mm or more', '4.00 in or more', 'softball'],
] as const)
  test(`a place in the step of ${mm_min} mm is said to have ${mm}`, async (t) => {
    const band = bandInWords(mm_min);
    t.like(band, { mm, inches, category });
  });

test('sizes, motion and times read as people say them', async (t) => {
  t.is(sizeInWords(44.4), '1.7 in (44 mm)');
  t.is(motionInWords(55, 44), '34 mph (55 km/h) towards the north-east');
  t.is(motionInWords(55, 359), '34 mph (55 km/h) towards the north');
  t.is(timeInWords('2026-11-21T04:05:11Z'), '21 Nov 2026 04:05 UTC');
});

for (const [source, words] of [
  ['observed', 'Source: NOAA MRMS'],
  ['simulated', 'Source: simulated'],
  ['mixed', 'Source: NOAA MRMS and simulated'],
  [null, ''],
] as const)
  test(`a date whose data are ${source ?? 'not there'} is said to have '${words}'`, async (t) =>
    t.is(sourceInWords(source), words));

test('of the steps drawn over each other the largest counts, and of two storms the nearer one', async (t) => {
  const bands = [5, 25, 19].map((mm_min) => ({ properties: { mm_min } }));
  const storms = [3, 1, 2].map((x) => ({ properties: { mm: x }, geometry: { coordinates: [x, 0] } }));
  const picked = pickAmong(bands, storms, (lng) => lng);
  t.deepEqual(picked, { mm_min: 25, storm: { mm: 1 } });
  const none = pickAmong([], [], () => 0);
  t.deepEqual(none, { mm_min: null, storm: null });
});

test('a place is told its step, a storm its exact size, and an empty place of unknown coverage that it is not known to be dry', async (t) => {
  const given = { view: 'day', coarse: false, covered: null } as const;
  t.like(findingInWords({ mm_min: 19, storm: null }, given), {
    headline: '19–25 mm',
    second: '0.75–1.00 in',
    color: '#f4bf45',
  });
  t.is(findingInWords({ mm_min: 19, storm: { peak_mm: 44.4 } }, given).headline, '1.7 in (44 mm)');
  t.deepEqual(findingInWords({ mm_min: null, storm: null }, given).lines, ['Less than 19 mm, or no radar coverage.']);
  t.deepEqual(findingInWords({ mm_min: null, storm: null }, { ...given, view: 'scan' }).lines, [
    'Less than 5 mm, or no radar coverage.',
  ]);
});

test('an empty place has no hail in a scan in which radar looked, less than the first step on a day, and is not known elsewhere', async (t) => {
  const told = (view: 'day' | 'scan', covered: boolean) =>
    findingInWords({ mm_min: null, storm: null }, { view, coarse: false, covered });
  t.like(told('scan', true), { headline: 'No hail here', lines: ['Radar looked and saw less than 5 mm.'] });
  t.like(told('day', true), {
    headline: 'Less than 19 mm by the map’s steps',
    lines: ['Smaller hail is not drawn for a whole day.'],
  });
  t.like(told('scan', false), {
    headline: 'No radar coverage here',
    lines: ['No radar looked here in this scan: hail or none is not known.'],
  });
  t.regex(told('day', false).lines.join(), /in the newest scan of the day: hail or none is not known/);
});

/** Two rows of three blocks of one degree from 40 N 100 W: the middle block of both rows, and the last of the second. */
const UNCOVERED: UncoveredBlocks = {
  north: 40,
  west: -100,
  step_deg: 1,
  rows: 2,
  cols: 3,
  runs: [
    [0, 1, 2],
    [1, 1, 2],
    [1, 2, 3],
  ],
};

test('uncovered blocks are drawn as rectangles, and so is what lies outside the grid', async (t) => {
  const [outside, ...blocks] = uncoveredArea(UNCOVERED).coordinates;
  t.deepEqual(outside?.[1]?.[0], [-100, 38], 'the grid is a hole in what lies outside it');
  const corners = blocks.map(([ring]) => [ring?.[0], ring?.[2]]);
  t.deepEqual(corners, [
    [
      [-99, 39],
      [-98, 40],
    ],
    [
      [-99, 38],
      [-98, 39],
    ],
    [
      [-98, 38],
      [-97, 39],
    ],
  ]);
});

test('a storm without motion, trend or track says only what it knows', async (t) => {
  const { lines } = findingInWords(
    { mm_min: null, storm: { mm: 17, prob: 0.25 } },
    { view: 'scan', coarse: false, covered: null },
  );
  t.deepEqual(lines, ['Probability of severe hail 25 %']);
});

/** An archive of numbered bytes behind a fetch that counts its requests; it may change or fail. */
async function numbered(bytes: number) {
  const content = Uint8Array.from({ length: bytes }, (_, i) => (i * 7919) % 251);
  const server = { etag: '"a"', status: 206, ranges: [] as string[], modes: [] as (string | undefined)[] };
  const fetchRange = async (_: unknown, init?: RequestInit) => {
    const range = new Headers(init?.headers).get('Range') as string;
    const [, from, to] = /^bytes=(\d+)-(\d+)$/.exec(range) ?? [];
    server.ranges.push(range);
    server.modes.push(init?.cache);
    return new Response(content.slice(Number(from), Number(to) + 1), {
      status: server.status,
      headers: { ETag: server.etag },
    });
  };
  return { content, server, pieces: openPieces(fetchRange) };
}

test('any range of an archive is read exactly, and no piece twice', async (t) => {
  const { content, server, pieces } = await numbered(3 * PIECE_BYTES + 100);
  const source = pieces.source('archive');
  for (const [offset, length] of [
    [0, 16384],
    [PIECE_BYTES - 1, 2],
    [PIECE_BYTES, PIECE_BYTES],
    [10, 3 * PIECE_BYTES + 90],
    [content.length - 1, 1],
  ] as const)
    t.deepEqual(new Uint8Array((await source.getBytes(offset, length)).data), content.slice(offset, offset + length));
  t.is(server.ranges.length, 4);
  t.is(server.ranges[0], 'bytes=0-65535');
});

test('an archive that changed under its address is noticed and read anew, past the copies of the browser', async (t) => {
  const { server, pieces } = await numbered(2 * PIECE_BYTES);
  const source = pieces.source('archive');
  await source.getBytes(0, 10);
  server.etag = '"b"';
  await t.throwsAsync(source.getBytes(PIECE_BYTES, 10, undefined, '"a"'), { instanceOf: EtagMismatch });
  t.is((await source.getBytes(0, 10)).etag, '"b"');
  t.deepEqual(server.modes, ['default', 'default', 'reload']);
});

test('a piece that failed is asked for again', async (t) => {
  const { server, pieces } = await numbered(100);
  server.status = 503;
  await t.throwsAsync(pieces.source('archive').getBytes(0, 10), { message: /answered 503/ });
  server.status = 206;
  t.is((await pieces.source('archive').getBytes(0, 10)).data.byteLength, 10);
});

for (const [status, code, message, wait_s, says, needs_key] of [
  [401, 'unauthorized', 'the key is not valid', '', /^This key was not accepted\. It may be mistyped/, true],
  [403, 'insufficient_scope', 'the key lacks the scope tiles:read', '', /^The key lacks the scope tiles:read\.$/, true],
  [429, 'rate_limited', 'more than 60 requests', '23', /^More than 60 requests\. Try again in 23 s\.$/, false],
  [503, 'overloaded', 'too many wait', '300', /^Too many wait\. Try again in 5 min\.$/, false],
  [429, 'spend_cap_exceeded', 'the spend cap', '1000000', /^The spend cap\.$/, false],
] as const)
  test(`${status} ${code} is told in the words of the service, with the time to wait`, async (t) => {
    const body = JSON.stringify({ error: code, message, request_id: 'req_1' });
    const told = await refusal(new Response(body, { status, headers: { 'Retry-After': wait_s } }));
    t.regex(told.message, says);
    t.is(told.needs_key, needs_key);
  });

test('an answer that is no error body is told by its status', async (t) => {
  t.is((await refusal(new Response('<html>', { status: 502 }))).message, 'The service answered 502.');
});

const path = (...places: readonly (readonly [number, number])[]) => places.map(([x, y]) => ({ x, y }));
const SQUARE = path([0, 0], [10, 0], [10, 10], [0, 10], [0, 0]);

test('a smoothed outline goes through the middle of every edge, never leaves its pixels, and is closed', (t) => {
  const ring = rounded(SQUARE);
  t.deepEqual(ring[0], ring.at(-1));
  for (const middle of path([5, 0], [10, 5], [5, 10], [0, 5]))
    t.true(ring.some(({ x, y }) => x === middle.x && y === middle.y));
  t.true(ring.every(({ x, y }) => x >= 0 && x <= 10 && y >= 0 && y <= 10));
  t.false(
    ring.some(({ x, y }) => x === 0 && y === 0),
    'corners are cut',
  );
});

test('the corner of a long edge is rounded near the corner alone, so that neighbouring tiles agree', (t) => {
  const ring = rounded(path([0, 0], [1000, 0], [1000, 1000], [0, 1000], [0, 0]));
  t.true(ring.some(({ x, y }) => x === 64 && y === 0) && ring.some(({ x, y }) => x === 936 && y === 0));
});

test('a filtered track keeps its ends and its course, and loses its zigzag', (t) => {
  const straight = filtered(path([0, 0], [400, 0]));
  t.true(straight.every(({ y }) => y === 0));
  const zigzag = filtered(path(...Array.from({ length: 21 }, (_, i) => [20 * i, i % 2 === 0 ? 0 : 20] as const)));
  t.deepEqual([zigzag[0], zigzag.at(-1)], path([0, 0], [400, 0]));
  const inner = zigzag.filter(({ x }) => x > 100 && x < 300);
  t.true(inner.length > 10 && inner.every(({ y }) => Math.abs(y - 10) < 2));
});
