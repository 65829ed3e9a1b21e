import { Readable } from 'node:stream';
import type { Logger } from 'pino';
import { withoutSecrets } from '../accounts/keyring.ts';
import type { StoredAnswer } from '../billing/idempotency.ts';
import { ApiError } from '../http/errors.ts';
import type { Metrics } from '../http/metrics.ts';
import { type Headers, isGone, JSON_TYPE, setHeaders } from '../http/reply.ts';
import { BusinessGone, CommitFailed, OutcomeUnknown, RecordsUnavailable } from '../records/errors.ts';
import { keyInvalid } from './admit.ts';
import { awaitsContinue } from './body.ts';
import type { Context, Middleware, State } from './state.ts';

export type Telemetry = ReturnType<typeof telemetryOf>;

const LONGEST_LOGGED = 200;
const METER_RETRY = { 'Retry-After': '5' };
const EXPOSED =
  'ETag, Retry-After, X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset, RateLimit, RateLimit-Policy, Idempotent-Replay, X-Request-Id, X-Data-Source, X-Required-Scope, X-Credits-Charged, Allow, Accept-Ranges, Content-Disposition, Content-Length, Content-Range';

/**
 * Makes every answer whole: a failure becomes one here, and each gets request id, charge, rate and common headers, of which a route may
 * set its own instead. Answers without a valid key show the rate window of the address. The connection ends with the refusal of a
 * client that waits with its body: the next bytes may be that body, or a request.
 */
export function answerWhole(
  telemetry: Telemetry,
  base_url: string,
  addressRate: (address: string) => Promise<Headers>,
): Middleware {
  const common = commonHeaders(base_url);
  return async (ctx, next) => {
    const started_ms = performance.now();
    const { req, res, state } = ctx;
    setHeaders(res, common);
    try {
      await next();
    } catch (thrown) {
      const error = asApiError(thrown);
      telemetry.refused(error);
      if (error.status >= 500 && !isGone(ctx)) telemetry.failed(state.request_id, error.cause ?? error);
      const { status, type, body } = errorAnswer(error, state);
      for (const name of res.getHeaderNames()) res.removeHeader(name);
      setHeaders(res, { ...common, 'Content-Type': type, 'Cache-Control': 'no-store', ...error.headers });
      ctx.status = status;
      ctx.body = body;
    }
    res.setHeader('X-Request-Id', state.request_id);
    res.setHeader('X-Credits-Charged', String(state.credits_charged ?? 0));
    setHeaders(res, state.rate_headers ?? (await addressRate(state.address)));
    if (!req.complete && awaitsContinue(req)) res.setHeader('Connection', 'close');
    telemetry.answered(ctx, performance.now() - started_ms);
  };
}

/** Headers of every answer: any page may call the interface, and no answer may be run or framed. */
function commonHeaders(base_url: string): Headers {
  return {
    'Access-Control-Allow-Origin': '*',
    'Access-Control-Expose-Headers': EXPOSED,
    'X-Content-Type-Options': 'nosniff',
    'Content-Security-Policy': "default-src 'none'; frame-ancestors 'none'",
    'Referrer-Policy': 'no-referrer',
    Vary: 'Accept-Encoding, Authorization',
    ...(base_url.startsWith('https:') ? { 'Strict-Transport-Security': 'max-age=31536000' } : {}),
  };
}

/** What went wrong in the words of the interface; anything that is not expected is `internal_error`, without its cause. */
export function asApiError(error: unknown): ApiError {
  if (error instanceof ApiError) return error;
  const cause = { cause: error };
  const unmetered = 'credits cannot be metered now, nothing was served';
  if (error instanceof RecordsUnavailable) return new ApiError('metering_unavailable', unmetered, METER_RETRY, cause);
  if (error instanceof OutcomeUnknown) {
    const unknown = 'whether this call was charged is not known, and its operator can refund it';
    return new ApiError('metering_unavailable', `${unmetered}; ${unknown}`, METER_RETRY, cause);
  }
  if (error instanceof BusinessGone) return keyInvalid(cause);
  if (error instanceof CommitFailed)
    return new ApiError('upstream_write_failed', 'a write failed, nothing was charged', {}, cause);
  return new ApiError('internal_error', 'something went wrong on our side', {}, cause);
}

/** The answer to a failure. Messages quote the request, which may hold a key in the wrong place. */
export function errorAnswer({ code, status, message }: ApiError, { variant, request_id, now_ms }: State): StoredAnswer {
  const text = withoutSecrets(message);
  return { status, type: JSON_TYPE, body: variant.errorBody(code, text, { request_id, now_ms }) };
}

/**
 * Writes log lines and, where there are metrics, counts; no line holds a key, a query or a body. Answers that name a request id in
 * their body, which are those of errors, are logged at `info`, the others at `debug`, failures of ours at `error`.
 */
export function telemetryOf(log: Logger, metrics: Metrics | null) {
  const logsAll = log.isLevelEnabled('debug');
  const logsErrors = log.isLevelEnabled('info');
  return {
    /** Every answer, with the time from the head of its request to its first byte. */
    answered: (ctx: Context, took_ms: number): void => {
      metrics?.answered(ctx.routerName ?? null, ctx.method, ctx.status, took_ms);
      if (ctx.status >= 400 && logsErrors) log.info(fieldsOf(ctx, took_ms), 'Request:Answer:Refused');
      else if (logsAll) log.debug(fieldsOf(ctx, took_ms), 'Request:Answer:Sent');
    },
    /** A failure of ours, with its cause. */
    failed: (request_id: string, error: unknown): void => {
      metrics?.failed();
      log.error({ request_id, err: error }, 'Request:Answer:Failed');
    },
    /** An answer that is no success. */
    refused: ({ code, reason }: ApiError): void => metrics?.refused(code, reason),
  };
}

function fieldsOf({ req, method, status, state }: Context, took_ms: number) {
  const { request_id, path, address, caller } = state;
  const client_id = req.headers['x-request-id'];
  const loggable = (text: string) => withoutSecrets(text.slice(0, LONGEST_LOGGED));
  // Byte by byte: malformed bytes stay, so that no encoding hides a key.
  const plain = path.replace(/%([0-9a-f]{2})/gi, (_, code) => String.fromCharCode(Number.parseInt(code, 16)));
  return {
    request_id,
    ...(client_id === undefined ? {} : { client_request_id: loggable(String(client_id)) }),
    method,
    path: loggable(plain),
    status,
    took_ms: Math.round(took_ms * 10) / 10,
    address,
    business_id: caller?.business_id ?? null,
    key_id: caller?.key_id ?? null,
  };
}

/**
 * Handles the errors that Koa emits after the head of an answer was sent. A file that could not be read to its end is a
 * failure of the service and is logged; a connection that broke is not.
 */
export function reportInterruptedAnswers(telemetry: Telemetry): (error: unknown, ctx: Context) => void {
  const reported = new WeakSet<Readable>(); // Koa emits it twice: for the file, and for the answer that ended with it
  return (error, ctx) => {
    const { body } = ctx;
    const is_closed = error instanceof Error && 'code' in error && error.code === 'ERR_STREAM_PREMATURE_CLOSE';
    if (!(body instanceof Readable) || body.errored !== error || is_closed || reported.has(body)) return;
    reported.add(body);
    telemetry.failed(ctx.state.request_id, error);
  };
}
