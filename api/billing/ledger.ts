import { type Kysely, type RawBuilder, sql, type Transaction } from 'kysely';
import { instant, utcDate } from '../../schemas/time.ts';
import { param, prepare, type Store } from '../records/database.ts';
import { BusinessGone } from '../records/errors.ts';
import type { Database } from '../records/schema.ts';

/** Price of a call: `credits` = cost per call x `count`; every price has an operation name of its own. */
export type Price = Readonly<{ operation: string; credits: number; count: number }>;

/** A charge was refused by a cap: that of the business, or that of the key. */
export type OverCap = 'over_cap' | 'over_key_cap';

export interface Charge {
  /** Id of the request that is charged, once only. */
  readonly request_id: string;
  readonly business_id: string;
  readonly key_id: string;
  readonly operation: string;
  readonly credits: number;
  readonly count: number;
  /** Data clock, epoch milliseconds: decides month and day. */
  readonly at_ms: number;
}

/** Thrown inside a transaction by a charge that the ledger has already: all of the transaction was made before. */
export class AlreadyCharged extends Error {
  constructor(request_id: string) {
    super(`request ${request_id} is in the ledger, expected a new one`);
  }
}

/** Thrown inside a transaction to take everything back: a cap refuses the charge. */
export class Refused extends Error {
  readonly by: OverCap;

  constructor(by: OverCap) {
    super(by);
    this.by = by;
  }
}

const PERIOD_LENGTH = 'YYYY-MM'.length;
const DAY_LENGTH = 'YYYY-MM-DD'.length;

export function periodOf(time_ms: number): string {
  return utcDate(time_ms).slice(0, PERIOD_LENGTH);
}

/** First and last day that a month may have, as text. */
export function daysOf(period: string): { readonly first: string; readonly last: string } {
  return { first: `${period}-01`, last: `${period}-31` };
}

/** The two steps of a charge, within a transaction that they may end by throwing. Their statements are prepared once. */
export function createLedger({ writer: db, execute, forKeyShare }: Pick<Store, 'writer' | 'execute' | 'forKeyShare'>) {
  const insert = prepare(INSERT_CHARGE, db);
  const use = prepare(USE_CREDITS, db);
  const open = prepare(openPeriod(forKeyShare), db);
  const raise = prepare(raiseUsage(PARAMS), db);

  return {
    /** Writes the row of the charge. Throws AlreadyCharged where the request has one: it waits for a transaction that is writing it. */
    enter: async (rows: Transaction<Database>, { at_ms, ...charge }: Charge): Promise<void> => {
      const { numAffectedRows } = await execute(rows, insert({ ...charge, at: instant(at_ms) }));
      if (numAffectedRows !== 1n) throw new AlreadyCharged(charge.request_id);
    },
    /**
     * Adds the charge to its month and day. The row of the month is held until the transaction ends, so that no cap is passed. Throws
     * Refused over a cap, and BusinessGone.
     */
    count: async (rows: Transaction<Database>, { at_ms, ...charge }: Charge): Promise<void> => {
      const { business_id, credits } = charge;
      const at = instant(at_ms);
      const values = { ...charge, at, period: at.slice(0, PERIOD_LENGTH), day: at.slice(0, DAY_LENGTH), calls: 1 };
      const take = async () => (await execute(rows, use(values))).rows[0];
      let taken = await take();
      if (taken === undefined) {
        // The first charge of the month finds no row to count in.
        await execute(rows, open(values));
        taken = await take();
      }
      if (taken === undefined)
        throw (await isThere(rows, business_id)) ? new Refused('over_cap') : new BusinessGone(business_id);
      const { key_cap, rate_bucket } = taken;
      if (key_cap !== null && (await usedByRotation(rows, rate_bucket ?? '', values.period)) + credits > key_cap)
        throw new Refused('over_key_cap');
      await execute(rows, raise(values));
    },
  };
}

async function isThere(rows: Transaction<Database>, id: string): Promise<boolean> {
  return (await rows.selectFrom('businesses').select('id').where('id', '=', id).executeTakeFirst()) !== undefined;
}

/**
 * Gives a charge back as a line of its own: an operation `<name>.refund` with a negative price, on the day of the charge, so that
 * no month ends below zero. The charge row is unchanged. Does nothing for a deleted business.
 */
