import { type Kysely, type Selectable, sql } from 'kysely';
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

interface Sum {
  readonly name: string;
  readonly business_id: string;
  readonly subject: string;
  readonly credits: number;
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
    const used = months.map((row) => sum(row.business_id, row.period, row.used));
    const counted = usage.map((row) => sum(row.business_id, usageSubject(row), row.credits));
    return {
      rows: count,
      credits: ledger.reduce((total, { credits }) => total + credits, 0),
      faults: [
        ...compare('used', byMonth(ledger), used),
        ...compare(
          'usage',
          ledger.map((row) => sum(row.business_id, usageSubject(row), row.credits)),
          counted,
        ),
        ...compareCounts(ledger, usage),
      ],
    };
  });
}

async function ledgerSums(rows: Kysely<Database>) {
  const found = await rows
    .selectFrom('ledger')
    .select(({ fn, val }) => [
      'business_id',
      fn<string>('substr', ['at', val(1), val(10)]).as('day'),
      fn.coalesce('key_id', val('')).as('key_id'),
      'operation',
      fn.sum<number>('credits').as('credits'),
      fn.sum<number>('count').as('count'),
      // An adjustment and a refund with a line of its own are no calls; any other refund takes one back.
      sql<number>`sum(case when key_id is null or operation like '%.refund' then 0 when count < 0 then -1 else 1 end)`.as(
        'calls',
      ),
    ])
    .groupBy(['business_id', 'day', 'key_id', 'operation'])
    .execute();
  return found.map((row) => ({ ...row, key_id: row.key_id ?? '' }));
}

type UsageSum = Omit<Selectable<Database['usage']>, 'key_id'> & { readonly key_id: string };

function byMonth(ledger: Awaited<ReturnType<typeof ledgerSums>>): readonly Sum[] {
  const months = Map.groupBy(ledger, ({ business_id, day }) => `${business_id} ${day.slice(0, 'YYYY-MM'.length)}`);
  return [...months].map(([name, members]) => {
    const [business_id = '', period = ''] = name.split(' ');
    return sum(
      business_id,
      period,
      members.reduce((total, { credits }) => total + credits, 0),
    );
  });
}

function compare(what: CreditsFault['what'], ledger: readonly Sum[], found: readonly Sum[]): readonly CreditsFault[] {
  const expected = new Map(ledger.map((row) => [row.name, row]));
  const present = new Map(found.map((row) => [row.name, row]));
  return [...new Map([...present, ...expected]).values()]
    .map(({ name, business_id, subject }) => ({
      business_id,
      subject,
      what,
      ledger_credits: expected.get(name)?.credits ?? 0,
      found_credits: present.get(name)?.credits ?? 0,
    }))
    .filter(({ ledger_credits, found_credits }) => ledger_credits !== found_credits);
}

/** What `compare` found wrong already, because its credits differ, is left alone. */
function compareCounts(ledger: readonly UsageSum[], usage: readonly UsageSum[]): readonly CountFault[] {
  const expected = new Map(ledger.map((row) => [`${row.business_id} ${usageSubject(row)}`, row]));
  return usage.flatMap((row) => {
    const subject = usageSubject(row);
    const { business_id } = row;
    const { credits = 0, calls = 0, count = 0 } = expected.get(`${business_id} ${subject}`) ?? {};
    if (credits !== row.credits) return [];
    return [
      { business_id, subject, what: 'calls' as const, ledger_count: calls, found_count: row.calls },
      { business_id, subject, what: 'count' as const, ledger_count: count, found_count: row.count },
    ].filter(({ ledger_count, found_count }) => ledger_count !== found_count);
  });
}

function sum(business_id: string, subject: string, credits: number): Sum {
  return { name: `${business_id} ${subject}`, business_id, subject, credits };
}

function usageSubject({ day, key_id, operation }: { day: string; key_id: string; operation: string }): string {
  return [day, key_id === '' ? 'no key' : key_id, operation].join(' ');
}
