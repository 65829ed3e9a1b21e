import type { IncomingMessage } from 'node:http';
import { get, type Network, readBody, refusal } from '../sources/http.ts';
import { withRetries } from '../sources/retry.ts';

/** Time for a whole answer; the largest files of feeds have a few megabytes. */
const ALLOWED_MS = 30_000;
/** A feed is looked at again soon: waiting long for one answer only delays the next. */
const PATIENCE = { retries: 2, first_ms: 1000, longest_ms: 5000 } as const;
/** Addresses whose versions are remembered. */
const MAX_REMEMBERED = 500;

/** A page of a server. */
export interface Page {
  readonly bytes: Uint8Array;
  /** When it was changed last, as its server says, epoch milliseconds; null when it does not say. */
  readonly modified_ms: number | null;
  /** Remembers this version, so that it is not sent again. Called once what it says is safe. */
  readonly confirm: () => void;
}

export interface PageRequest {
  /** Largest body that is read. */
  readonly max_bytes: number;
  /** Media type asked for, where a server has several. */
  readonly accept?: string;
}

/** Pages of public servers, fetched again only when they changed. */
export interface Web {
  /**
   * A page; `unchanged` when it is that of the last confirmed fetch, `missing` when the server has none (404, 410).
   * Throws Unavailable after a few tries, and for a body over its limit.
   */
  readonly page: (url: string, request: PageRequest) => Promise<Page | 'unchanged' | 'missing'>;
}

/** Opens a view of public servers; what they answered is remembered while it lives. */
export function openWeb(user_agent: string, network: Network = {}): Web {
  const versions = new Map<string, Readonly<Record<string, string>>>();
  const remember = (url: string, version: Readonly<Record<string, string>>) => {
    versions.delete(url);
    versions.set(url, version);
    if (versions.size > MAX_REMEMBERED) versions.delete(versions.keys().next().value as string);
  };
  const patient = { patience: PATIENCE, ...network };
  return {
    page: (url, { max_bytes, accept }) =>
      withRetries(() => {
        const known = versions.get(url);
        const headers = { 'user-agent': user_agent, ...(accept === undefined ? {} : { accept }), ...known };
        return get(url, headers, ALLOWED_MS, network, async (answer) => {
          if (answer.status === 304 && known !== undefined) return 'unchanged' as const;
          if (answer.status === 404 || answer.status === 410) return 'missing' as const;
          if (answer.status !== 200) throw refusal(url, answer);
          const bytes = await readBody(url, answer, max_bytes);
          const version = versionOf(answer.headers);
          return { bytes, modified_ms: modifiedAt(answer.headers), confirm: () => remember(url, version) };
        });
      }, patient),
  };
}

/** Headers by which a server recognises the version that it sent. */
function versionOf({ etag, 'last-modified': modified }: IncomingMessage['headers']): Record<string, string> {
  return {
    ...(etag === undefined ? {} : { 'if-none-match': etag }),
    ...(modified === undefined ? {} : { 'if-modified-since': modified }),
  };
}

function modifiedAt({ 'last-modified': modified = '' }: IncomingMessage['headers']): number | null {
  const modified_ms = Date.parse(modified);
  return Number.isNaN(modified_ms) ? null : modified_ms;
}
