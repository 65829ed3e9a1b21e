import { ApiError } from '../errors.ts';
import type { RangeFault } from '../rules/verification-range.ts';

/** Refuses a body for what is wrong with its range of dates; null: nothing. Throws ApiError bad_request. */
export function refuseRange(fault: RangeFault | null): void {
  if (fault !== null) throw new ApiError('bad_request', `/${fault.member}: ${fault.reason}`);
}
