import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import type { IncomingHttpHeaders } from 'node:http';
import type { Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { PMTILES_TYPE } from '../../../schemas/resources/tile-frame.ts';
import { ApiError } from '../../http/errors.ts';
import { acceptsGzip, namesTag } from '../../http/reply.ts';
import { openPart } from '../data-root.ts';
import type { MapArchive, Streets } from './basemap-streets.ts';
import { fileResponse } from './response.ts';
import { loadAssets, type PageName, type ViewerAsset } from './viewer-assets.ts';

interface ViewerRequest {
  readonly method: string;
  /** Path without the query, as it came. */
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
}

/** An answer; `body` is null for HEAD and 304, and a stream for an archive, which must be read or destroyed. */
export interface ViewerResponse<Body = Buffer | Readable | null> {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Body;
}

/** The map page and its files, from memory, and the archives of its base map. */
export interface Viewer {
  /** Answers GET and HEAD for `/viewer` and the paths below it; throws not_found and method_not_allowed. */
  respond(request: ViewerRequest): Promise<ViewerResponse>;
}

/** Who may open the map: callers with a key, or anyone. */
export type ViewerAccess = 'key' | 'public';

/** What the map page shows, to whom. */
export interface ViewerOptions {
  readonly access?: ViewerAccess;
  /** Street map of the operator. */
  readonly streets?: Streets | null;
  /** Public address of the store that tile archives are loaded from. */
  readonly tiles_url?: string | null;
}

/** The map, and the account of a key. */
const PAGE_PATHS: ReadonlyMap<string, PageName> = new Map([
  ['/viewer', 'index.html'],
  ['/viewer/', 'index.html'],
  ['/viewer/account', 'account.html'],
]);
const ASSET_PATH = /^\/viewer\/assets\/([0-9a-f]+)\/([a-z0-9./-]+)$/;
const ARCHIVE_PATH = /^\/viewer\/basemap\/((?:ground|streets)-[0-9a-f]+\.pmtiles)$/;
const GROUND = fileURLToPath(new URL('../../../data/reference/ground.pmtiles', import.meta.url));
const NAME_LETTERS = 16;
const IMMUTABLE = 'public, max-age=31536000, immutable';
/** The only inline script of the page: it maps library names to addresses. */
const IMPORT_MAP = /<script type="importmap">([\s\S]*?)<\/script>/;
const GZIP_LEVEL = 9;

const GROUND_SOURCES = 'US Census, Natural Earth, GeoNames (CC BY 4.0)';
const STREETS_SOURCES = '© OpenStreetMap contributors, Protomaps';

const compress = promisify(gzip);

/** A body in both content codings. */
interface Codings {
  readonly type: string;
  readonly plain: Buffer;
  readonly gzipped: Buffer;
  readonly tag: string;
}

interface Page {
  readonly content: Codings;
  readonly policy: string;
}

interface Site {
  readonly version: string;
  readonly pages: ReadonlyMap<PageName, Page>;
  /** Content-Security-Policy of files. */
  readonly policy: string;
  /** Compressed on first use. */
  file(name: string): Promise<Codings> | null;
  /** The archive of this name; null for none. */
  archive(name: string): MapArchive | null;
}

/**
 * The viewer of a service with this public address, ending in `/v1`. Files are read on the first request. Browsers revalidate
 * the page on each visit; all other files are immutable, because their address contains the hash of all files.
 */
export function openViewer(base_url: string, options: ViewerOptions): Viewer {
  let opened: Promise<Site> | null = null;
  const site = () => {
    opened ??= openSite(new URL(base_url), options).catch((error: unknown) => {
      opened = null;
      throw error;
    });
    return opened;
  };
  return {
    async respond({ method, path, headers }) {
      if (method !== 'GET' && method !== 'HEAD')
        throw new ApiError('method_not_allowed', `${method} is not served here, expected GET or HEAD`, {
          Allow: 'GET, HEAD, OPTIONS',
        });
      const { version, pages, policy, file, archive } = await site();
      const page = pages.get(PAGE_PATHS.get(path) as PageName);
      if (page !== undefined)
        return answer(page.content, method, headers, {
          'Cache-Control': 'no-cache',
          'Content-Security-Policy': page.policy,
          'Referrer-Policy': 'no-referrer',
        });
      const [, archiveName] = ARCHIVE_PATH.exec(path) ?? [];
      const mapArchive = archiveName === undefined ? null : archive(archiveName);
      if (mapArchive !== null) return archiveAnswer(mapArchive, { method, headers });
      const [, asked, name] = ASSET_PATH.exec(path) ?? [];
      const found = asked === version && name !== undefined ? file(name) : null;
      if (!found) throw new ApiError('not_found', 'no such file of the viewer');
      return answer(await found, method, headers, { 'Cache-Control': IMMUTABLE, 'Content-Security-Policy': policy });
    },
  };
}

async function openSite(base: URL, { access = 'key', streets = null, tiles_url = null }: ViewerOptions): Promise<Site> {
  const assets = await loadAssets();
  const ground = await openGround();
  const streets_url = streets !== null && 'address' in streets ? streets.address : null;
  const addresses = [streets_url, tiles_url].filter((one) => one !== null);
  const origins = new Set([base.origin, ...addresses.map((one) => new URL(one).origin)]);
  const prefix = base.pathname.replace(/\/v1\/?$/, '');
  const values = {
    api: `${prefix}/v1`,
    access,
    assets: `${prefix}/viewer/assets/${assets.version}`,
    map: `${prefix}/viewer`,
    ground: archiveAddress(prefix, ground),
    streets: streets === null ? '' : 'address' in streets ? streets.address : archiveAddress(prefix, streets.file),
    map_sources: streets === null ? GROUND_SOURCES : `${STREETS_SOURCES}, ${GROUND_SOURCES}`,
  };
  const pages = new Map<PageName, Page>();
  for (const [name, page] of assets.pages) {
    const text = fill(page, values);
    const content = await codings({ type: 'text/html; charset=utf-8', content: Buffer.from(text) });
    pages.set(name, { content, policy: contentPolicy(origins, text) });
  }
  const ready = new Map<string, Promise<Codings>>();
  return {
    version: assets.version,
    pages,
    policy: contentPolicy(origins, ''),
    file(name) {
      const known = ready.get(name);
      if (known !== undefined) return known;
      const asset = assets.files.get(name);
      if (asset === undefined) return null;
      const made = codings(asset);
      ready.set(name, made);
      made.catch(() => ready.delete(name));
      return made;
    },
    archive(name) {
      if (name === ground.name) return ground;
      return streets !== null && 'file' in streets && name === streets.file.name ? streets.file : null;
    },
  };
}

/** The base map of the installation, named by its content: services behind one address name it alike. */
async function openGround(): Promise<MapArchive> {
  const content = await readFile(GROUND);
  const hash = createHash('sha256').update(content).digest('hex').slice(0, NAME_LETTERS);
  return { name: `ground-${hash}.pmtiles`, path: GROUND, bytes: content.length };
}

function archiveAddress(prefix: string, { name }: MapArchive): string {
  return `${prefix}/viewer/basemap/${name}`;
}

/** An archive of the base map, whole or by range. */
async function archiveAnswer(
  { name, path, bytes }: MapArchive,
  request: { readonly method: string; readonly headers: IncomingHttpHeaders },
): Promise<ViewerResponse> {
  const headers = { 'Cache-Control': IMMUTABLE, 'X-Content-Type-Options': 'nosniff' };
  const content = { bytes, etag: `"${name.replace('.pmtiles', '')}"`, media_type: PMTILES_TYPE, headers };
  const { stream, ...answer } = await fileResponse(request, content, (range) =>
    openPart(path, bytes, range, (size) => new Error(`${path} has ${size} bytes, it had ${bytes} when it was opened`)),
  );
  return { ...answer, body: stream };
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
 * Content-Security-Policy: own scripts and styles only, the import map by its hash, archives at the public address
 * and at the addresses of a street map and of the store. MapLibre draws images from `data:` and `blob:`.
 */
function contentPolicy(origins: ReadonlySet<string>, page: string): string {
  const importMap = IMPORT_MAP.exec(page)?.[1] ?? '';
  const hash = createHash('sha256').update(importMap).digest('base64');
  return [
    "default-src 'none'",
    `script-src 'self' 'sha256-${hash}'`,
    "style-src 'self'",
    "img-src 'self' data: blob:",
    `connect-src ${["'self'", ...origins].join(' ')}`,
    "worker-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; ');
}

async function codings({ type, content }: ViewerAsset): Promise<Codings> {
  const tag = createHash('sha256').update(content).digest('base64url').slice(0, 22);
  return { type, plain: content, gzipped: await compress(content, { level: GZIP_LEVEL }), tag };
}

function answer(
  { type, plain, gzipped, tag }: Codings,
  method: string,
  headers: IncomingHttpHeaders,
  own: Readonly<Record<string, string>>,
): ViewerResponse<Buffer | null> {
  const zipped = acceptsGzip(headers['accept-encoding']?.toString());
  const etag = zipped ? `"${tag}-gzip"` : `"${tag}"`;
  const common = { ETag: etag, Vary: 'Accept-Encoding', 'X-Content-Type-Options': 'nosniff', ...own };
  if (namesTag(headers['if-none-match'], etag, 'weakly')) return { status: 304, headers: common, body: null };
  const body = zipped ? gzipped : plain;
  return {
    status: 200,
    headers: {
      ...common,
      'Content-Type': type,
      'Content-Length': String(body.length),
      ...(zipped ? { 'Content-Encoding': 'gzip' } : {}),
    },
    body: method === 'HEAD' ? null : body,
  };
}
