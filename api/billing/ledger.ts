import { type Insertable, type Kysely, type RawBuilder, sql, type Transaction } from 'kysely';
import { ID_PREFIXES, newId } from '../../schemas/ids.ts';
import { instant, utcDate } from '../../schemas/time.ts';
import type { Store } from '../records/database.ts';
import { param, prepare, prepareRows, type Values } from '../records/prepare.ts';
import type { Database } from '../records/schema.ts';

/** Price of a call: `credits` = cost per call x `count`; every price has an operation name of its own. */
export interface Price {
  readonly operation: string;
  readonly credits: number;
  readonly count: number;
}

/** A charge was refused by a cap: that of the business, or that of the key. */
export type OverCap = 'over_cap' | 'over_key_cap';

export interface Charge {
  /** Id of the request that is charged, once only; a new one where there is none. */
  readonly request_id?: string | undefined;
  readonly business_id: string;
  readonly key_id: string;
  readonly operation: string;
  readonly credits: number;
  readonly count: number;
  /** Data clock, epoch milliseconds: decides month and day. */
  readonly at_ms: number;
}

/** Outcome of a charge; `gone`: there is no such business any more; `held`: another transaction holds the month of its business. */
export type Charged = 'charged' | OverCap | 'gone' | 'held';

/** Charges within a transaction. */
export interface Ledger {
  /**
   * Charges each in order of arrival, as far as the caps allow; an outcome for each. What is over the cap changes nothing. Waits for
   * months that other transactions hold, or `passes_over` them, on PostgreSQL.
   */
  readonly chargeAll: (
    rows: Transaction<Database>,
    charges: readonly Charge[],
    passes_over?: boolean,
  ) => Promise<readonly Charged[]>;
}

/** Ids of requests, as charges have them. */
export const REQUEST_ID = new RegExp(`^${ID_PREFIXES.request}_`);

/** The charge with a request id, which names its row in the ledger. */
export function withRequestId(charge: Charge): Charge {
  return charge.request_id === undefined ? { ...charge, request_id: newId('request', charge.at_ms) } : charge;
}

/** Numbers of keys that one statement takes: few statements to keep prepared. The last is the largest group of charges. */
const KEYS_IN_STATEMENT = [1, 4, 16, 64, 256] as const;
/** Ledger rows per INSERT: few statements for many charges, and few statements to keep prepared. */
const LEDGER_CHUNKS = [32, 16, 8, 4, 2, 1] as const;
/** Stands for a cap where there is none. */
const NO_CAP = Number.MAX_SAFE_INTEGER;

/** Month of a charge, `YYYY-MM`, UTC. */
export function periodOf(time_ms: number): string {
  return utcDate(time_ms).slice(0, 'YYYY-MM'.length);
}

