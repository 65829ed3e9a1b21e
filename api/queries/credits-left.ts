import type { Kysely } from 'kysely';
import type { Caller } from '../accounts/keyring.ts';
import { effectiveCap } from '../accounts/plans.ts';
import { periodOf, usedByRotation, usedInMonth } from '../billing/ledger.ts';
import type { Database } from '../records/schema.ts';

/**
 * Credits left in the month: of the allowance, and below the caps of business and key, the smaller of the two; null where there
 * is no such bound.
 */
export async function creditsLeft(
  reader: Kysely<Database>,
  { business_id, plan, rate_bucket, key_cap }: Pick<Caller, 'business_id' | 'plan' | 'rate_bucket' | 'key_cap'>,
  now_ms: number,
): Promise<{ remaining: number | null; until_cap: number | null }> {
  const period = periodOf(now_ms);
  const spent = await usedInMonth(reader, business_id, period);
  const left = (bound: number | null, used = spent) => (bound === null ? null : Math.max(0, bound - used));
  const ofBusiness = left(effectiveCap(plan));
  const ofKey = key_cap === null ? null : left(key_cap, await usedByRotation(reader, rate_bucket, period));
  const until_cap = ofKey === null || ofBusiness === null ? (ofKey ?? ofBusiness) : Math.min(ofKey, ofBusiness);
  return { remaining: left(plan.monthly_limit), until_cap };
}
