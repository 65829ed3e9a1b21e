import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';

const PROJECT = new URL('../../../', import.meta.url);
/** Where `make install` puts the bundle of the map page. */
const BUNDLE = 'node_modules/.viewer';
const PAGE = 'api/viewer/index.html';
/** Further files of the map page: the worker of MapLibre, what places are found in, and the icon. */
const FILES = [
  'node_modules/maplibre-gl/dist/maplibre-gl-worker.mjs',
  'data/reference/places.json',
  'data/reference/zips.json',
  'api/viewer/icon.svg',
];
const VERSION_LETTERS = 16;

/**
 * Reads the page, with places to be filled, and every other file by its name. `version` is the hash of all of them: it is part
 * of every address, so that the content at an address never changes.
 */
export async function loadAssets() {
  const bundle = await readdir(new URL(BUNDLE, PROJECT)).catch((cause: unknown) => {
    throw new Error(`the map page is not built, expected ${BUNDLE}: run 'make install'`, { cause });
  });
  const read = (path: string) => readFile(new URL(path, PROJECT));
  const files = new Map<string, Buffer>();
  for (const path of [...bundle.map((name) => `${BUNDLE}/${name}`), ...FILES])
    files.set(path.slice(path.lastIndexOf('/') + 1), await read(path));
  const page = String(await read(PAGE));
  const hash = createHash('sha256').update(page);
  for (const [name, content] of [...files].sort(([a], [b]) => (a < b ? -1 : 1))) hash.update(name).update(content);
  return { page, files, version: hash.digest('hex').slice(0, VERSION_LETTERS) };
}
