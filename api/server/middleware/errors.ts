import { withoutSecrets } from '../../accounts/key-text.ts';
import type { StoredAnswer } from '../../billing/idempotency.ts';
import { ApiError } from '../../http/errors.ts';
import { isGone, JSON_TYPE } from '../../http/reply.ts';
import { BusinessGone, CommitFailed, OutcomeUnknown, RecordsUnavailable } from '../../records/errors.ts';
import type { Middleware, State } from '../state.ts';
import { keyInvalid } from './authenticate.ts';
import type { Telemetry } from './telemetry.ts';

const METER_RETRY_S = 5;

/** The one place where a failure becomes an answer. Headers of the failed answer are removed. */
export function errors(telemetry: Telemetry): Middleware {
  return async (ctx, next) => {
    try {
      await next();
    } catch (thrown) {
      const error = asApiError(thrown);
      const { request_id } = ctx.state;
      telemetry.refused(error);
      if (error.status >= 500 && !isGone(ctx)) telemetry.failed(request_id, error.cause ?? error);
      const { status, type, body } = errorAnswer(error, ctx.state);
      for (const name of ctx.res.getHeaderNames()) ctx.remove(name);
      ctx.set({ 'Content-Type': type, 'Cache-Control': 'no-store', ...error.headers });
      ctx.status = status;
      ctx.body = body;
    }
  };
}

/** What went wrong in the words of the interface; anything that is not expected is `internal_error`, without its cause. */
export function asApiError(error: unknown): ApiError {
  if (error instanceof ApiError) return error;
  if (error instanceof RecordsUnavailable)
    return new ApiError(
      'metering_unavailable',
      'credits cannot be metered now, nothing was served',
      { 'Retry-After': String(METER_RETRY_S) },
      { cause: error },
    );
  if (error instanceof BusinessGone) return keyInvalid({ cause: error });
  if (error instanceof OutcomeUnknown)
    return new ApiError(
      'metering_unavailable',
      'credits cannot be metered now, nothing was served; whether this call was charged is not known, and its operator can refund it',
      { 'Retry-After': String(METER_RETRY_S) },
      { cause: error },
    );
  if (error instanceof CommitFailed)
    return new ApiError('upstream_write_failed', 'a write failed, nothing was charged', {}, { cause: error });
  return new ApiError('internal_error', 'something went wrong on our side', {}, { cause: error });
}

/** The answer to a failure. Messages quote the request, which may hold a key in the wrong place. */
export function errorAnswer(
  { code, status, message }: ApiError,
  { variant, request_id, now_ms }: Pick<State, 'variant' | 'request_id' | 'now_ms'>,
): StoredAnswer {
  const text = withoutSecrets(message);
  return { status, type: JSON_TYPE, body: variant.errorBody(code, text, { request_id, now_ms }) };
}
