import { z } from 'zod';

/**
 * Every error code of the interface: its HTTP status and its meaning. The code is stable, the message may change.
 * Codes from `method_not_allowed` on extend the interface's own table.
 */
export const ERRORS = {
  bad_request: { status: 400, meaning: 'request body validation failed, or the request is not valid HTTP/1.1' },
  invalid_parameter: { status: 400, meaning: 'query or path parameter failed validation' },
  invalid_idempotency_key: {
    status: 400,
    meaning: 'Idempotency-Key empty, over 255 characters, or used with a different request',
  },
  unauthorized: { status: 401, meaning: 'missing or invalid key' },
  forbidden: { status: 403, meaning: 'authenticated but not permitted for a reason other than scope' },
  insufficient_scope: { status: 403, meaning: 'key lacks the required scope' },
  feature_not_available: { status: 403, meaning: 'the plan has no access to the endpoint' },
  not_found: { status: 404, meaning: 'does not exist, or belongs to another business' },
  version_conflict: { status: 409, meaning: 'stale version' },
  webhook_not_active: { status: 409, meaning: 'the webhook is paused or disabled' },
  idempotency_key_in_progress: { status: 409, meaning: 'the same Idempotency-Key is still being processed' },
  rate_limited: {
    status: 429,
    meaning: 'requests per minute exceeded, or those of a UTC day where the plan bounds them',
  },
  resource_exhausted: { status: 429, meaning: 'a limit on the number of resources is reached' },
  spend_cap_exceeded: { status: 429, meaning: 'the call would exceed the monthly spend cap' },
  too_many_failed_attempts: { status: 429, meaning: 'locked out after failed authentication' },
  internal_error: { status: 500, meaning: 'unhandled server error' },
  upstream_write_failed: {
    status: 502,
    meaning: 'a write to a data store failed; nothing was charged',
  },
  metering_unavailable: { status: 503, meaning: 'credits cannot be metered now; nothing was served' },
  method_not_allowed: { status: 405, meaning: 'the path exists, the method does not' },
  not_acceptable: { status: 406, meaning: 'no type that the Accept header admits' },
  request_timeout: { status: 408, meaning: 'the request took too long to arrive' },
  precondition_failed: { status: 412, meaning: 'If-Match names another content than there is' },
  payload_too_large: { status: 413, meaning: 'body larger than the route takes' },
  uri_too_long: { status: 414, meaning: 'request line too long' },
  unsupported_media_type: { status: 415, meaning: 'body of a type or encoding the route does not take' },
  range_not_satisfiable: { status: 416, meaning: 'the range lies behind the end of the file' },
  headers_too_large: { status: 431, meaning: 'request headers too large' },
  overloaded: { status: 503, meaning: 'more is asked at once than is served; nothing was charged' },
} as const;

export type ErrorCode = keyof typeof ERRORS;

