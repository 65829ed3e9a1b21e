import type { Kysely } from 'kysely';
import { periodOf } from '../records/charge.ts';
import { effectiveCap } from '../records/plans.ts';
import type { Caller } from '../records/records.ts';
import type { Database } from '../records/tables.ts';

/** Credits left in the month: of the allowance and below the effective cap; null where there is no such bound. */
export async function creditsLeft(
  reader: Kysely<Database>,
  { business_id, plan }: Pick<Caller, 'business_id' | 'plan'>,
  now_ms: number,
): Promise<{ remaining: number | null; until_cap: number | null }> {
  const spent = await reader
    .selectFrom('periods')
    .select('used')
    .where('business_id', '=', business_id)
    .where('period', '=', periodOf(now_ms))
    .executeTakeFirst();
  const left = (bound: number | null) => (bound === null ? null : Math.max(0, bound - (spent?.used ?? 0)));
  return { remaining: left(plan.monthly_limit), until_cap: left(effectiveCap(plan)) };
}