/** Prepares the statements of a charge. */
export function createLedger({
  writer: db,
  forUpdate,
  forKeyShare,
}: Pick<Store, 'writer' | 'forUpdate' | 'forKeyShare'>): Ledger {
  const useUncapped = KEYS_IN_STATEMENT.map((size) => prepareRows(uncappedUpdate(db, size)));
  const use = prepare(guardedUpdate(db));
  const hold = prepare(holding(db, forUpdate));
  const selectCaps = KEYS_IN_STATEMENT.map((size) => prepareRows(keyCapSelect(db, size)));
  const openPeriod = prepare(openingPeriod(db, forKeyShare));
  const ledger = LEDGER_CHUNKS.map((size) => ({ size, insert: prepareRows(ledgerInsert(db, size)) }));
  const raise = prepare(usageUpsert(db, USAGE_PARAMS));

  /** True when the credits fitted under the cap of the business and were counted. */
  async function take(rows: Transaction<Database>, account: Account, credits: number, at: string): Promise<boolean> {
    const { numAffectedRows } = await rows.executeQuery(use({ ...account, credits, at }));
    return numAffectedRows === 1n;
  }

  /** The same in one statement for keys of which none has a cap; false also when one has. */
  async function takeUncapped(
    rows: Transaction<Database>,
    account: Account,
    charges: readonly Charge[],
    at: string,
  ): Promise<boolean> {
    const query = bindKeys(useUncapped, charges, { ...account, credits: sum(charges), at });
    return (await rows.executeQuery(query)).numAffectedRows === 1n;
  }

  async function takeAll(
    rows: Transaction<Database>,
    account: Account,
    charges: readonly Charge[],
  ): Promise<readonly Charged[]> {
    const at = instant(Math.max(...charges.map(({ at_ms }) => at_ms)));
    if (await takeUncapped(rows, account, charges, at)) return charges.map(() => 'charged');
    // The first charge of the month finds no row to count in.
    const { numAffectedRows } = await rows.executeQuery(openPeriod({ ...account, at }));
    if (numAffectedRows === 1n && (await takeUncapped(rows, account, charges, at))) return charges.map(() => 'charged');
    // Held, so that no other transaction adds to the sums of the keys.
    if ((await rows.executeQuery(hold(account))).rows.length === 0) return charges.map(() => 'gone');
    const query = bindKeys(selectCaps, charges, { ...account, ...daysOf(account.period) });
    return await takeEach(rows, account, charges, (await rows.executeQuery(query)).rows);
  }

  /** Takes one charge after the other: what does not fit leaves the rest alone. */
  async function takeEach(
    rows: Transaction<Database>,
    account: Account,
    charges: readonly Charge[],
    caps: readonly KeyCap[],
  ): Promise<readonly Charged[]> {
    const capOf = new Map(caps.map((cap) => [cap.key_id, cap]));
    const left = new Map(
      caps.map(({ rate_bucket, monthly_cap, used }) => [rate_bucket, (monthly_cap ?? NO_CAP) - used]),
    );
    const taken: Charged[] = [];
    for (const { credits, key_id, at_ms } of charges) {
      const rotation = capOf.get(key_id)?.rate_bucket ?? '';
      const rest = left.get(rotation) ?? NO_CAP;
      if (credits > rest) taken.push('over_key_cap');
      else if (await take(rows, account, credits, instant(at_ms))) {
        taken.push('charged');
        left.set(rotation, rest - credits);
      } else taken.push('over_cap');
    }
    return taken;
  }

  async function write(rows: Transaction<Database>, charges: readonly Charge[]): Promise<void> {
    let from = 0;
    for (const { size, insert } of ledger)
      for (; charges.length - from >= size; from += size)
        await rows.executeQuery(insert(charges.slice(from, from + size).map(ledgerRow)));
    for (const each of sums(charges)) await rows.executeQuery(raise(each));
  }

  return {
    chargeAll: async (rows, charges, passes_over = false) => {
      const outcomes: Charged[] = charges.map(() => 'over_cap');
      const accounts = [...Map.groupBy(charges.keys(), (k) => accountOf(charges[k] as Charge))];
      const held = passes_over ? await heldAmong(rows, accounts) : NONE;
      // Always in the same order, so that two processes never wait for each other.
      for (const [account, members] of accounts.sort(([a], [b]) => (a < b ? -1 : 1))) {
        const own = members.map((k) => charges[k] as Charge);
        const taken = held.has(account)
          ? own.map(() => 'held' as const)
          : await takeAll(rows, parseAccount(account), own);
        members.forEach((k, i) => {
          outcomes[k] = taken[i] ?? 'over_cap';
        });
      }
      await write(
        rows,
        charges.filter((_, k) => outcomes[k] === 'charged'),
      );
      return outcomes;
    },
  };
}

/**
 * Takes charges back, each by a ledger row of its own that says why, in the month and on the day of the charge: every sum is
 * as if they had not been made. Those of a business that is gone went with it.
 */
export async function refundAll(
  rows: Transaction<Database>,
  charges: readonly Charge[],
  reason: string,
): Promise<void> {
  const accounts = [...Map.groupBy(charges, accountOf)].sort(([a], [b]) => (a < b ? -1 : 1));
  for (const [account, members] of accounts) {
    if (!(await giveBack(rows, parseAccount(account), sum(members)))) continue;
    for (const { credits, count, request_id, ...charge } of members)
      await addEntry(rows, {
        ...charge,
        calls: -1,
        count: -count,
        credits: -credits,
        reason,
        request_id: request_id === undefined ? null : refundId(request_id),
      });
  }
}

/** Request id in the row that takes a charge back. */
export function refundId(request_id: string): string {
  return `${request_id} refund`;
}

/**
 * Gives a charge back as a line of its own: an operation `<name>.refund` with a negative price, on the day of the charge, so that
 * no month ends below zero. What was charged stays as it was. That of a business that is gone went with it.
 */
export async function refundVisibly(rows: Transaction<Database>, charge: Charge, reason: string): Promise<void> {
  if (!(await giveBack(rows, parseAccount(accountOf(charge)), charge.credits))) return;
  const refund = { operation: `${charge.operation}.refund`, calls: 0, credits: -charge.credits };
  await addEntry(rows, { ...charge, ...refund, reason, request_id: null });
}

/** False when there is no such month: its business is gone. */
async function giveBack(rows: Transaction<Database>, { business_id, period }: Account, credits: number) {
  const { numUpdatedRows } = await rows
    .updateTable('periods')
    .set((eb) => ({ used: eb('used', '-', credits) }))
    .where('business_id', '=', business_id)
    .where('period', '=', period)
    .executeTakeFirst();
  return numUpdatedRows === 1n;
}

