import type { Price } from '../endpoint.ts';
import { ApiError } from '../errors.ts';
import type { Caller, Charge, Records } from '../records/records.ts';

/** The row that a call adds to the ledger. */
export function chargeOf(caller: Caller, price: Price, now_ms: number): Charge {
  return {
    business_id: caller.business_id,
    key_id: caller.key_id,
    operation: price.operation,
    credits: price.credits,
    count: price.count,
    at_ms: now_ms,
  };
}

/** Throws `spend_cap_exceeded` when the call would be refused anyway, before any work is done for it. */
export async function checkSpendCap(
  records: Records,
  caller: Caller,
  price: Price | null,
  now_ms: number,
): Promise<void> {
  if (price !== null && (await records.wouldExceed(caller, price.credits, now_ms))) throw spendCapExceeded(now_ms);
}

export function spendCapExceeded(now_ms: number): ApiError {
  const now = new Date(now_ms);
  const nextMonth_ms = Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1, 1);
  return new ApiError('spend_cap_exceeded', "the call would exceed the month's spend cap", {
    'Retry-After': String(Math.ceil((nextMonth_ms - now_ms) / 1000)),
  });
}
