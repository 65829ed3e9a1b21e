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
  const sources = [
    ...own.filter((name) => /\.(css|svg)$/.test(name)).map((name) => [name, new URL(name, OWN)] as const),
    ...Object.entries(LIBRARIES).map(([name, module]) => [name, new URL(import.meta.resolve(module))] as const),
    ...PLACES.map((name) => [name, new URL(name, REFERENCE)] as const),
  ];
  const zones = await readFile(new URL(import.meta.resolve('@photostructure/tz-lookup')), 'utf8');
  const files = new Map<string, string | Buffer>([
    ...(await Promise.all(sources.map(async ([name, from]) => [name, await readFile(from)] as const))),
    ...(await Promise.all(own.filter((name) => extname(name) === '.ts').map(readModule))),
    // The table of time zones by place: its package has no module, but one function.
    ['tz-lookup.js', `${zones}\nexport default tzlookup;\n`],
    ['palette.json', JSON.stringify({ ...palette('light'), dark: palette('dark') })],
    ['streets.json', JSON.stringify({ light: streetLayers('light'), dark: streetLayers('dark') })],
  ]);
  const pages = new Map<string, string>();
  for (const [path, name] of Object.entries(PAGES)) pages.set(path, await readFile(new URL(name, OWN), 'utf8'));
  const hash = createHash('sha256');
  for (const page of pages.values()) hash.update(page);
  for (const [name, content] of [...files].sort(([a], [b]) => (a < b ? -1 : 1))) hash.update(name).update(content);
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

/** A module as JavaScript: white space replaces its types, and its imports name the `.js` addresses. */
async function readModule(name: string): Promise<[string, string]> {
  // Loaded on the first visit only: 3.7 MB of WebAssembly, the same that Node runs TypeScript with.
  const { transformSync } = await import('amaro');
  const { code } = transformSync(await readFile(new URL(name, OWN), 'utf8'), { mode: 'strip-only' });
  return [name.replace(/\.ts$/, '.js'), code.replaceAll(IMPORT, "$1.js'")];
}
