import { type Kysely, sql, type Transaction } from 'kysely';
import { addDays, instant, utcDate } from '../../schemas/time.ts';
import { listKeys } from '../accounts/keys.ts';
import { recordAct } from '../records/audit.ts';
import { snapshot } from '../records/database.ts';
import type { Database } from '../records/schema.ts';
import { addEntry, daysOf, periodOf, refundId, refundVisibly } from './ledger.ts';

/** What a business used in a month `YYYY-MM`, all of it at one moment. Sees every charge that was answered. */
export async function readUsage(reader: Kysely<Database>, business_id: string, period: string, now_ms: number) {
  return await snapshot(reader, async (rows) => {
    const keys = await keyUsage(rows, business_id, period, now_ms);
    const month = rows.selectFrom('periods').select(['used', 'updated_at']).where('period', '=', period);
    const spent = await month.where('business_id', '=', business_id).executeTakeFirst();
    const credits = new Map((await monthSums(rows, business_id, period, 'day')).map((day) => [day.name, day.credits]));
    return {
      used: spent?.used ?? 0,
      operations: await operationUsage(rows, business_id, period),
      /** Every day of the month so far, zeros included; [] for a month to come. */
      daily: daysSoFar(period, now_ms).map((date) => ({ date, credits: credits.get(date) ?? 0 })),
      /** Keys that are alive or were used in the month. */
      keys,
      total_requests: keys.reduce((sum, { requests }) => sum + requests, 0),
      /** Time of the last ledger row of the month; null without any. */
      last_updated: spent?.updated_at ?? null,
    };
  });
}

/** Credits of every operation of a month (`count` x `cost_per_call`), in name order (code points): the rows of the usage export. */
export async function operationUsage(rows: Kysely<Database>, business_id: string, period: string) {
  const found = await monthSums(rows, business_id, period, 'operation');
  // Operations refunded in full are left out.
  return found
    .filter(({ count }) => count !== 0)
    .map(({ name, count, credits }) => ({ operation: name, count, credits, cost_per_call: credits / count }));
}

/** Sums of a month by one of their columns, in the order of its values. */
async function monthSums(
  rows: Kysely<Database>,
  business_id: string,
  period: string,
  by: 'operation' | 'day' | 'key_id',
) {
  const { first, last } = daysOf(period);
  const column = sql.ref(by);
  const sums = await sql<Readonly<Record<'count' | 'credits' | 'calls', number>> & { readonly name: string }>`
    select ${column} as name, sum("count") as "count", sum(credits) as credits, sum(calls) as calls from usage
    where business_id = ${business_id} and day between ${first} and ${last}
    group by ${column} order by ${column}`.execute(rows);
  return sums.rows;
}

function daysSoFar(period: string, now_ms: number): readonly string[] {
  const today = utcDate(now_ms);
  const days: string[] = [];
  for (let day = `${period}-01`; day.startsWith(period) && day <= today; day = addDays(day, 1)) days.push(day);
  return days;
}

async function keyUsage(rows: Kysely<Database>, business_id: string, period: string, now_ms: number) {
  const keys = await listKeys(rows, business_id, now_ms);
  const { first, last } = daysOf(period);
  const charged = await monthSums(rows, business_id, period, 'key_id');
  const free = await sql<{ readonly name: string; readonly calls: number }>`
    select keys.id as name, sum(requests) as calls from request_counts join keys on keys.id = key_id
    where business_id = ${business_id} and day between ${first} and ${last} group by keys.id`.execute(rows);
  const requests = new Map<string, number>();
  for (const { name, calls } of [...charged, ...free.rows]) requests.set(name, (requests.get(name) ?? 0) + calls);
  return keys
    .map((key) => ({ ...key, requests: requests.get(key.id) ?? 0 }))
    .filter(({ status, requests }) => status === 'active' || status === 'rotating' || requests > 0);
}

/**
 * Gives credits (negative) or takes them (positive), as a ledger row of its own: nothing that was written is changed.
 * It goes past every cap.
 */
export async function adjustUsage(
  rows: Transaction<Database>,
  { id, name }: { readonly id: string; readonly name: string },
  credits: number,
  reason: string,
  now_ms: number,
): Promise<void> {
  const at = instant(now_ms);
  const operation = credits < 0 ? 'adjustment.refund' : 'adjustment';
  const count = Math.abs(credits);
  const raise = sql`
    insert into periods (business_id, period, used, updated_at) values (${id}, ${periodOf(now_ms)}, ${credits}, ${at})
    on conflict (business_id, period) do update set used = periods.used + excluded.used, updated_at = excluded.updated_at`;
  await raise.execute(rows);
  await addEntry(rows, {
    ...{ business_id: id, key_id: null, operation, count, credits, reason },
    ...{ at_ms: now_ms, request_id: null },
  });
  const detail = { credits, reason, period: periodOf(now_ms) };
  await recordAct(rows, now_ms, { act: 'usage.adjust', business_id: id, subject: name, detail });
}

/** Gives the charge of a request back, once: one that stands although its answer was lost. `unknown`: there is no such charge. */
export async function refundRequest(rows: Transaction<Database>, request_id: string, reason: string, now_ms: number) {
  const find = (id: string) => rows.selectFrom('ledger').selectAll().where('request_id', '=', id).executeTakeFirst();
  const charged = await find(request_id);
  if (charged === undefined || charged.key_id === null || charged.credits < 0) return 'unknown' as const;
  if ((await find(refundId(request_id))) !== undefined) return 'refunded before' as const;
  const { business_id, key_id, operation, count, credits, at } = charged;
  const charge = { request_id, business_id, key_id, operation, count, credits, at_ms: Date.parse(at) };
  await refundVisibly(rows, charge, reason);
  await recordAct(rows, now_ms, { act: 'usage.refund', business_id, subject: request_id, detail: { credits, reason } });
  return { credits, business_id };
}

/**
 * Two sums that should be equal and are not: credits of a month (`used`) or of a day with key and operation (`usage`), or, of such a day
 * whose credits agree, its requests (`calls`) or units of the price (`count`).
 */
type LedgerFault = { readonly business_id: string; readonly subject: string } & (
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
