import type { Kysely, Transaction } from 'kysely';
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
  return await rows
    .selectFrom('usage')
    .select(({ fn, ref }) => [
      ref(by).as('name'),
      fn.sum<number>('count').as('count'),
      fn.sum<number>('credits').as('credits'),
      fn.sum<number>('calls').as('calls'),
    ])
    .where('business_id', '=', business_id)
    .where('day', '>=', first)
    .where('day', '<=', last)
    .groupBy(by)
    .orderBy(by)
    .execute();
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
  const free = await rows
    .selectFrom('request_counts')
    .innerJoin('keys', 'keys.id', 'request_counts.key_id')
    .select(({ fn }) => ['keys.id as name', fn.sum<number>('request_counts.requests').as('calls')])
    .where('keys.business_id', '=', business_id)
    .where('request_counts.day', '>=', first)
    .where('request_counts.day', '<=', last)
    .groupBy('keys.id')
    .execute();
  const requests = new Map<string, number>();
  for (const { name, calls } of [...charged, ...free]) requests.set(name, (requests.get(name) ?? 0) + calls);
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
  await rows
    .insertInto('periods')
    .values({ business_id: id, period: periodOf(now_ms), used: credits, updated_at: at })
    .onConflict((conflict) =>
      conflict
        .columns(['business_id', 'period'])
        .doUpdateSet((eb) => ({ used: eb('periods.used', '+', eb.ref('excluded.used')), updated_at: at })),
    )
    .execute();
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

/** What became of a refund: made, or not because there is no such charge, or because it was given back before. */
export type Refund = { readonly credits: number; readonly business_id: string } | 'unknown' | 'refunded before';

/** Gives the charge of a request back, once: one that stands although its answer was lost. */
export async function refundRequest(
  rows: Transaction<Database>,
  request_id: string,
  reason: string,
  now_ms: number,
): Promise<Refund> {
  const find = (id: string) => rows.selectFrom('ledger').selectAll().where('request_id', '=', id).executeTakeFirst();
  const charged = await find(request_id);
  if (charged === undefined || charged.key_id === null || charged.credits < 0) return 'unknown';
  if ((await find(refundId(request_id))) !== undefined) return 'refunded before';
  const { business_id, key_id, operation, count, credits, at } = charged;
  await refundVisibly(
    rows,
    { request_id, business_id, key_id, operation, count, credits, at_ms: Date.parse(at) },
    reason,
  );
  await recordAct(rows, now_ms, { act: 'usage.refund', business_id, subject: request_id, detail: { credits, reason } });
  return { credits, business_id };
}
