import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { extname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { PMTILES_TYPE } from '../../schemas/resources/tile-frame.ts';
import type { Config } from '../config.ts';
import { ApiError } from '../http/errors.ts';
import { JSON_TYPE } from '../http/reply.ts';
import { isStyle, type MapArchive, type Streets } from '../published/archives/basemap-streets.ts';
import { serveFile } from '../published/archives/response.ts';
import { openPart } from '../published/data-root.ts';
import { type PublicRoute, serveDocument } from '../server/public.ts';
import type { Middleware } from '../server/state.ts';

/**
 * What the map page shows, to whom: `access`, who may open the map; `streets`, the street map of the operator; `has_addresses`, whether
 * the search box finds addresses, for which the service asks a geocoder.
 */
export type ViewerOptions = Readonly<
  Partial<
    Pick<Config, 'tiles_url' | 'embed_origins'> & {
      access: Config['viewer'];
      streets: Streets | null;
      has_addresses: boolean;
    }
  >
>;

const TYPES: Readonly<Record<string, string>> = {
  '.js': 'text/javascript; charset=utf-8',
  '.mjs': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.json': JSON_TYPE,
};
const PROJECT = new URL('../../', import.meta.url);
/** Where `make install` puts the bundle of the map page. */
const BUNDLE = 'node_modules/.viewer';
const PAGE = 'api/viewer/index.html';
/** Further files of the map page: the worker of MapLibre, and what places are found in. */
const FILES = [
  'node_modules/maplibre-gl/dist/maplibre-gl-worker.mjs',
  'data/reference/places.json',
  'data/reference/zips.json',
];
const GROUND = fileURLToPath(new URL('data/reference/ground.pmtiles', PROJECT));
const ICON = readFileSync(new URL('api/viewer/icon.svg', PROJECT));
const NAME_LETTERS = 16;
const IMMUTABLE = { 'Cache-Control': 'public, max-age=31536000, immutable', 'X-Content-Type-Options': 'nosniff' };

export const GROUND_SOURCES = 'US Census, Natural Earth, GeoNames (CC BY 4.0)';
/** Of a Protomaps archive; a style names its sources itself. */
const STREETS_SOURCES = '© OpenStreetMap contributors, Protomaps';

/**
 * GET /viewer and the paths below it, for a service with this public address, ending in `/v1`, and GET /embed, the same page without
 * controls and keys for frames of other sites. Files are read on the first request. Browsers revalidate the page on each visit; all
 * other files are immutable, because their address contains the hash of all files.
 */
export function viewerPages(base_url: string, options: ViewerOptions): readonly PublicRoute[] {
  const base = new URL(base_url);
  const prefix = base.pathname.replace(/\/v1\/?$/, '');
  let opened: ReturnType<typeof openSite> | null = null;
  const handler: Middleware = async (ctx, next) => {
    opened ??= openSite(base, prefix, options).catch((error: unknown) => {
      opened = null;
      throw error;
    });
    const { path, search } = ctx.state;
    const serve = (await opened).get(path);
    if (serve === undefined) throw new ApiError('not_found', 'no such file of the viewer');
    // The map reads what it shows behind the hash.
    if (path === '/embed' && search !== '') ctx.redirect(`${prefix}/embed#${search}`);
    else await serve(ctx, next);
  };
  return ['/viewer{/*rest}', '/embed'].map((path) => ({ path, handler }));
}

/** The page, and every file and archive of the map by its path. */
async function openSite(
  base: URL,
  prefix: string,
  { access = 'key', streets = null, tiles_url = null, embed_origins = [], has_addresses = false }: ViewerOptions,
): Promise<ReadonlyMap<string, Middleware>> {
  const assets = await loadAssets();
  const ground = await openGround();
  const assetsPath = `/viewer/assets/${assets.version}`;
  const streets_url = typeof streets === 'string' ? streets : streets && `${prefix}${archivePath(streets)}`;
  const outside = [typeof streets === 'string' ? streets : '', tiles_url ?? ''].join(' ').match(/\S+/g) ?? [];
  const origins = new Set([base.origin, ...outside.map((one) => new URL(one).origin)]);
  const values = {
    api: `${prefix}/v1`,
    access,
    assets: `${prefix}${assetsPath}`,
    icon: `data:image/svg+xml;base64,${ICON.toString('base64')}`,
    ground: `${prefix}${archivePath(ground)}`,
    streets: streets_url ?? '',
    map_sources: streets === null || isStyle(streets) ? GROUND_SOURCES : `${STREETS_SOURCES}, ${GROUND_SOURCES}`,
  };
  const site = new Map<string, Middleware>();
  const addPage = (path: string, page: string, framers?: string) => {
    const policy = { 'Content-Security-Policy': contentPolicy(origins, framers) };
    const headers = { ...policy, 'Cache-Control': 'no-cache', 'Referrer-Policy': 'no-referrer' };
    site.set(path, serveDocument('text/html; charset=utf-8', page, headers));
  };
  const page = fill(assets.page, values).replace('<html ', has_addresses ? '<html data-addresses ' : '<html ');
  addPage('/viewer', page);
  addPage('/embed', page.replace('<html ', '<html data-embed '), embed_origins.join(' ') || undefined);
  const fileHeaders = { ...IMMUTABLE, 'Content-Security-Policy': contentPolicy(origins) };
  for (const [name, content] of assets.files)
    site.set(`${assetsPath}/${name}`, serveDocument(TYPES[extname(name)] as string, content, fileHeaders));
  for (const archive of [ground, streets])
    if (archive !== null && typeof archive !== 'string') site.set(archivePath(archive), serveArchive(archive));
  return site;
}

/**
 * Reads the page, with places to be filled, and every other file by its name. `version` is the hash of all of them: it is part
 * of every address, so that the content at an address never changes.
 */
async function loadAssets() {
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
  return { page, files, version: hash.digest('hex').slice(0, NAME_LETTERS) };
}

/** GET /favicon.ico: the icon, for pages that name none. */
export const favicon: PublicRoute = { path: '/favicon.ico', handler: serveDocument('image/svg+xml', ICON) };

/** Path of the base map below the address of the service. */
export const groundPath = async (): Promise<string> => archivePath(await openGround());

const archivePath = ({ name }: MapArchive) => `/viewer/basemap/${name}`;

/** The base map of the installation, named by its content: services behind one address name it alike. */
async function openGround(): Promise<MapArchive> {
  const content = await readFile(GROUND);
  const hash = createHash('sha256').update(content).digest('hex').slice(0, NAME_LETTERS);
  return { name: `ground-${hash}.pmtiles`, path: GROUND, bytes: content.length };
}

/** An archive of the base map, whole or by range. */
function serveArchive({ name, path, bytes }: MapArchive): Middleware {
  const etag = `"${name.replace('.pmtiles', '')}"`;
  const wrongSize = (size: number) => new Error(`${path} has ${size} bytes, expected ${bytes} as when it was opened`);
  return async (ctx) => {
    const content = { bytes, etag, media_type: PMTILES_TYPE, headers: IMMUTABLE };
    await serveFile(ctx, content, (range) => openPart(path, bytes, range, wrongSize));
  };
}

function fill(page: string, values: Readonly<Record<string, string>>): string {
  return page.replaceAll(/\{\{(\w+)\}\}/g, (_, name: string) => {
    const value = values[name];
    if (value === undefined)
      throw new Error(`page of the viewer asks for '${name}', expected one of ${Object.keys(values)}`);
    return value.replaceAll('&', '&amp;').replaceAll('"', '&quot;').replaceAll('<', '&lt;');
  });
}

/**
 * Content-Security-Policy: own scripts and styles only, archives at the public address and at the addresses of a street map
 * and of the store, nothing that these name. MapLibre draws images from `data:` and `blob:`.
 */
function contentPolicy(origins: ReadonlySet<string>, framers = "'none'"): string {
  return [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self' data: blob:",
    `connect-src ${["'self'", ...origins].join(' ')}`,
    "worker-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    `frame-ancestors ${framers}`,
  ].join('; ');
}