export async function refundVisibly(
  rows: Transaction<Database>,
  { request_id, ...charge }: Omit<Charge, 'request_id'> & Partial<Pick<Charge, 'request_id'>>,
  reason: string,
): Promise<void> {
  const { business_id, credits, at_ms, operation } = charge;
  const { numAffectedRows } = await sql`
    update periods set used = used - ${credits}
    where business_id = ${business_id} and period = ${periodOf(at_ms)}`.execute(rows);
  if (numAffectedRows !== 1n) return;
  const refund = {
    operation: `${operation}.refund`,
    credits: -credits,
    request_id: request_id ? refundId(request_id) : null,
  };
  await addEntry(rows, { ...charge, ...refund, reason });
}

/** Request id in the row that gives a charge back: no request is refunded twice. */
export function refundId(request_id: string): string {
  return `${request_id} refund`;
}

/** A row of the ledger that is no charge. */
interface Entry extends Omit<Charge, 'request_id' | 'key_id'> {
  /** Null: an adjustment. */
  readonly key_id: string | null;
  readonly reason: string;
  readonly request_id: string | null;
}

/** Writes a row of the ledger, and adds it to its day. The month is the caller's. */
export async function addEntry(rows: Transaction<Database>, { at_ms, ...entry }: Entry): Promise<void> {
  const { business_id, key_id, operation, count, credits } = entry;
  const row = { ...entry, at: instant(at_ms) };
  await rows.insertInto('ledger').values(row).execute();
  const day = { business_id, day: utcDate(at_ms), key_id: key_id ?? '', operation, calls: 0, count, credits };
  await raiseUsage(day).execute(rows);
}

export async function usedInMonth(rows: Kysely<Database>, business_id: string, period: string): Promise<number> {
  const month = rows.selectFrom('periods').select('used').where('business_id', '=', business_id);
  return (await month.where('period', '=', period).executeTakeFirst())?.used ?? 0;
}

/** Credits that the keys of a rotation used in a month. */
export async function usedByRotation(rows: Kysely<Database>, rate_bucket: string, period: string): Promise<number> {
  const { first, last } = daysOf(period);
  const found = await sql<{ readonly used: number | null }>`
    select sum(credits) as used from keys join usage on usage.key_id = keys.id
    where rate_bucket = ${rate_bucket} and day between ${first} and ${last}`.execute(rows);
  return found.rows[0]?.used ?? 0;
}

const NAMES = [
  'request_id',
  'business_id',
  'key_id',
  'operation',
  'credits',
  'count',
  'calls',
  'at',
  'period',
  'day',
] as const;
type Name = (typeof NAMES)[number];
const PARAMS = Object.fromEntries(NAMES.map((name) => [name, param(name)])) as Record<Name, RawBuilder<unknown>>;

const INSERT_CHARGE = sql`
  insert into ledger (request_id, business_id, key_id, operation, credits, "count", "at")
  values (${sql.join(NAMES.slice(0, 6).map((name) => PARAMS[name]))}, ${PARAMS.at})
  on conflict (request_id) do nothing`;

/**
 * Counts the credits if they fit under the cap of the business; returns the cap of the key, which lies on the first key of its
 * rotation. A business without a plan has no cap that they could fit under.
 */
const USE_CREDITS = sql<{ readonly key_cap: number | null; readonly rate_bucket: string | null }>`
  update periods set used = used + ${PARAMS.credits}, updated_at = ${PARAMS.at}
  where business_id = ${PARAMS.business_id} and period = ${PARAMS.period} and used + ${PARAMS.credits} <=
    (select coalesce(cap, ${sql.lit(Number.MAX_SAFE_INTEGER)}) from plans where business_id = ${PARAMS.business_id})
  returning
    (select first_key.monthly_cap from keys join keys as first_key on first_key.id = keys.rate_bucket
      where keys.id = ${PARAMS.key_id}) as key_cap,
    (select rate_bucket from keys where id = ${PARAMS.key_id}) as rate_bucket`;

/** The row of a month, for a business that is there and stays there until the transaction ends. */
const openPeriod = (forKeyShare: RawBuilder<unknown>) => sql`
  insert into periods (business_id, period, used, updated_at)
  select id, ${PARAMS.period}, 0, ${PARAMS.at} from businesses where id = ${PARAMS.business_id} ${forKeyShare}
  on conflict do nothing`;

const raiseUsage = (sums: Readonly<Record<Exclude<Name, 'request_id' | 'at' | 'period'>, unknown>>) => sql`
  insert into usage (business_id, day, key_id, operation, calls, "count", credits)
  values (${sums.business_id}, ${sums.day}, ${sums.key_id}, ${sums.operation}, ${sums.calls}, ${sums.count}, ${sums.credits})
  on conflict (business_id, day, key_id, operation) do update set
    calls = usage.calls + excluded.calls, "count" = usage."count" + excluded."count",
    credits = usage.credits + excluded.credits`;