/** A row of the ledger that is no charge, and what it adds to the sums of its day. */
interface Entry extends Omit<Charge, 'request_id' | 'key_id'> {
  /** Null: an adjustment. */
  readonly key_id: string | null;
  readonly calls: number;
  readonly reason: string;
  readonly request_id: string | null;
}

/** Writes a row of the ledger, and adds it to its day. The month is the caller's. */
export async function addEntry(rows: Transaction<Database>, { at_ms, calls, ...entry }: Entry): Promise<void> {
  const { business_id, key_id, operation, count, credits } = entry;
  await rows
    .insertInto('ledger')
    .values({ ...entry, at: instant(at_ms) })
    .execute();
  const day = utcDate(at_ms);
  await usageUpsert(rows, { business_id, day, key_id: key_id ?? '', operation, calls, count, credits }).execute();
}

const NONE: ReadonlySet<string> = new Set();

/** Those of some months that another transaction holds. This one holds the others until it ends. */
async function heldAmong(
  rows: Transaction<Database>,
  accounts: readonly (readonly [account: string, ...unknown[]])[],
): Promise<ReadonlySet<string>> {
  const asked = JSON.stringify(accounts.map(([account]) => parseAccount(account)));
  const { rows: held } = await sql<Account>`
    with asked as (select * from jsonb_to_recordset(${asked}::jsonb) as each (business_id text, period text)),
      free as materialized (
        select business_id, period from periods join asked using (business_id, period) for update of periods skip locked
      )
    select business_id, period from periods join asked using (business_id, period)
    where (business_id, period) not in (select business_id, period from free)`.execute(rows);
  return new Set(held.map(({ business_id, period }) => `${business_id} ${period}`));
}

type Account = { readonly business_id: string; readonly period: string };

function accountOf({ business_id, at_ms }: Charge): string {
  return `${business_id} ${periodOf(at_ms)}`;
}

function parseAccount(account: string): Account {
  const [business_id = '', period = ''] = account.split(' ');
  return { business_id, period };
}

/** First and last day that a month may have, as text. */
export function daysOf(period: string): { readonly first: string; readonly last: string } {
  return { first: `${period}-01`, last: `${period}-31` };
}

/** A query for the keys of charges; the last key stands in the places left over. */
function bindKeys<Query>(
  queries: readonly ((rows: readonly Values[]) => Query)[],
  charges: readonly Charge[],
  values: Values,
): Query {
  const key_ids = [...new Set(charges.map(({ key_id }) => key_id))];
  const at = KEYS_IN_STATEMENT.findIndex((size) => size >= key_ids.length);
  const [query, size] = [queries[at], KEYS_IN_STATEMENT[at]];
  if (query === undefined) throw new TypeError(`charges of ${key_ids.length} keys, expected at most 256`);
  const last = key_ids.at(-1) ?? '';
  return query(Array.from({ length: size ?? 0 }, (_, k) => ({ ...values, key_id: key_ids[k] ?? last })));
}

function sum(charges: readonly Charge[]): number {
  return charges.reduce((total, { credits }) => total + credits, 0);
}

/** The charge: one statement that counts the credits if they fit. A business without a plan has no cap that they could fit under. */
function guardedUpdate(db: Kysely<Database>) {
  return db
    .updateTable('periods')
    .set((eb) => ({ used: eb('used', '+', param<number>('credits')), updated_at: param<string>('at') }))
    .where('business_id', '=', param<string>('business_id'))
    .where('period', '=', param<string>('period'))
    .where((eb) =>
      eb(
        eb('used', '+', param<number>('credits')),
        '<=',
        eb
          .selectFrom('plans')
          .select(({ fn }) => fn.coalesce('plans.cap', sql.lit(NO_CAP)).as('cap'))
          .whereRef('plans.business_id', '=', 'periods.business_id'),
      ),
    );
}

/** The charge of keys that have no cap of their own: nothing more than a look whether they have. */
function uncappedUpdate(db: Kysely<Database>, keys: number) {
  return guardedUpdate(db).where(({ not, exists }) => not(exists(cappedKeys(db, keys).select('keys.id'))));
}

/** Those of some keys that have a cap, with the first key of their rotation, which it lies on. */
function cappedKeys(db: Kysely<Database>, keys: number) {
  return db
    .selectFrom('keys')
    .innerJoin('keys as first_key', 'first_key.id', 'keys.rate_bucket')
    .where(
      'keys.id',
      'in',
      Array.from({ length: keys }, (_, row) => param<string>('key_id', row)),
    )
    .where('first_key.monthly_cap', 'is not', null);
}

