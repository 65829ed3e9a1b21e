import { type Kysely, type RawBuilder, sql, type Transaction } from 'kysely';
import { utcDate } from '../../schemas/time.ts';
import { cappedKeys, createKeyCounting, forEachSize, keysAsRows, refundKeys } from '../accounts/key-caps.ts';
import type { Store } from '../store/database.ts';
import { instant } from '../store/instant.ts';
import { param, prepare, prepareRows, type Values } from '../store/prepare.ts';
import type { Charge, OverCap } from '../store/records.ts';
import type { Database } from '../store/schema.ts';

/** What became of a charge; `gone`: there is no such business any more. */
export type Charged = 'charged' | OverCap | 'gone';

/** Charges within a transaction. */
export interface Ledger {
  /** Charges each in order of arrival, as far as the caps allow; an outcome for each. What is over the cap changes nothing. */
  readonly chargeAll: (rows: Transaction<Database>, charges: readonly Charge[]) => Promise<readonly Charged[]>;
}

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
  const useUncapped = forEachSize((size) => prepareRows(uncappedUpdate(db, size)));
  const use = prepare(guardedUpdate(db));
  const hold = prepare(holding(db, forUpdate));
  const keys = createKeyCounting(db);
  const openPeriod = prepare(openingPeriod(db, forKeyShare));
  const ledger = LEDGER_CHUNKS.map((size) => ({ size, insert: prepareRows(ledgerInsert(db, size)) }));
  const raise = prepare(usageUpsert(db));

  /** True when the credits fitted under the cap and were counted. */
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
    const bound = keysAsRows([...new Set(charges.map(({ key_id }) => key_id))]);
    const query =
      bound &&
      useUncapped.get(bound.size)?.(bound.rows.map((row) => ({ ...account, credits: sum(charges), at, ...row })));
    if (!query) return false;
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
    // Held, so that what the keys used before stands still while it is counted.
    if ((await rows.executeQuery(hold(account))).rows.length === 0) return charges.map(() => 'gone');
    return await takeEach(rows, account, charges, await keys.families(rows, charges));
  }

  /** What each charge adds to the business and to its key, one after the other: what does not fit leaves the rest alone. */
  async function takeEach(
    rows: Transaction<Database>,
    account: Account,
    charges: readonly Charge[],
    families: ReadonlyMap<string, string>,
  ): Promise<readonly Charged[]> {
    const taken: Charged[] = [];
    for (const { credits, key_id, at_ms } of charges) {
      const family = families.get(key_id) ?? null;
      if (family !== null && !(await keys.take(rows, family, account, credits))) taken.push('over_key_cap');
      else if (await take(rows, account, credits, instant(at_ms))) taken.push('charged');
      else {
        if (family !== null) await keys.giveBack(rows, family, account.period, credits);
        taken.push('over_cap');
      }
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
    chargeAll: async (rows, charges) => {
      const outcomes: Charged[] = charges.map(() => 'over_cap');
      const accounts = [...Map.groupBy(charges.keys(), (k) => accountOf(charges[k] as Charge))];
      // Always in the same order, so that two processes never wait for each other.
      for (const [account, members] of accounts.sort(([a], [b]) => (a < b ? -1 : 1))) {
        const taken = await takeAll(
          rows,
          parseAccount(account),
          members.map((k) => charges[k] as Charge),
        );
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
    const { business_id, period } = parseAccount(account);
    const credits = sum(members);
    const { numUpdatedRows } = await rows
      .updateTable('periods')
      .set((eb) => ({ used: eb('used', '-', credits) }))
      .where('business_id', '=', business_id)
      .where('period', '=', period)
      .executeTakeFirst();
    if (numUpdatedRows !== 1n) continue;
    await refundKeys(rows, period, members);
    await writeRefunds(rows, members, reason);
  }
}

/**
 * Gives a charge back as a line of its own: an operation `<name>.refund` with a negative price, on the day of the charge, so that
 * no month ends below zero. What was charged stays as it was. That of a business that is gone went with it.
 */
export async function refundVisibly(rows: Transaction<Database>, charge: Charge, reason: string): Promise<void> {
  const { business_id, key_id, count, at_ms } = charge;
  const [operation, credits] = [`${charge.operation}.refund`, -charge.credits];
  const { numUpdatedRows } = await rows
    .updateTable('periods')
    .set((eb) => ({ used: eb('used', '+', credits) }))
    .where('business_id', '=', business_id)
    .where('period', '=', periodOf(at_ms))
    .executeTakeFirst();
  if (numUpdatedRows === 0n) return;
  await refundKeys(rows, periodOf(at_ms), [charge]);
  await rows
    .insertInto('ledger')
    .values({ business_id, key_id, operation, count, credits, at: instant(at_ms), reason })
    .execute();
  await rows
    .insertInto('usage')
    .values({ business_id, day: utcDate(at_ms), key_id, operation, calls: 0, count, credits })
    .onConflict((conflict) =>
      conflict.columns(['business_id', 'day', 'key_id', 'operation']).doUpdateSet((eb) => ({
        count: eb('usage.count', '+', eb.ref('excluded.count')),
        credits: eb('usage.credits', '+', eb.ref('excluded.credits')),
      })),
    )
    .execute();
}

async function writeRefunds(rows: Transaction<Database>, charges: readonly Charge[], reason: string): Promise<void> {
  for (const { business_id, key_id, operation, credits, count, at_ms } of charges) {
    await rows
      .insertInto('ledger')
      .values({ business_id, key_id, operation, count: -count, credits: -credits, at: instant(at_ms), reason })
      .execute();
    await rows
      .updateTable('usage')
      .set((eb) => ({
        calls: eb('calls', '-', 1),
        count: eb('count', '-', count),
        credits: eb('credits', '-', credits),
      }))
      .where('business_id', '=', business_id)
      .where('day', '=', utcDate(at_ms))
      .where('key_id', '=', key_id)
      .where('operation', '=', operation)
      .execute();
  }
}

type Account = { readonly business_id: string; readonly period: string };

function accountOf({ business_id, at_ms }: Charge): string {
  return `${business_id} ${periodOf(at_ms)}`;
}

function parseAccount(account: string): Account {
  const [business_id = '', period = ''] = account.split(' ');
  return { business_id, period };
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
  return guardedUpdate(db).where(({ not, exists }) => not(exists(cappedKeys(db, keys))));
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
    })),
  );
}

function ledgerRow({ business_id, key_id, operation, count, credits, at_ms }: Charge): Values {
  return { business_id, key_id, operation, count, credits, at: instant(at_ms) };
}

function usageUpsert(db: Kysely<Database>) {
  return db
    .insertInto('usage')
    .values({
      business_id: param<string>('business_id'),
      day: param<string>('day'),
      key_id: param<string>('key_id'),
      operation: param<string>('operation'),
      calls: param<number>('calls'),
      count: param<number>('count'),
      credits: param<number>('credits'),
    })
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
