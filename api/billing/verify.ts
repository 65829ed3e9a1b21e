import { type Kysely, sql } from 'kysely';
import { snapshot } from '../records/database.ts';
import type { Database } from '../records/schema.ts';

/**
 * Two sums that should be equal and are not: credits of a month (`used`) or of a day with key and operation (`usage`), or, of such a day
 * whose credits agree, its requests (`calls`) or units of the price (`count`).
 */
export type LedgerFault = { readonly business_id: string; readonly subject: string } & (
  | { readonly what: 'used' | 'usage'; readonly ledger_credits: number; readonly found_credits: number }
  | { readonly what: 'calls' | 'count'; readonly ledger_count: number; readonly found_count: number }
);

type Side = 'ledger' | 'found';

export type LedgerCheck = Awaited<ReturnType<typeof verifyLedger>>;

/**
 * Adds the ledger up and compares it with the sums that are kept with it: the months' `used`, and credits, calls and counts by
 * day, key and operation. All at one moment, so it may run while charges are written.
 */
export async function verifyLedger(reader: Kysely<Database>) {
  return await snapshot(reader, async (rows) => {
    const { count, credits } = await rows
      .selectFrom('ledger')
      .select(({ fn }) => [fn.countAll<number>().as('count'), fn.sum<number | null>('credits').as('credits')])
      .executeTakeFirstOrThrow();
    const months = await DIFFERENT_MONTHS.execute(rows);
    const days = await DIFFERENT_DAYS.execute(rows);
    const used = months.rows.map((month) => ({ ...month, what: 'used' as const }));
    const faults: readonly LedgerFault[] = [...used, ...days.rows.flatMap(faultsOfDay)];
    return { rows: count, credits: credits ?? 0, faults };
  });
}

const DIFFERENT_MONTHS = sql<Record<'business_id' | 'subject', string> & Record<`${Side}_credits`, number>>`
  select business_id, subject, sum(ledger) as ledger_credits, sum(found) as found_credits
  from (
    select business_id, substr("at", 1, 7) as subject, credits as ledger, 0 as found from ledger
    union all select business_id, period, 0, used from periods
  ) as sums
  group by business_id, subject
  having sum(ledger) <> sum(found)
  order by business_id, subject`;

/** `key_id`: empty in adjustments. */
type DifferentDay = Record<'business_id' | 'day' | 'key_id' | 'operation', string> &
  Record<`${Side}_${'credits' | 'calls' | 'count'}`, number>;

/** An adjustment and a refund are no calls. */
const DIFFERENT_DAYS = sql<DifferentDay>`
  select business_id, day, key_id, operation,
    sum(ledger_credits) as ledger_credits, sum(ledger_calls) as ledger_calls, sum(ledger_count) as ledger_count,
    sum(credits) as found_credits, sum(calls) as found_calls, sum("count") as found_count
  from (
    select business_id, substr("at", 1, 10) as day, coalesce(key_id, '') as key_id, operation,
      credits as ledger_credits, "count" as ledger_count,
      case when key_id is null or operation like '%.refund' then 0 else 1 end as ledger_calls,
      0 as credits, 0 as calls, 0 as "count"
    from ledger
    union all select business_id, day, key_id, operation, 0, 0, 0, credits, calls, "count" from usage
  ) as sums
  group by business_id, day, key_id, operation
  having sum(ledger_credits) <> sum(credits) or sum(ledger_calls) <> sum(calls) or sum(ledger_count) <> sum("count")
  order by business_id, day, key_id, operation`;

/** Leaves the counts of a sum alone whose credits differ. */
function faultsOfDay({ business_id, day, key_id, operation, ...sums }: DifferentDay): readonly LedgerFault[] {
  const { ledger_credits, found_credits } = sums;
  const sum = { business_id, subject: `${day} ${key_id === '' ? 'no key' : key_id} ${operation}` };
  if (ledger_credits !== found_credits) return [{ ...sum, what: 'usage', ledger_credits, found_credits }];
  return (['calls', 'count'] as const)
    .map((what) => ({ ...sum, what, ledger_count: sums[`ledger_${what}`], found_count: sums[`found_${what}`] }))
    .filter(({ ledger_count, found_count }) => ledger_count !== found_count);
}
