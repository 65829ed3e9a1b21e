import { type Kysely, sql } from 'kysely';
import { snapshot } from '../records/database.ts';
import type { Database } from '../records/schema.ts';

/** Two sums that should be equal and are not. */
export type LedgerFault = CreditsFault | CountFault;

interface CreditsFault {
  readonly business_id: string;
  /** The sum that differs: a month, or a day with key and operation. */
  readonly subject: string;
  readonly what: 'used' | 'usage';
  readonly ledger_credits: number;
  readonly found_credits: number;
}

/** Requests (`calls`) or units of the price (`count`) that differ, where the credits do not. */
interface CountFault {
  readonly business_id: string;
  readonly subject: string;
  readonly what: 'calls' | 'count';
  readonly ledger_count: number;
  readonly found_count: number;
}

/** What the check of the ledger read. */
export interface LedgerCheck {
  readonly rows: number;
  readonly credits: number;
  readonly faults: readonly LedgerFault[];
}

/** A sum of the ledger, or one that is kept with it. */
interface Sum {
  readonly business_id: string;
  readonly subject: string;
  readonly credits: number;
  readonly calls: number;
  readonly count: number;
}

/**
 * Adds the ledger up and compares it with the sums that are kept with it: the months' `used`, and credits, calls and counts by
 * day, key and operation. All at one moment, so it may run while charges are written.
 */
export async function verifyLedger(reader: Kysely<Database>): Promise<LedgerCheck> {
  return await snapshot(reader, async (rows) => {
    const ledger = await ledgerSums(rows);
    const months = await rows.selectFrom('periods').select(['business_id', 'period', 'used']).execute();
    const usage = await rows.selectFrom('usage').selectAll().execute();
    const { count } = await rows
      .selectFrom('ledger')
      .select(({ fn }) => fn.countAll<number>().as('count'))
      .executeTakeFirstOrThrow();
    const used = months.map(({ business_id, period, used }) => creditsOf(business_id, period, used));
    const days = ledger.map(({ day, ...row }) => ({ ...row, subject: subjectOf(day, row) }));
    const counted = usage.map(({ day, ...row }) => ({ ...row, subject: subjectOf(day, row) }));
    return {
      rows: count,
      credits: ledger.reduce((total, { credits }) => total + credits, 0),
      faults: [
        ...creditsFaults('used', byMonth(ledger), used),
        ...creditsFaults('usage', days, counted),
        ...countFaults(days, counted),
      ],
    };
  });
}

async function ledgerSums(rows: Kysely<Database>) {
  return await rows
    .selectFrom('ledger')
    .select(({ fn, val }) => [
      'business_id',
      fn<string>('substr', ['at', val(1), val(10)]).as('day'),
      sql<string>`coalesce(key_id, '')`.as('key_id'),
      'operation',
      fn.sum<number>('credits').as('credits'),
      fn.sum<number>('count').as('count'),
      // An adjustment and a refund are no calls.
      sql<number>`sum(case when key_id is null or operation like '%.refund' then 0 else 1 end)`.as('calls'),
    ])
    .groupBy(['business_id', 'day', 'key_id', 'operation'])
    .execute();
}

function byMonth(ledger: Awaited<ReturnType<typeof ledgerSums>>): readonly Sum[] {
  const months = new Map<string, Sum>();
  for (const { business_id, day, credits } of ledger) {
    const period = day.slice(0, 'YYYY-MM'.length);
    const name = `${business_id} ${period}`;
    months.set(name, creditsOf(business_id, period, credits + (months.get(name)?.credits ?? 0)));
  }
  return [...months.values()];
}

function creditsOf(business_id: string, subject: string, credits: number): Sum {
  return { business_id, subject, credits, calls: 0, count: 0 };
}

function subjectOf(
  day: string,
  { key_id, operation }: { readonly key_id: string; readonly operation: string },
): string {
  return [day, key_id === '' ? 'no key' : key_id, operation].join(' ');
}

function byName(sums: readonly Sum[]): ReadonlyMap<string, Sum> {
  return new Map(sums.map((sum) => [`${sum.business_id} ${sum.subject}`, sum]));
}

function creditsFaults(what: CreditsFault['what'], ledger: readonly Sum[], found: readonly Sum[]): CreditsFault[] {
  const [expected, present] = [byName(ledger), byName(found)];
  return [...new Map([...present, ...expected])].flatMap(([name, { business_id, subject }]) => {
    const ledger_credits = expected.get(name)?.credits ?? 0;
    const found_credits = present.get(name)?.credits ?? 0;
    return ledger_credits === found_credits ? [] : [{ business_id, subject, what, ledger_credits, found_credits }];
  });
}

/** Leaves a sum alone whose credits differ. */
function countFaults(ledger: readonly Sum[], found: readonly Sum[]): CountFault[] {
  const expected = byName(ledger);
  return [...byName(found)].flatMap(([name, { business_id, subject, credits, ...counts }]) => {
    const own = expected.get(name) ?? creditsOf(business_id, subject, 0);
    if (own.credits !== credits) return [];
    return (['calls', 'count'] as const)
      .filter((what) => own[what] !== counts[what])
      .map((what) => ({ business_id, subject, what, ledger_count: own[what], found_count: counts[what] }));
  });
}
