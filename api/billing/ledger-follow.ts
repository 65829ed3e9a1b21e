import { type Kysely, sql } from 'kysely';
import { yieldToEventLoop } from '../http/event-loop.ts';
import { snapshot } from '../records/database.ts';
import type { Database } from '../records/schema.ts';

/** Credits by which sums differ that should be equal; null: not compared to the end yet. */
export interface LedgerDifference {
  /** The ledger, less what the months say was used. */
  readonly months: number | null;
  /** The days of this month, business by business, against the month: the absolute differences added up. */
  readonly days: number | null;
}

/** Rows of the ledger that one statement adds up: a few milliseconds. */
const ROWS_PER_STEP = 20_000;
const STEPS_PER_CALL = 5;
/** The newest rows are added up again each time: on PostgreSQL a row may be committed after one with a larger id. */
const TAIL_ROWS = 1_000;
/** Businesses whose days are added up in one call. */
const BUSINESSES_PER_CALL = 100;

/**
 * Compares the ledger with the sums that are kept with it, a bounded piece with each call, for the eyes of operators:
 * `hail-api usage verify` and `doctor` compare each sum by itself. A difference is reported only after the whole ledger was added
 * up anew, because a business that was purged takes its rows along.
 */
export function followLedger(reader: Kysely<Database>): (month: string) => Promise<LedgerDifference> {
  let settled = { id: 0, credits: 0 };
  /** True while the sum holds nothing from before the last comparison. */
  let isAnew = true;
  let months: number | null = null;
  let round = { month: '', after: '', differences: 0 };
  let days: number | null = null;

  return async (month) => {
    for (let step = 0; step < STEPS_PER_CALL; step++) {
      const id = settled.id;
      const next = await stepAfter(reader, id);
      if (next.rows < ROWS_PER_STEP) break;
      settled = { id: next.last_id, credits: settled.credits + next.credits };
      await yieldToEventLoop();
    }
    const compared = await snapshot(reader, async (rows) => {
      const tail = await stepAfter(rows, settled.id);
      const { used } = await rows
        .selectFrom('periods')
        .select(({ fn }) => fn.coalesce(fn.sum<number>('used'), sql<number>`0`).as('used'))
        .executeTakeFirstOrThrow();
      return { tail, used: Number(used) };
    });
    const { tail, used } = compared;
    if (tail.rows < ROWS_PER_STEP) {
      const difference = settled.credits + tail.credits - used;
      if (difference === 0 || isAnew) months = difference;
      if (difference === 0) isAnew = false;
      else {
        settled = { id: 0, credits: 0 };
        isAnew = true;
      }
      if (difference === 0 && tail.rows > 2 * TAIL_ROWS) settled = await withoutTail(reader, settled, tail.last_id);
    }
    await compareDays(month);
    return { months, days };
  };

  async function compareDays(month: string): Promise<void> {
    if (round.month !== month) round = { month, after: '', differences: 0 };
    const found = await daysAgainstMonth(reader, month, round.after);
    for (const { used, credits } of found) round.differences += Math.abs(Number(credits) - Number(used));
    const last = found.at(-1);
    if (last !== undefined && found.length === BUSINESSES_PER_CALL) round.after = last.business_id;
    else {
      days = round.differences;
      round = { month, after: '', differences: 0 };
    }
  }
}

interface Step {
  readonly rows: number;
  readonly credits: number;
  readonly last_id: number;
}

/** The next rows of the ledger after one, added up. */
async function stepAfter(rows: Kysely<Database>, after_id: number, limit = ROWS_PER_STEP): Promise<Step> {
  const found = await rows
    .selectFrom((eb) =>
      eb
        .selectFrom('ledger')
        .select(['id', 'credits'])
        .where('id', '>', after_id)
        .orderBy('id')
        .limit(limit)
        .as('next'),
    )
    .select(({ fn }) => [
      fn.countAll<number>().as('rows'),
      fn.sum<number | null>('credits').as('credits'),
      fn.max('id').as('last_id'),
    ])
    .executeTakeFirstOrThrow();
  return { rows: Number(found.rows), credits: Number(found.credits ?? 0), last_id: Number(found.last_id ?? after_id) };
}

/** Takes the rows of a tail into the sum, but for the newest. */
async function withoutTail(
  rows: Kysely<Database>,
  settled: { readonly id: number; readonly credits: number },
  last_id: number,
): Promise<{ readonly id: number; readonly credits: number }> {
  const upTo = last_id - TAIL_ROWS;
  const { credits } = await rows
    .selectFrom('ledger')
    .select(({ fn }) => fn.sum<number | null>('credits').as('credits'))
    .where('id', '>', settled.id)
    .where('id', '<=', upTo)
    .executeTakeFirstOrThrow();
  return { id: upTo, credits: settled.credits + Number(credits ?? 0) };
}

/** What some businesses used in a month, by the month and by its days. */
async function daysAgainstMonth(rows: Kysely<Database>, month: string, after: string) {
  return await rows
    .selectFrom('periods')
    .select((eb) => [
      'business_id',
      'used',
      eb.fn
        .coalesce(
          eb
            .selectFrom('usage')
            .select(({ fn }) => fn.sum<number>('usage.credits').as('credits'))
            .whereRef('usage.business_id', '=', 'periods.business_id')
            .where('usage.day', '>=', `${month}-01`)
            .where('usage.day', '<=', `${month}-31`),
          sql<number>`0`,
        )
        .as('credits'),
    ])
    .where('period', '=', month)
    .where('business_id', '>', after)
    .orderBy('business_id')
    .limit(BUSINESSES_PER_CALL)
    .execute();
}
