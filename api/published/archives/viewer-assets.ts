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
import { JSON_TYPE } from '../../http/reply.ts';
import { streetLayers } from './basemap-style.ts';

/** One file of the page, in memory. */
interface ViewerAsset {
  readonly type: string;
  readonly content: Buffer;
}

const OWN = new URL('../../viewer/', import.meta.url);
const REFERENCE = new URL('../../../data/reference/', import.meta.url);
/** What the map page finds places in. */
const PLACES = ['places.json', 'zips.json'];
/** The map, and the account of a key, by their paths. */
const PAGES = { '/viewer': 'index.html', '/viewer/account': 'account.html' };

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
  '.json': JSON_TYPE,
};
const VERSION_LETTERS = 16;
/** Import of another module of the page. */
const IMPORT = /(from '\.{1,2}\/[a-z/.-]+)\.ts'/g;

/**
 * Reads the pages, with places to be filled, by their paths, and by its name every other file: own ones, those of libraries, the
 * palette and the style of the street map. `version` is the hash of all of them: it is part of every address, so that the content
 * at an address never changes.
 */
export async function loadAssets() {
  const own = await readdir(OWN, { recursive: true });
  const plain = own.filter((name) => /\.(css|svg)$/.test(name));
  const modules = own.filter((name) => extname(name) === '.ts');
  const libraries = Object.entries(LIBRARIES);
  const files = new Map([
    ...(await Promise.all(plain.map((name) => readAsset(name, new URL(name, OWN))))),
    ...(await Promise.all(modules.map(readModule))),
    ...(await Promise.all(libraries.map(([name, module]) => readAsset(name, new URL(import.meta.resolve(module)))))),
    ...(await Promise.all(PLACES.map((name) => readAsset(name, new URL(name, REFERENCE))))),
    ['tz-lookup.js', await zonesModule()] as const,
    ['palette.json', jsonAsset({ ...palette('light'), dark: palette('dark') })] as const,
    ['streets.json', jsonAsset({ light: streetLayers('light'), dark: streetLayers('dark') })] as const,
  ]);
  const pages = new Map<string, string>();
  for (const [path, name] of Object.entries(PAGES)) pages.set(path, await readFile(new URL(name, OWN), 'utf8'));
  const hash = createHash('sha256');
  for (const page of pages.values()) hash.update(page);
  for (const [name, { content }] of [...files].sort(([a], [b]) => (a < b ? -1 : 1))) hash.update(name).update(content);
  return { pages, files, version: hash.digest('hex').slice(0, VERSION_LETTERS) };
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

async function readAsset(name: string, from: URL): Promise<[string, ViewerAsset]> {
  return [name, { type: TYPES[extname(name)] as string, content: await readFile(from) }];
}

/** A module as JavaScript: white space replaces its types, and its imports name the `.js` addresses. */
async function readModule(name: string): Promise<[string, ViewerAsset]> {
  // Loaded on the first visit only: 3.7 MB of WebAssembly, the same that Node runs TypeScript with.
  const { transformSync } = await import('amaro');
  const { code } = transformSync(await readFile(new URL(name, OWN), 'utf8'), { mode: 'strip-only' });
  const content = Buffer.from(code.replaceAll(IMPORT, "$1.js'"));
  return [name.replace(/\.ts$/, '.js'), { type: TYPES['.js'] as string, content }];
}

/** The table of time zones by place: its package has no module, but one function. */
async function zonesModule(): Promise<ViewerAsset> {
  const code = await readFile(new URL(import.meta.resolve('@photostructure/tz-lookup')), 'utf8');
  return { type: TYPES['.js'] as string, content: Buffer.from(`${code}\nexport default tzlookup;\n`) };
}

function jsonAsset(value: object): ViewerAsset {
  return { type: JSON_TYPE, content: Buffer.from(JSON.stringify(value)) };
}
