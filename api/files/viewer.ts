import { createHash } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { ApiError } from '../errors.ts';
import { namesTag } from '../http/entity-tag.ts';
import { loadAssets, type PageName, type ViewerAsset } from './viewer-assets.ts';

interface ViewerRequest {
  readonly method: string;
  /** Path without the query, as it came. */
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
}

/** A whole answer; `body` is null for HEAD and 304, and compressed where the request accepts it. */
export interface ViewerResponse {
  readonly status: 200 | 304;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer | null;
}

/** The map page and its files, from memory. */
export interface Viewer {
  /** Answers GET and HEAD for `/viewer` and the paths below it; throws not_found and method_not_allowed. */
  respond(request: ViewerRequest): Promise<ViewerResponse>;
}

/** Who may open the map: callers with a key, or anyone. */
export type ViewerAccess = 'key' | 'public';

/** The map, and the account of a key. */
const PAGE_PATHS: ReadonlyMap<string, PageName> = new Map([
  ['/viewer', 'index.html'],
  ['/viewer/', 'index.html'],
  ['/viewer/account', 'account.html'],
]);
const ASSET_PATH = /^\/viewer\/assets\/([0-9a-f]+)\/([a-z0-9.-]+)$/;
const IMMUTABLE = 'public, max-age=31536000, immutable';
/** The only inline script of the page: it maps library names to addresses. */
const IMPORT_MAP = /<script type="importmap">([\s\S]*?)<\/script>/;
const GZIP_LEVEL = 9;

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
  /** Made and compressed on first use. */
  file(name: string): Promise<Codings> | null;
}

/**
 * The viewer of a service with this public address, ending in `/v1`. Files are read on the first request. Browsers revalidate
 * the page on each visit; all other files are immutable, because their address contains the hash of all files.
 */
export function openViewer(base_url: string, access: ViewerAccess = 'key'): Viewer {
  let opened: Promise<Site> | null = null;
  const site = () => {
    opened ??= openSite(new URL(base_url), access).catch((error: unknown) => {
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
      const { version, pages, policy, file } = await site();
      const page = pages.get(PAGE_PATHS.get(path) as PageName);
      if (page !== undefined)
        return answer(page.content, method, headers, {
          'Cache-Control': 'no-cache',
          'Content-Security-Policy': page.policy,
          'Referrer-Policy': 'no-referrer',
        });
      const [, asked, name] = ASSET_PATH.exec(path) ?? [];
      const found = asked === version && name !== undefined ? file(name) : null;
      if (!found) throw new ApiError('not_found', 'no such file of the viewer');
      return answer(await found, method, headers, { 'Cache-Control': IMMUTABLE, 'Content-Security-Policy': policy });
    },
  };
}

async function openSite(base: URL, access: ViewerAccess): Promise<Site> {
  const assets = await loadAssets();
  const prefix = base.pathname.replace(/\/v1\/?$/, '');
  const values = {
    api: `${prefix}/v1`,
    access,
    assets: `${prefix}/viewer/assets/${assets.version}`,
    map: `${prefix}/viewer`,
  };
  const pages = new Map<PageName, Page>();
  for (const [name, page] of assets.pages) {
    const text = fill(page, values);
    const content = await codings({ type: 'text/html; charset=utf-8', content: Buffer.from(text) });
    pages.set(name, { content, policy: contentPolicy(base, text) });
  }
  const ready = new Map<string, Promise<Codings>>();
  return {
    version: assets.version,
    pages,
    policy: contentPolicy(base, ''),
    file(name) {
      const known = ready.get(name);
      if (known !== undefined) return known;
      const asset = assets.files.get(name) ?? assets.late.get(name)?.();
      if (!asset) return null;
      const made = Promise.resolve(asset).then(codings);
      ready.set(name, made);
      made.catch(() => ready.delete(name));
      return made;
    },
  };
}

function fill(page: string, values: Readonly<Record<string, string>>): string {
  return page.replaceAll(/\{\{(\w+)\}\}/g, (_, name: string) => {
    const value = values[name];
    if (value === undefined)
      throw new Error(`page of the viewer asks for '${name}', expected one of ${Object.keys(values)}`);
    return value;
  });
}

/**
 * Content-Security-Policy: own scripts and styles only, the import map by its hash, archives at the public address.
 * MapLibre draws images from `data:` and `blob:`.
 */
function contentPolicy(base: URL, page: string): string {
  const importMap = IMPORT_MAP.exec(page)?.[1] ?? '';
  const hash = createHash('sha256').update(importMap).digest('base64');
  return [
    "default-src 'none'",
    `script-src 'self' 'sha256-${hash}'`,
    "style-src 'self'",
    "img-src 'self' data: blob:",
    `connect-src 'self' ${base.origin}`,
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
): ViewerResponse {
  const zipped = acceptsGzip(headers['accept-encoding']);
  const etag = zipped ? `"${tag}-gzip"` : `"${tag}"`;
  const common = { ETag: etag, Vary: 'Accept-Encoding', 'X-Content-Type-Options': 'nosniff', ...own };
  if (namesTag(headers['if-none-match'] ?? '', etag, 'weakly')) return { status: 304, headers: common, body: null };
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

function acceptsGzip(header: string | string[] | undefined): boolean {
  return String(header ?? '')
    .split(',')
    .some((coding) => /^\s*gzip\s*(;\s*q=(?!0(\.0*)?\s*$).*)?$/i.test(coding));
}