interface KeyCap {
  readonly key_id: string;
  readonly rate_bucket: string;
  readonly monthly_cap: number | null;
  /** Credits that the keys of the rotation used in the month. */
  readonly used: number;
}

/** Caps of some keys. Read while the row of the month is held, so that the sums stand still. */
function keyCapSelect(db: Kysely<Database>, keys: number) {
  return cappedKeys(db, keys).select((eb) => [
    'keys.id as key_id',
    'keys.rate_bucket',
    'first_key.monthly_cap',
    eb.fn
      .coalesce(
        rotationUsage(db, param('first'), param('last')).where('member.rate_bucket', '=', eb.ref('keys.rate_bucket')),
        sql.lit(0),
      )
      .as('used'),
  ]);
}

/** Credits of keys in a month, by the sums of their days; the caller says of which rotation. */
export function rotationUsage(
  db: Kysely<Database>,
  first: RawBuilder<string> | string,
  last: RawBuilder<string> | string,
) {
  return db
    .selectFrom('keys as member')
    .innerJoin('usage', 'usage.key_id', 'member.id')
    .select(({ fn }) => fn.sum<number>('usage.credits').as('used'))
    .where('usage.day', '>=', first)
    .where('usage.day', '<=', last);
}

/** Keeps the row of a month from being changed until the transaction ends. */
function holding(db: Kysely<Database>, forUpdate: RawBuilder<unknown>) {
  return db
    .selectFrom('periods')
    .select('used')
    .where('business_id', '=', param<string>('business_id'))
    .where('period', '=', param<string>('period'))
    .modifyEnd(forUpdate);
}

/** The row of a month, for a business that is there and stays there until the transaction ends. */
function openingPeriod(db: Kysely<Database>, forKeyShare: RawBuilder<unknown>) {
  return db
    .insertInto('periods')
    .columns(['business_id', 'period', 'used', 'updated_at'])
    .expression((eb) =>
      eb
        .selectFrom('businesses')
        .select([
          'businesses.id',
          param<string>('period').as('period'),
          sql.lit(0).as('used'),
          param<string>('at').as('updated_at'),
        ])
        .where('businesses.id', '=', param<string>('business_id'))
        .modifyEnd(forKeyShare),
    )
    .onConflict((conflict) => conflict.doNothing());
}

function ledgerInsert(db: Kysely<Database>, size: number) {
  return db.insertInto('ledger').values(
    Array.from({ length: size }, (_, row) => ({
      business_id: param<string>('business_id', row),
      key_id: param<string>('key_id', row),
      operation: param<string>('operation', row),
      count: param<number>('count', row),
      credits: param<number>('credits', row),
      at: param<string>('at', row),
      request_id: param<string | null>('request_id', row),
    })),
  );
}

function ledgerRow({ business_id, key_id, operation, count, credits, at_ms, request_id }: Charge): Values {
  return { business_id, key_id, operation, count, credits, at: instant(at_ms), request_id: request_id ?? null };
}

const USAGE_PARAMS = {
  business_id: param<string>('business_id'),
  day: param<string>('day'),
  key_id: param<string>('key_id'),
  operation: param<string>('operation'),
  calls: param<number>('calls'),
  count: param<number>('count'),
  credits: param<number>('credits'),
};

/** Adds to the sums of a day. */
function usageUpsert(db: Kysely<Database>, values: Insertable<Database['usage']> | typeof USAGE_PARAMS) {
  return db
    .insertInto('usage')
    .values(values)
    .onConflict((conflict) =>
      conflict.columns(['business_id', 'day', 'key_id', 'operation']).doUpdateSet((eb) => ({
        calls: eb('usage.calls', '+', eb.ref('excluded.calls')),
        count: eb('usage.count', '+', eb.ref('excluded.count')),
        credits: eb('usage.credits', '+', eb.ref('excluded.credits')),
      })),
    );
}

/** One row for each business, day, key and operation. */
function sums(charges: readonly Charge[]): Iterable<Values> {
  const found = new Map<string, { [column: string]: string | number; calls: number; count: number; credits: number }>();
  for (const { business_id, key_id, operation, count, credits, at_ms } of charges) {
    const day = utcDate(at_ms);
    const name = `${business_id} ${day} ${key_id} ${operation}`;
    const sum = found.get(name) ?? { business_id, day, key_id, operation, calls: 0, count: 0, credits: 0 };
    sum.calls += 1;
    sum.count += count;
    sum.credits += credits;
    found.set(name, sum);
  }
  return found.values();
}
