import type { Logger } from 'pino';
import { withoutSecrets } from '../records/key-text.ts';
import type { Exchange } from './exchange.ts';
import type { Metrics } from './metrics.ts';

/** What is told about requests; no line holds a key, a query or a body. */
export interface Watcher {
  /** Every answer, once it has been sent. */
  readonly answered: (exchange: Exchange, status: number, took_ms: number) => void;
  /** A failure of ours, with its cause. */
  readonly failed: (request_id: string, error: unknown) => void;
  /** A reply that is not what its schema promises. */
  readonly departed: (route: string, faults: string) => void;
}

const LONGEST_CLIENT_ID = 200;

/**
 * Tells a log and, where there are some, metrics. Answers that name a request id in their body, which are those of errors,
 * are logged at `info`, the others at `debug`, failures of ours at `error`.
 */
export function watcherOf(log: Logger, metrics: Metrics | null): Watcher {
  const tellsAll = log.isLevelEnabled('debug');
  const tellsErrors = log.isLevelEnabled('info');
  return {
    answered: (exchange, status, took_ms) => {
      metrics?.answered(exchange.route, exchange.request.method ?? '', status, took_ms);
      if (status >= 400 && tellsErrors) log.info(fieldsOf(exchange, status, took_ms), 'Request:Answer:Refused');
      else if (tellsAll) log.debug(fieldsOf(exchange, status, took_ms), 'Request:Answer:Sent');
    },
    failed: (request_id, error) => {
      metrics?.failed();
      log.error({ request_id, err: error }, 'Request:Answer:Failed');
    },
    departed: (route, faults) => log.error({ route, faults }, 'Reply:Schema:Departed'),
  };
}

function fieldsOf({ request, request_id, path, address, caller }: Exchange, status: number, took_ms: number) {
  const client_id = request.headers['x-request-id'];
  return {
    request_id,
    ...(client_id === undefined
      ? {}
      : { client_request_id: withoutSecrets(String(client_id).slice(0, LONGEST_CLIENT_ID)) }),
    method: request.method,
    path: withoutSecrets(plain(path).slice(0, LONGEST_CLIENT_ID)),
    status,
    took_ms: Math.round(took_ms * 10) / 10,
    address,
    business_id: caller?.business_id ?? null,
    key_id: caller?.key_id ?? null,
  };
}

/** A path without percent-encoding, byte by byte: what is malformed stays, so that no encoding hides a key. */
function plain(path: string): string {
  return path.replace(/%([0-9a-f]{2})/gi, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16)));
}
