import { Readable } from 'node:stream';
import type { Logger } from 'pino';
import { withoutSecrets } from '../../accounts/key-text.ts';
import type { ApiError } from '../../http/errors.ts';
import type { Metrics } from '../../http/metrics.ts';
import type { Context, Middleware } from '../state.ts';

/** Receives what is logged and counted of requests; no line holds a key, a query or a body. */
export interface Telemetry {
  /** Every answer, once it is made. */
  readonly answered: (ctx: Context, took_ms: number) => void;
  /** A failure of ours, with its cause. */
  readonly failed: (request_id: string, error: unknown) => void;
  /** An answer that is no success. */
  readonly refused: (error: ApiError) => void;
  /** A reply that is not what its schema promises. */
  readonly schemaMismatch: (route: string, faults: string) => void;
}

const LONGEST_CLIENT_ID = 200;

/** Logs and counts every answer, with the time from the head of the request to its first byte. */
export function logAndMeasure(telemetry: Telemetry, monotonic_ms: () => number): Middleware {
  return async (ctx, next) => {
    const started_ms = monotonic_ms();
    await next();
    telemetry.answered(ctx, monotonic_ms() - started_ms);
  };
}

/**
 * Telemetry into a log and, where there are some, metrics. Answers that name a request id in their body, which are those of
 * errors, are logged at `info`, the others at `debug`, failures of ours at `error`.
 */
export function telemetryOf(log: Logger, metrics: Metrics | null): Telemetry {
  const logsAll = log.isLevelEnabled('debug');
  const logsErrors = log.isLevelEnabled('info');
  return {
    answered: (ctx, took_ms) => {
      metrics?.answered(ctx.routerName ?? null, ctx.method, ctx.status, took_ms);
      if (ctx.status >= 400 && logsErrors) log.info(fieldsOf(ctx, took_ms), 'Request:Answer:Refused');
      else if (logsAll) log.debug(fieldsOf(ctx, took_ms), 'Request:Answer:Sent');
    },
    failed: (request_id, error) => {
      metrics?.failed();
      log.error({ request_id, err: error }, 'Request:Answer:Failed');
    },
    refused: ({ code, reason }) => metrics?.refused(code, reason),
    schemaMismatch: (route, faults) => log.error({ route, faults }, 'Reply:Schema:Mismatch'),
  };
}

function fieldsOf({ req, method, status, state }: Context, took_ms: number) {
  const { request_id, path, address, caller } = state;
  const client_id = req.headers['x-request-id'];
  return {
    request_id,
    ...(client_id === undefined
      ? {}
      : { client_request_id: withoutSecrets(String(client_id).slice(0, LONGEST_CLIENT_ID)) }),
    method,
    path: withoutSecrets(plain(path).slice(0, LONGEST_CLIENT_ID)),
    status,
    took_ms: Math.round(took_ms * 10) / 10,
    address,
    business_id: caller?.business_id ?? null,
    key_id: caller?.key_id ?? null,
  };
}

/** A path without percent-encoding, byte by byte: malformed bytes stay, so that no encoding hides a key. */
function plain(path: string): string {
  return path.replace(/%([0-9a-f]{2})/gi, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16)));
}

/**
 * Handles the errors that Koa emits after the head of an answer was sent. A file that could not be read to its end is a
 * failure of the service and is logged; a connection that broke is not.
 */
export function reportInterruptedAnswers(telemetry: Telemetry): (error: unknown, ctx: Context) => void {
  const reported = new WeakSet<Readable>(); // Koa emits it twice: for the file, and for the answer that ended with it
  return (error, ctx) => {
    const { body } = ctx;
    if (!(body instanceof Readable) || body.errored !== error || isPrematureClose(error) || reported.has(body)) return;
    reported.add(body);
    telemetry.failed(ctx.state.request_id, error);
  };
}

function isPrematureClose(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ERR_STREAM_PREMATURE_CLOSE';
}
