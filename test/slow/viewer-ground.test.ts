import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fromGeojsonVt } from '@maplibre/vt-pbf';
import type { ExecutionContext } from 'ava';
import type { Feature, Position } from 'geojson';
import GeoJSONVT, { type LegacyTile } from 'geojson-vt';
import type { Page } from 'playwright-core';
import { type ArchiveTile, gzip, writePmtiles } from '../../schemas/geo/pmtiles.ts';
import { PHONE, ready, said, serviceTest } from '../support/browser/browser.ts';
import { filesIn, startWebServer } from '../support/data/web-server.ts';

const EXTENT = 4096;
const MAX_ZOOM = 12;

function box([west, south]: Position, size_deg: number): Position[][] {
  const [lon, lat] = [west as number, south as number];
  const ring = [
    [lon, lat],
    [lon + size_deg, lat],
    [lon + size_deg, lat + size_deg],
    [lon, lat + size_deg],
    [lon, lat],
  ];
  return [ring];
}

/** A small archive as Protomaps lays its layers out: a square of land with a pond, a motorway and a town in its middle. */
function streetsArchive({ lon, lat, town }: { lon: number; lat: number; town: string }): Uint8Array {
  const feature = (geometry: Feature['geometry'], properties: Feature['properties']): Feature => ({
    type: 'Feature',
    geometry,
    properties,
  });
  const layers: Readonly<Record<string, Feature>> = {
    earth: feature({ type: 'Polygon', coordinates: box([lon - 0.5, lat - 0.5], 1) }, { kind: 'earth' }),
    water: feature({ type: 'Polygon', coordinates: box([lon + 0.05, lat - 0.05], 0.05) }, { kind: 'lake' }),
    roads: feature(
      {
        type: 'LineString',
        coordinates: [
          [lon - 0.4, lat - 0.03],
          [lon + 0.4, lat - 0.03],
        ],
      },
      { kind: 'highway', kind_detail: 'motorway', name: 'Test Turnpike', min_zoom: 3 },
    ),
    places: feature(
      { type: 'Point', coordinates: [lon, lat] },
      { kind: 'locality', name: town, population_rank: 11, min_zoom: 4 },
    ),
  };
  const tiles = new Map<string, { z: number; x: number; y: number; layers: Record<string, LegacyTile> }>();
  for (const [name, content] of Object.entries(layers)) {
    const index = new GeoJSONVT(
      { type: 'FeatureCollection', features: [content] },
      { maxZoom: MAX_ZOOM, indexMaxZoom: MAX_ZOOM, indexMaxPoints: 0, extent: EXTENT },
    );
    for (const { z, x, y } of index.tileCoords) {
      const tile = index.getTile(z, x, y);
      if (tile === null) continue;
      const filled = tiles.get(`${z}/${x}/${y}`) ?? { z, x, y, layers: {} };
      filled.layers[name] = tile;
      tiles.set(`${z}/${x}/${y}`, filled);
    }
  }
  return writePmtiles({
    tiles: [...tiles.values()].map(
      ({ z, x, y, layers }): ArchiveTile => ({
        z,
        x,
        y,
        data: gzip(fromGeojsonVt(layers, { version: 2, extent: EXTENT })),
      }),
    ),
    metadata: { name: 'streets', vector_layers: Object.keys(layers).map((id) => ({ id, fields: {} })) },
    bounds: [lon - 0.5, lat - 0.5, lon + 0.5, lat + 0.5],
    center: { lon, lat, zoom: 9 },
    minZoom: 0,
    maxZoom: MAX_ZOOM,
  });
}

/** A name on the map, and the layer that draws it. */
interface DrawnName {
  readonly layer: string;
  readonly name: string;
}

interface MapOfPage {
  queryRenderedFeatures(): {
    readonly layer: { readonly id: string };
    readonly properties: { readonly name?: string };
  }[];
}

