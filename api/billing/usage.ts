import type { Kysely, Transaction } from 'kysely';
import { addDays, utcDate } from '../../schemas/time.ts';
import { type ListedKey, listKeys } from '../accounts/keys.ts';
import { recordAct } from '../records/audit.ts';
import { snapshot } from '../records/database.ts';
import type { Database } from '../records/schema.ts';
import { addEntry, daysOf, periodOf, rotationUsage } from './ledger.ts';

/** Credits of an operation in a month. `credits` = `count` x `cost_per_call`. */
export interface OperationUsage {
  readonly operation: string;
  readonly count: number;
  readonly credits: number;
  readonly cost_per_call: number;
}

/** A key that is alive or was used in the month. */
export interface KeyUsage extends ListedKey {
  readonly requests: number;
}

/** A month of a business. */
export interface MonthUsage {
  readonly used: number;
  /** In name order (code points). */
  readonly operations: readonly OperationUsage[];
  /** Every day of the month so far, zeros included; [] for a month to come. */
  readonly daily: readonly { readonly date: string; readonly credits: number }[];
  readonly keys: readonly KeyUsage[];
  readonly total_requests: number;
  /** Time of the last ledger row of the month; null without any. */
  readonly last_updated: string | null;
}

/** What a business used in a month `YYYY-MM`, all of it at one moment. Sees every charge that was answered. */
export async function readUsage(
  reader: Kysely<Database>,
  business_id: string,
  period: string,
  now_ms: number,
): Promise<MonthUsage> {
  return await snapshot(reader, (rows) => monthUsage(rows, business_id, period, now_ms));
}

async function monthUsage(
  rows: Kysely<Database>,
  business_id: string,
  period: string,
  now_ms: number,
): Promise<MonthUsage> {
  const keys = await keyUsage(rows, business_id, period, now_ms);
  const spent = await rows
    .selectFrom('periods')
    .select(['used', 'updated_at'])
    .where('business_id', '=', business_id)
    .where('period', '=', period)
    .executeTakeFirst();
  return {
    used: spent?.used ?? 0,
    operations: await operationUsage(rows, business_id, period),
    daily: await dailyUsage(rows, business_id, period, now_ms),
    keys,
    total_requests: keys.reduce((sum, { requests }) => sum + requests, 0),
    last_updated: spent?.updated_at ?? null,
  };
}

/** Credits of every operation of a month, in name order: the rows of the usage export. */
export async function operationUsage(
  rows: Kysely<Database>,
  business_id: string,
  period: string,
): Promise<readonly OperationUsage[]> {
  const found = await rows
    .selectFrom('usage')
    .select(({ fn }) => ['operation', fn.sum<number>('count').as('count'), fn.sum<number>('credits').as('credits')])
    .where('business_id', '=', business_id)
    .where('day', '>=', `${period}-01`)
    .where('day', '<=', `${period}-31`)
    .groupBy('operation')
    .orderBy('operation')
    .execute();
  // What was refunded whole was not used.
  return found.filter(({ count }) => count !== 0).map((row) => ({ ...row, cost_per_call: row.credits / row.count }));
}

async function dailyUsage(rows: Kysely<Database>, business_id: string, period: string, now_ms: number) {
  const found = await rows
    .selectFrom('usage')
    .select(({ fn }) => ['day', fn.sum<number>('credits').as('credits')])
    .where('business_id', '=', business_id)
    .where('day', '>=', `${period}-01`)
    .where('day', '<=', `${period}-31`)
    .groupBy('day')
    .execute();
  const credits = new Map(found.map((row) => [row.day, row.credits]));
  return daysSoFar(period, now_ms).map((date) => ({ date, credits: credits.get(date) ?? 0 }));
}

/** Credits that the keys of a rotation used in a month. */
export async function usedByRotation(reader: Kysely<Database>, rate_bucket: string, period: string): Promise<number> {
  const { first, last } = daysOf(period);
  const found = await rotationUsage(reader, first, last)
    .where('member.rate_bucket', '=', rate_bucket)
    .executeTakeFirst();
  return found?.used ?? 0;
}

/** Every UTC day of a month up to an instant. */
export function daysSoFar(period: string, now_ms: number): readonly string[] {
  const today = utcDate(now_ms);
  const days: string[] = [];
  for (let day = `${period}-01`; day.startsWith(period) && day <= today; day = addDays(day, 1)) days.push(day);
  return days;
}

async function keyUsage(
  rows: Kysely<Database>,
  business_id: string,
  period: string,
  now_ms: number,
): Promise<readonly KeyUsage[]> {
  const keys = await listKeys(rows, business_id, now_ms);
  const charged = await rows
    .selectFrom('usage')
    .select(({ fn }) => ['key_id', fn.sum<number>('calls').as('requests')])
    .where('business_id', '=', business_id)
    .where('day', '>=', `${period}-01`)
    .where('day', '<=', `${period}-31`)
    .groupBy('key_id')
    .execute();
  const free = await rows
    .selectFrom('request_counts')
    .innerJoin('keys', 'keys.id', 'request_counts.key_id')
    .select(({ fn }) => ['request_counts.key_id', fn.sum<number>('request_counts.requests').as('requests')])
    .where('keys.business_id', '=', business_id)
    .where('request_counts.day', '>=', `${period}-01`)
    .where('request_counts.day', '<=', `${period}-31`)
    .groupBy('request_counts.key_id')
    .execute();
  const requests = new Map<string, number>();
  for (const row of [...charged, ...free]) requests.set(row.key_id, (requests.get(row.key_id) ?? 0) + row.requests);
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
    ...{ business_id: id, key_id: null, operation, calls: 0, count, credits, reason },
    ...{ at_ms: now_ms, request_id: null },
  });
  await recordAct(rows, now_ms, {
    act: 'usage.adjust',
    business_id: id,
    subject: name,
    detail: { credits, reason, period: periodOf(now_ms) },
  });
}
