import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { extname } from 'node:path';
import { BASEMAP, REFLECTIVITY_COLORS, SIZE_COLORS } from '../../schemas/palette.ts';
import { SIZE_BANDS } from '../../schemas/size.ts';
import { MM_PER_INCH } from '../../schemas/units.ts';
import { stateOutlines } from './viewer-outlines.ts';

/** One file of the page, in memory. */
export interface Asset {
  readonly type: string;
  readonly content: Buffer;
}

/** Everything the page is made of, by name; only these names are ever served. */
export interface Assets {
  readonly page: string;
  readonly files: ReadonlyMap<string, Asset>;
  /** Hash of all of it: part of every address, so that an address never changes its content. */
  readonly version: string;
}

const OWN = new URL('../viewer/', import.meta.url);
const PAGE = 'index.html';

/** MapLibre finds its worker beside itself, so the files of a package keep their names. */
const LIBRARIES: Readonly<Record<string, string>> = {
  'maplibre-gl.mjs': 'maplibre-gl/dist/maplibre-gl.mjs',
  'maplibre-gl-shared.mjs': 'maplibre-gl/dist/maplibre-gl-shared.mjs',
  'maplibre-gl-worker.mjs': 'maplibre-gl/dist/maplibre-gl-worker.mjs',
  'maplibre-gl.css': 'maplibre-gl/dist/maplibre-gl.css',
  'pmtiles.js': 'pmtiles',
};

const TYPES: Readonly<Record<string, string>> = {
  '.js': 'text/javascript; charset=utf-8',
  '.mjs': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
};
const JSON_TYPE = 'application/json; charset=utf-8';
const VERSION_LETTERS = 16;

/** Reads the page's own files and those of its libraries, and makes its palette and its base map. */
export async function loadAssets(): Promise<Assets> {
  const own = (await readdir(OWN)).filter((name) => extname(name) in TYPES);
  const files = new Map<string, Asset>([
    ...(await Promise.all(own.map((name) => readAsset(name, new URL(name, OWN))))),
    ...(await Promise.all(
      Object.entries(LIBRARIES).map(([name, module]) => readAsset(name, new URL(import.meta.resolve(module)))),
    )),
    ['palette.json', jsonAsset(palette())],
    ['states.json', jsonAsset(stateOutlines())],
  ]);
  const page = await readFile(new URL(PAGE, OWN), 'utf8');
  return { page, files, version: versionOf(page, files) };
}

/** Colours and bounds of sizes and of reflectivity, smallest first, and the colours of the base map: the page has none of its own for them. */
function palette() {
  const sizes = SIZE_COLORS.map((step) => ({
    ...step,
    inches: SIZE_BANDS.find((band) => band.category === step.category)?.inches ?? null,
  }));
  return { sizes, reflectivity: REFLECTIVITY_COLORS, basemap: BASEMAP, mm_per_inch: MM_PER_INCH };
}

async function readAsset(name: string, from: URL): Promise<[string, Asset]> {
  return [name, { type: TYPES[extname(name)] as string, content: await readFile(from) }];
}

function jsonAsset(value: object): Asset {
  return { type: JSON_TYPE, content: Buffer.from(JSON.stringify(value)) };
}

function versionOf(page: string, files: ReadonlyMap<string, Asset>): string {
  const hash = createHash('sha256').update(page);
  for (const [name, { content }] of [...files].sort(([a], [b]) => (a < b ? -1 : 1))) hash.update(name).update(content);
  return hash.digest('hex').slice(0, VERSION_LETTERS);
}