/** Names that the map draws. */
function namesOn(page: Page): Promise<DrawnName[]> {
  return page.evaluate(() => {
    const { hailMap } = globalThis as unknown as { readonly hailMap: MapOfPage };
    return hailMap
      .queryRenderedFeatures()
      .flatMap(({ layer, properties: { name } }) => (name === undefined ? [] : [{ layer: layer.id, name }]));
  });
}

/** Zoom, latitude and longitude, as in the address. */
const CONTINENT = '4.20/38.5000/-97.0000';
const STATE = '7.00/35.4000/-97.5000';
const COUNTIES = '9.20/35.4000/-97.5000';
const TOWN = '11.00/35.2500/-97.4500';

/** Opens another place by the address. */
async function goTo(page: Page, place: string): Promise<void> {
  await page.evaluate((hash) => {
    delete document.documentElement.dataset.ready;
    location.hash = hash;
    location.reload();
  }, `#map=${place}`);
  await ready(page);
  await page.waitForTimeout(1500);
}

const drawnBy = (names: readonly DrawnName[], layer: string) =>
  new Set(names.filter((drawn) => drawn.layer === layer).map(({ name }) => name));

serviceTest(
  'the map names states and the largest cities far out, then towns, then counties, all from this service',
  { path: `/viewer#map=${CONTINENT}` },
  async (t, { page, complaints, service }) => {
    const elsewhere: string[] = [];
    page.on('request', (request) => {
      if (!request.url().startsWith(service.url) && !/^(data|blob):/.test(request.url())) elsewhere.push(request.url());
    });
    await page.waitForTimeout(1500);
    const far = await namesOn(page);
    t.true(drawnBy(far, 'names').has('Kansas'));
    t.true(drawnBy(far, 'towns').has('Chicago'));
    t.false(drawnBy(far, 'towns').has('Norman'));
    t.deepEqual(drawnBy(far, 'county-names'), new Set());

    await goTo(page, STATE);
    const state = drawnBy(await namesOn(page), 'towns');
    t.true(state.has('Norman') || state.has('Oklahoma City'));
    t.true(state.has('Stillwater'));
    t.false(state.has('Newcastle'));

    await goTo(page, COUNTIES);
    const near = await namesOn(page);
    t.true(drawnBy(near, 'county-names').has('Oklahoma County'));
    t.true(drawnBy(near, 'towns').has('Newcastle'));
    t.deepEqual(drawnBy(near, 'names'), new Set());

    await goTo(page, TOWN);
    const closest = await namesOn(page);
    t.true(drawnBy(closest, 'county-names').has('Cleveland County'));
    t.true(drawnBy(closest, 'towns').has('Norman'));
    t.deepEqual(elsewhere, []);
    t.deepEqual(complaints, []);
  },
);

for (const [title, screen] of [
  ['phone-light', { ...PHONE, colorScheme: 'light' }],
  ['desktop-dark', { colorScheme: 'dark' }],
] as const)
  serviceTest(
    `the map opens at four zooms without a complaint: ${title}`,
    { ...screen, is_shared: true },
    async (t, { page, complaints }) => {
      for (const place of [CONTINENT, STATE, COUNTIES, TOWN]) {
        await goTo(page, place);
      }
      const ink = await page.evaluate(() => getComputedStyle(document.documentElement).getPropertyValue('--ink'));
      t.is(ink.trim(), screen.colorScheme === 'dark' ? '#f0f4f7' : '#22303c');
      t.regex(await said(page, '#caution'), /GeoNames \(CC BY 4\.0\)/);
      t.deepEqual(complaints, []);
    },
  );

const STREETS = join(mkdtempSync(join(tmpdir(), 'hail-streets-')), 'streets.pmtiles');
const TESTSTEAD = { lon: -97.45, lat: 35.25, town: 'Teststead' };
writeFileSync(STREETS, streetsArchive(TESTSTEAD));

