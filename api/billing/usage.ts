import { type Kysely, sql, type Transaction } from 'kysely';
import { addDays, utcDate } from '../../schemas/time.ts';
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
  const at = new Date(now_ms).toISOString();
  const operation = credits < 0 ? 'adjustment.refund' : 'adjustment';
  const count = Math.abs(credits);
  await sql`
    insert into periods (business_id, period, used, updated_at) values (${id}, ${periodOf(now_ms)}, ${credits}, ${at})
    on conflict (business_id, period) do update set used = periods.used + excluded.used, updated_at = excluded.updated_at`.execute(
    rows,
  );
  await addEntry(rows, {
    ...{ business_id: id, key_id: null, operation, count, credits, reason },
    ...{ at_ms: now_ms, request_id: null },
  });
  await recordAct(rows, now_ms, {
    act: 'usage.adjust',
    business_id: id,
    subject: name,
    detail: { credits, reason, period: periodOf(now_ms) },
  });
}

/** Gives the charge of a request back, once: one that stands although its answer was lost. `unknown`: there is no such charge. */
export async function refundRequest(rows: Transaction<Database>, request_id: string, reason: string, now_ms: number) {
  const find = (id: string) => rows.selectFrom('ledger').selectAll().where('request_id', '=', id).executeTakeFirst();
  const charged = await find(request_id);
  if (charged === undefined || charged.key_id === null || charged.credits < 0) return 'unknown' as const;
  if ((await find(refundId(request_id))) !== undefined) return 'refunded before' as const;
  const { business_id, key_id, operation, count, credits, at } = charged;
  await refundVisibly(
    rows,
    { request_id, business_id, key_id, operation, count, credits, at_ms: Date.parse(at) },
    reason,
  );
  await recordAct(rows, now_ms, { act: 'usage.refund', business_id, subject: request_id, detail: { credits, reason } });
  return { credits, business_id };
}
