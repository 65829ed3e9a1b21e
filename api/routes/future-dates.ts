import { ApiError } from '../errors.ts';
import { rangeFault } from '../rules/verification-range.ts';

/** Refuses a body whose range of dates the clock has not reached. Throws ApiError bad_request. */
export function refuseFuture(body: { readonly date_start: string; readonly date_end: string }, now_ms: number): void {
  const fault = rangeFault(body, now_ms);
  if (fault !== null) throw new ApiError('bad_request', `/${fault.member}: ${fault.reason}`);
}