for (const [where, settings] of [
  ['on this machine', { HAIL_BASEMAP: STREETS }],
  [
    'at an address elsewhere',
    async (t: ExecutionContext) => {
      const { url } = await startWebServer(t, {}, filesIn([['/', dirname(STREETS)]]));
      return { HAIL_BASEMAP: `${url}/streets.pmtiles` };
    },
  ],
] as const)
  serviceTest(
    `a street map of the operator ${where} is drawn under the hail with its roads and places, and county names stay`,
    { path: `/viewer#map=${TOWN}`, settings },
    async (t, { page, complaints }) => {
      await page.waitForTimeout(1500);
      const names = await namesOn(page);
      t.true(drawnBy(names, 'streets-places_locality').has(TESTSTEAD.town));
      t.true(drawnBy(names, 'streets-roads_highway').has('Test Turnpike'));
      t.true(drawnBy(names, 'county-names').has('Cleveland County'));
      t.deepEqual(drawnBy(names, 'towns'), new Set());
      t.regex(await said(page, '#caution'), /OpenStreetMap/);
      t.deepEqual(complaints, []);
    },
  );

/** A style of an operator elsewhere: land, a road and its name. */
function style(url: string): Buffer {
  const source = { type: 'geojson', data: `${url}/roads.json`, attribution: 'Roads of the county' };
  const road = { id: 'road', type: 'line', source: 'roads', paint: { 'line-color': '#0000ff', 'line-width': 6 } };
  const name = {
    id: 'name',
    type: 'symbol',
    source: 'roads',
    layout: { 'symbol-placement': 'line', 'text-field': ['get', 'name'] },
  };
  const ground = { id: 'land', type: 'background', paint: { 'background-color': '#ffffff' } };
  return Buffer.from(JSON.stringify({ version: 8, sources: { roads: source }, layers: [ground, road, name] }));
}

serviceTest(
  'the style of a street map elsewhere is drawn with its roads over the hail and its names, and its sources are named',
  {
    path: `/viewer#map=${TOWN}`,
    settings: async (t) => {
      const folder = mkdtempSync(join(tmpdir(), 'hail-style-'));
      const { url } = await startWebServer(t, {}, filesIn([['/', folder]]));
      const line = [
        [TESTSTEAD.lon - 0.4, TESTSTEAD.lat - 0.03],
        [TESTSTEAD.lon + 0.4, TESTSTEAD.lat - 0.03],
      ];
      const geometry = { type: 'LineString', coordinates: line };
      writeFileSync(
        join(folder, 'roads.json'),
        JSON.stringify({ type: 'Feature', properties: { name: TESTSTEAD.town }, geometry }),
      );
      writeFileSync(join(folder, 'style.json'), style(url));
      return { HAIL_BASEMAP: `${url}/style.json` };
    },
  },
  async (t, { page, complaints }) => {
    await page.waitForTimeout(1500);
    const names = await namesOn(page);
    t.true(drawnBy(names, 'streets-name').has(TESTSTEAD.town));
    t.true(drawnBy(names, 'county-names').has('Cleveland County'));
    t.deepEqual(drawnBy(names, 'towns'), new Set());
    const order = await page.evaluate(() => {
      const { hailMap } = globalThis as unknown as { readonly hailMap: { getLayersOrder(): string[] } };
      return hailMap.getLayersOrder();
    });
    const height = (layer: string) => order.findIndex((id) => id.startsWith(layer));
    t.true(height('streets-land') < height('swaths') && height('swaths') < height('streets-road'));
    await page.setViewportSize(PHONE.viewport);
    for (const media of ['screen', 'print'] as const) {
      await page.emulateMedia({ media });
      t.true(await page.locator('#caution').getByText('Roads of the county').isVisible(), media);
    }
    await page.route('**/style.json', () => {});
    await page.reload();
    await ready(page);
    await page.waitForTimeout(1500);
    t.true(drawnBy(await namesOn(page), 'towns').has('Norman'), 'the map does not wait for its streets');
    t.deepEqual(complaints, []);
  },
);
