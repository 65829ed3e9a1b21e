import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Caller } from '../records/records.ts';

/** One request and what has been learnt about it on its way. */
export interface Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  /** `req_…`, in the header and in the body of errors. */
  readonly request_id: string;
  /** GET for a HEAD request: the same answer is made, its body is not sent. */
  readonly method: string;
  /** Path as it came, undecoded, without the query; the trailing slash is gone. */
  readonly path: string;
  /** Query string as it came, without '?'. */
  readonly search: string;
  /** Who is at the other end: IPv4, or the /64 of IPv6. */
  readonly address: string;
  /** Data clock when the request was accepted, epoch milliseconds. */
  readonly now_ms: number;
  /** Names and values by turns; every answer to this request carries them. */
  rate_headers: readonly string[];
  caller: Caller | null;
  /** Claim of an idempotency key that still has to be settled. */
  claim: string | null;
  /** Name of the idempotency key that this process works on for this request. */
  key_in_flight: string | null;
  /** The call was charged, and so counted. */
  charged: boolean;
  /** Path of the endpoint that answers, for the metrics. */
  route: string | null;
}

/** The path and query of a request target; the absolute form loses its scheme and host. */
export function splitTarget(target: string): { path: string; search: string } {
  const local = target.startsWith('/') ? target : target.replace(/^https?:\/\/[^/?#]*/i, '') || '/';
  const mark = local.indexOf('?');
  const path = mark === -1 ? local : local.slice(0, mark);
  return {
    path: path.length > 1 && path.endsWith('/') && !path.endsWith('//') ? path.slice(0, -1) : path,
    search: mark === -1 ? '' : local.slice(mark + 1),
  };
}
