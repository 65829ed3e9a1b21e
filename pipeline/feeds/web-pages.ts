import type { IncomingMessage } from 'node:http';
import { z } from 'zod';
import { get, type HttpOptions, readBody, refusal } from '../sources/http.ts';
import { inParallel } from '../sources/parallel.ts';
import { Unavailable, withRetries } from '../sources/retry.ts';

/** Time for a whole answer; the largest files of feeds have a few megabytes. */
const ALLOWED_MS = 30_000;
/** The next poll of a feed comes soon: a long wait for one answer would only delay it. */
const PATIENCE = { retries: 2, first_ms: 1000, longest_ms: 5000 } as const;
/** Addresses whose confirmed versions are kept in memory. */
const MAX_VERSIONS = 500;
const MAX_PAGE_BYTES = 32 * 1024 * 1024;
/** Pages of one server that are fetched at once. */
const AT_ONCE = 4;

/** A page of a server. */
export interface Page {
  readonly bytes: Uint8Array;
  /** Time of its last change as its server says, epoch milliseconds; null when it does not say. */
  readonly modified_ms: number | null;
  /** Records this version, so that the server does not send it again. Called once the content is published. */
  readonly confirm: () => void;
}

/** Pages of public servers, fetched again only when they changed. */
export interface Web {
  /**
   * A page; `unchanged` when the server still has the version confirmed last, `missing` when it has none (404, 410).
   * `media_type` is for servers that offer several. Throws Unavailable after a few tries, and for a body over `max_bytes`.
   */
  readonly page: (url: string, max_bytes: number, media_type?: string) => Promise<Page | 'unchanged' | 'missing'>;
}

/** A file of a feed as a server delivered it. */
export interface FetchedFile {
  /** Name that shows its format. */
  readonly name: string;
  readonly bytes: Uint8Array;
  /** True when the content of the address never changes: a file that cannot be used is not fetched again. */
  readonly is_final: boolean;
  /** Called once the file is published. */
  readonly confirm: () => void;
}

/** Files fetched by one poll of a feed. */
export interface FetchedFiles {
  readonly files: readonly FetchedFile[];
  /** Why files that the feed lists were not delivered: the next poll asks for them again. */
  readonly failures: readonly string[];
}

export interface WantedPage {
  /** Name that shows the format; a function of the time of its last change for a page of another day under the same address. */
  readonly name: string | ((modified_ms: number | null) => string);
  readonly url: string;
  /** True when the feed cannot be read without this page. */
  readonly is_required: boolean;
  readonly media_type?: string;
}

/** Opens a client of public servers, which keeps the confirmed version of each page in memory. */
export function openWeb(user_agent: string, network: HttpOptions = {}): Web {
  const versions = new Map<string, Readonly<Record<string, string>>>();
  const confirm = (url: string, version: Readonly<Record<string, string>>) => {
    versions.delete(url);
    versions.set(url, version);
    if (versions.size > MAX_VERSIONS) versions.delete(versions.keys().next().value as string);
  };
  const patient = { patience: PATIENCE, ...network };
  return {
    page: (url, max_bytes, media_type) =>
      withRetries(() => {
        const known = versions.get(url);
        const accept = media_type === undefined ? {} : { accept: media_type };
        const headers = { 'user-agent': user_agent, ...accept, ...known };
        return get(url, headers, ALLOWED_MS, network, async (answer) => {
          if (answer.status === 304 && known !== undefined) return 'unchanged' as const;
          if (answer.status === 404 || answer.status === 410) return 'missing' as const;
          if (answer.status !== 200) throw refusal(url, answer);
          const bytes = await readBody(url, answer, max_bytes);
          const version = conditionalHeaders(answer.headers);
          return { bytes, modified_ms: lastModified(answer.headers), confirm: () => confirm(url, version) };
        });
      }, patient),
  };
}

/** The pages that changed. Throws Unavailable when one of them, or a required one that is missing, cannot be fetched. */
export async function fetchPages(web: Web, wanted: readonly WantedPage[]): Promise<FetchedFiles> {
  const pages = await inParallel(wanted, AT_ONCE, async ({ name, url, is_required, media_type }) => {
    const page = await web.page(url, MAX_PAGE_BYTES, media_type);
    if (page === 'missing' && is_required) throw new Unavailable(url, 'server answers 404, expected 200');
    if (page === 'missing' || page === 'unchanged') return null;
    const { bytes, modified_ms, confirm } = page;
    return { name: typeof name === 'string' ? name : name(modified_ms), bytes, is_final: false, confirm };
  });
  return { files: pages.filter((page) => page !== null), failures: [] };
}

/** A page of JSON; throws Unavailable for one of another shape. */
export function parseJsonPage<Shape extends z.ZodType>(url: string, { bytes }: Page, shape: Shape): z.infer<Shape> {
  try {
    return shape.parse(JSON.parse(Buffer.from(bytes).toString('utf8')));
  } catch (cause) {
    throw cause instanceof z.ZodError ? unexpectedShape(url, cause) : new Unavailable(url, 'is not JSON', { cause });
  }
}

/** The error of a page whose JSON has another shape, with the first fault. */
export function unexpectedShape(url: string, cause: z.ZodError): Unavailable {
  const [issue] = cause.issues;
  return new Unavailable(url, `${issue?.path.join('.')}: ${issue?.message.toLowerCase()}`, { cause });
}

/** Request headers that make a server send a page only when its version is another. */
function conditionalHeaders({ etag, 'last-modified': modified }: IncomingMessage['headers']): Record<string, string> {
  return {
    ...(etag === undefined ? {} : { 'if-none-match': etag }),
    ...(modified === undefined ? {} : { 'if-modified-since': modified }),
  };
}

function lastModified({ 'last-modified': modified = '' }: IncomingMessage['headers']): number | null {
  const modified_ms = Date.parse(modified);
  return Number.isNaN(modified_ms) ? null : modified_ms;
}
