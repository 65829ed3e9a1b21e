import { ApiError } from '../errors.ts';
import type { RangeFault } from '../rules/date-range.ts';

/** Throws ApiError bad_request for a range of dates in a body that has a fault. */
export function refuseRange(fault: RangeFault | null): void {
  if (fault !== null) throw new ApiError('bad_request', `/${fault.name}: ${fault.reason}`);
}
