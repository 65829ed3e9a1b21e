import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { extname } from 'node:path';
import {
  BASEMAPS,
  CLASSIC_REFLECTIVITY_COLORS,
  MAP_REFLECTIVITY_COLORS,
  MAP_SIZE_COLORS,
  type Scheme,
} from '../../../schemas/palette.ts';
import { SIZE_BANDS } from '../../../schemas/size.ts';
import { MM_PER_INCH } from '../../../schemas/units.ts';
import { streetLayers } from './basemap-style.ts';

/** One file of the page, in memory. */
export interface ViewerAsset {
  readonly type: string;
  readonly content: Buffer;
}

/** All files of the page, by name; no other name is served. */
interface Assets {
  /** Pages by the name of their file, with places to be filled. */
  readonly pages: ReadonlyMap<PageName, string>;
  readonly files: ReadonlyMap<string, ViewerAsset>;
  /** Hash of all files: part of every address, so that the content at an address never changes. */
  readonly version: string;
}

const OWN = new URL('../../viewer/', import.meta.url);
const REFERENCE = new URL('../../../data/reference/', import.meta.url);
/** What the map page finds places in. */
const PLACES = ['places.json', 'zips.json'];
const PAGES = ['index.html', 'account.html'] as const;
export type PageName = (typeof PAGES)[number];

/** MapLibre loads its worker from its own folder, so the files of a package keep their names. */
const LIBRARIES: Readonly<Record<string, string>> = {
  'maplibre-gl.mjs': 'maplibre-gl/dist/maplibre-gl.mjs',
  'maplibre-gl-shared.mjs': 'maplibre-gl/dist/maplibre-gl-shared.mjs',
  'maplibre-gl-worker.mjs': 'maplibre-gl/dist/maplibre-gl-worker.mjs',
  'maplibre-gl.css': 'maplibre-gl/dist/maplibre-gl.css',
  'pmtiles.js': 'pmtiles',
  'terra-draw.js': 'terra-draw',
  'terra-draw-maplibre.js': 'terra-draw-maplibre-gl-adapter',
};

const TYPES: Readonly<Record<string, string>> = {
  '.js': 'text/javascript; charset=utf-8',
  '.mjs': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
};
const JSON_TYPE = 'application/json; charset=utf-8';
const VERSION_LETTERS = 16;
/** Import of another module of the page. */
const IMPORT = /(from '\.{1,2}\/[a-z/.-]+)\.ts'/g;

/** Reads the pages' own files and those of its libraries, and makes its palette and the style of its street map. */
export async function loadAssets(): Promise<Assets> {
  const own = await readdir(OWN, { recursive: true });
  const plain = own.filter((name) => extname(name) in TYPES);
  const modules = own.filter((name) => extname(name) === '.ts');
  const files = new Map<string, ViewerAsset>([
    ...(await Promise.all(plain.map((name) => readAsset(name, new URL(name, OWN))))),
    ...(await Promise.all(modules.map(readModule))),
    ...(await Promise.all(
      Object.entries(LIBRARIES).map(([name, module]) => readAsset(name, new URL(import.meta.resolve(module)))),
    )),
    ...(await Promise.all(PLACES.map(readPlaces))),
    ['tz-lookup.js', await zonesModule()],
    ['palette.json', jsonAsset({ ...palette('light'), dark: palette('dark') })],
    ['streets.json', jsonAsset({ light: streetLayers('light'), dark: streetLayers('dark') })],
  ]);
  const pages = new Map(await Promise.all(PAGES.map(readPage)));
  return { pages, files, version: versionOf(pages, files) };
}

/** Colours and bounds of sizes and reflectivity, smallest first, and colours of the base map. */
function palette(scheme: Scheme) {
  const sizes = MAP_SIZE_COLORS[scheme].map((step) => ({
    ...step,
    inches: SIZE_BANDS.find((band) => band.category === step.category)?.inches ?? null,
  }));
  return {
    sizes,
    reflectivity: { ours: MAP_REFLECTIVITY_COLORS[scheme], classic: CLASSIC_REFLECTIVITY_COLORS },
    basemap: BASEMAPS[scheme],
    mm_per_inch: MM_PER_INCH,
  };
}

async function readPage(name: PageName): Promise<[PageName, string]> {
  return [name, await readFile(new URL(name, OWN), 'utf8')];
}

async function readAsset(name: string, from: URL): Promise<[string, ViewerAsset]> {
  return [name, { type: TYPES[extname(name)] as string, content: await readFile(from) }];
}

async function readPlaces(name: string): Promise<[string, ViewerAsset]> {
  return [name, { type: JSON_TYPE, content: await readFile(new URL(name, REFERENCE)) }];
}

/** A module as JavaScript: white space replaces its types, and its imports name the `.js` addresses. */
async function readModule(name: string): Promise<[string, ViewerAsset]> {
  const content = Buffer.from(await strippedModule(new URL(name, OWN)));
  return [name.replace(/\.ts$/, '.js'), { type: TYPES['.js'] as string, content }];
}

/** A TypeScript module as JavaScript for a browser. */
export async function strippedModule(from: URL): Promise<string> {
  // Loaded on the first visit only: 3.7 MB of WebAssembly, the same that Node runs TypeScript with.
  const { transformSync } = await import('amaro');
  const { code } = transformSync(await readFile(from, 'utf8'), { mode: 'strip-only' });
  return code.replaceAll(IMPORT, "$1.js'");
}

/** The table of time zones by place: its package has no module, but one function. */
async function zonesModule(): Promise<ViewerAsset> {
  const code = await readFile(new URL(import.meta.resolve('@photostructure/tz-lookup')), 'utf8');
  return { type: TYPES['.js'] as string, content: Buffer.from(`${code}\nexport default tzlookup;\n`) };
}

function jsonAsset(value: object): ViewerAsset {
  return { type: JSON_TYPE, content: Buffer.from(JSON.stringify(value)) };
}

function versionOf(pages: ReadonlyMap<string, string>, files: ReadonlyMap<string, ViewerAsset>): string {
  const hash = createHash('sha256');
  for (const page of pages.values()) hash.update(page);
  for (const [name, { content }] of [...files].sort(([a], [b]) => (a < b ? -1 : 1))) hash.update(name).update(content);
  return hash.digest('hex').slice(0, VERSION_LETTERS);
}