/** What a client does about each error: whether to change the request, wait and repeat, or write to somebody. */
export const ERROR_ADVICE: Readonly<Record<ErrorCode, string>> = {
  bad_request:
    'Change the request. The message begins with the JSON pointer of the field at fault, such as `/locations/7/lat`, and says what was expected.',
  invalid_parameter:
    'Change the request. The message begins with the name of the parameter and says what was expected.',
  invalid_idempotency_key:
    'Send 1 to 255 characters, and a new key for each new request. A repetition has the same key, path and body.',
  unauthorized:
    'Send `Authorization: Bearer` and a key that has not been revoked. Do not repeat the call with the same key.',
  forbidden:
    'Read the message. The usual cause is a test key on a data endpoint: use a live key. An expired download address also ends here: poll the job for a new one.',
  insufficient_scope:
    'Use a key with the scope that the header `X-Required-Scope` names, or ask the operator of the service for one.',
  feature_not_available: 'Ask the operator of the service for a plan that includes the feature.',
  not_found:
    'Check the path and the id. The answer is the same for an id that never existed and for one of another business.',
  version_conflict: 'Read the resource again, apply the change to its present version, and send that version.',
  webhook_not_active: 'Set the webhook to `active` first, then repeat the call.',
  idempotency_key_in_progress:
    'Wait a second and repeat the same request with the same key: the answer of the first will come.',
  rate_limited: 'Wait as many seconds as `Retry-After` says, then repeat. Spread calls by `X-RateLimit-Remaining`.',
  resource_exhausted:
    'Delete what is no longer needed, or ask the operator of the service for a higher quota. The message names the quota.',
  spend_cap_exceeded: 'Wait for the next month, or ask for a higher cap. `GET /v1/usage` shows what was used.',
  too_many_failed_attempts: 'Wait as many seconds as `Retry-After` says, and correct the key before the next call.',
  internal_error:
    'Repeat the call after a few seconds. If it fails again, send its `request_id` to the operator of the service.',
  upstream_write_failed:
    'Repeat the call with the same `Idempotency-Key`: if the first one was carried out after all, its answer is replayed.',
  metering_unavailable: 'Wait as many seconds as `Retry-After` says, then repeat.',
  method_not_allowed: 'Use one of the methods in the header `Allow`.',
  not_acceptable:
    'Accept `application/json`, or the type of the format that the call names. Without an `Accept` header any type is sent.',
  request_timeout: 'Repeat the request, whole and at once: a head or a body may take a minute to arrive.',
  precondition_failed: 'Read the file again without `If-Match`: it has changed since.',
  payload_too_large: 'Send less in one call. The message names the largest size.',
  uri_too_long: 'Shorten the query. The message names the largest size.',
  unsupported_media_type: 'Send JSON with `Content-Type: application/json` and without a `Content-Encoding`.',
  range_not_satisfiable: 'Read the size of the file from `Content-Range` and ask for a range within it.',
  headers_too_large: 'Send fewer or shorter headers, cookies in particular. The message names the largest size.',
  overloaded: 'Wait as many seconds as `Retry-After` says, then repeat with fewer calls at a time.',
};

/** Message of each code whose message does not depend on the endpoint; figures in it are examples. */
export const ERROR_MESSAGES = {
  bad_request: 'request is not valid HTTP',
  invalid_idempotency_key: 'Idempotency-Key was used with a different request',
  unauthorized: 'Authorization is missing, expected Bearer and a key',
  forbidden: 'test keys open /v1/health only, use a live key (hs_live_…)',
  idempotency_key_in_progress: 'Idempotency-Key is that of a request still being processed',
  rate_limited: 'more than 60 requests in 60 seconds',
  spend_cap_exceeded: "the call would exceed the month's spend cap",
  too_many_failed_attempts: 'too many failed attempts, wait before the next',
  internal_error: 'something went wrong on our side',
  upstream_write_failed: 'a write failed, nothing was charged',
  metering_unavailable: 'credits cannot be metered now, nothing was served',
  not_acceptable: 'Accept rules out application/json',
  uri_too_long: 'target is 9034 bytes, expected at most 8192',
  unsupported_media_type: 'Content-Type is not application/json',
  headers_too_large: 'headers are 20480 bytes, expected at most 16384',
  overloaded: 'too many questions wait to be answered',
} as const satisfies Partial<Record<ErrorCode, string>>;

export const ErrorBody = z
  .object({
    error: z
      .enum(Object.keys(ERRORS) as [ErrorCode, ...ErrorCode[]])
      .meta({ description: 'Stable machine-readable code.' }),
    message: z.string().meta({ description: 'For people; may change, must not be parsed.' }),
    request_id: z.string().meta({ description: 'Correlates with the logs.' }),
  })
  .meta({ id: 'Error', description: 'Every answer that is not a success.' });
export type ErrorBody = z.infer<typeof ErrorBody>;

/** Characters that terminals, logs or pages may interpret: control and format characters with bidi marks, U+2028, U+2029, lone surrogates. */
const INVISIBLE = /[\p{C}\p{Zl}\p{Zp}]/gu;

/** Foreign text for a message, with invisible characters written as `\\u{2028}`. */
export function escapeInvisible(text: string): string {
  return text.replace(INVISIBLE, (character) => `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`);
}
