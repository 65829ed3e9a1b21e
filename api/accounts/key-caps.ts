import { type Kysely, type Selectable, sql, type Transaction } from 'kysely';
import { recordAct } from '../store/audit.ts';
import type { Store } from '../store/database.ts';
import { param, prepare, prepareRows } from '../store/prepare.ts';
import type { Charge } from '../store/records.ts';
import type { Database } from '../store/schema.ts';

/**
 * The cap of a key holds for all keys of its rotation together. They share a rate bucket, the id of the first of them: under it
 * lies the cap, and the credits that they used in a month are counted. A month is counted from the moment at which somebody is
 * charged under the cap in it, beginning with what the keys had used until then.
 */
type Family = string;

/** Numbers of keys that one statement takes: few statements to keep prepared. The last stands in the places left over. */
const KEYS_IN_STATEMENT = [1, 4, 16, 64, 256] as const;

/** Rows that bind the ids of at most so many keys to a statement of one of these sizes; null when they are too many. */
export function keysAsRows(
  key_ids: readonly string[],
): { readonly size: number; readonly rows: readonly { key_id: string }[] } | null {
  const size = KEYS_IN_STATEMENT.find((each) => each >= key_ids.length);
  if (size === undefined) return null;
  const last = key_ids.at(-1) ?? '';
  return { size, rows: Array.from({ length: size }, (_, k) => ({ key_id: key_ids[k] ?? last })) };
}

/** A statement for each number of keys. */
export function forEachSize<Prepared>(make: (size: number) => Prepared): ReadonlyMap<number, Prepared> {
  return new Map(KEYS_IN_STATEMENT.map((size) => [size, make(size)]));
}

/** Those of `size` keys that have a cap, and the families that it lies under. */
export function cappedKeys(db: Kysely<Database>, size: number) {
  return db
    .selectFrom('keys')
    .innerJoin('key_rules', 'key_rules.key_id', 'keys.rate_bucket')
    .select(['keys.id', 'keys.rate_bucket'])
    .where(
      'keys.id',
      'in',
      Array.from({ length: size }, (_, row) => param<string>('key_id', row)),
    )
    .where('key_rules.monthly_cap', 'is not', null);
}

/** Counts credits under the caps of keys, within a transaction that holds the row of the month of their business. */
export interface KeyCounting {
  /** Families of the keys that have a cap, by key. */
  readonly families: (rows: Transaction<Database>, charges: readonly Charge[]) => Promise<ReadonlyMap<string, Family>>;
  /** True when the credits fitted under the cap and were counted. */
  readonly take: (rows: Transaction<Database>, family: Family, month: Month, credits: number) => Promise<boolean>;
  readonly giveBack: (rows: Transaction<Database>, family: Family, period: string, credits: number) => Promise<void>;
}

/** A month of a business. */
export type Month = { readonly business_id: string; readonly period: string };

export function createKeyCounting(db: Kysely<Database>): KeyCounting {
  const capped = forEachSize((size) => prepareRows(cappedKeys(db, size)));
  const use = prepare(guardedUpdate(db));
  const open = prepare(opening(db));

  return {
    families: async (rows, charges) => {
      const found = new Map<string, Family>();
      const key_ids = [...new Set(charges.map(({ key_id }) => key_id))];
      const largest = KEYS_IN_STATEMENT.at(-1) as number;
      for (let from = 0; from < key_ids.length; from += largest) {
        const bound = keysAsRows(key_ids.slice(from, from + largest));
        const query = bound && capped.get(bound.size)?.(bound.rows);
        if (!query) continue;
        for (const { id, rate_bucket } of (await rows.executeQuery(query)).rows) found.set(id, rate_bucket);
      }
      return found;
    },
    take: async (rows, key_id, month, credits) => {
      const { period } = month;
      const taken = async () => (await rows.executeQuery(use({ key_id, period, credits }))).numAffectedRows === 1n;
      if (await taken()) return true;
      const { numAffectedRows } = await rows.executeQuery(open({ key_id, ...month, ...daysOf(period) }));
      return numAffectedRows === 1n && (await taken());
    },
    giveBack: async (rows, family, period, credits) => {
      await rows
        .updateTable('key_periods')
        .set((eb) => ({ used: eb('used', '-', credits) }))
        .where('key_id', '=', family)
        .where('period', '=', period)
        .execute();
    },
  };
}

/**
 * Gives credits that are refunded back to the keys as well, where they are counted under a cap. The transaction holds the row of
 * the month.
 */
export async function refundKeys(
  rows: Transaction<Database>,
  period: string,
  charges: readonly Charge[],
): Promise<void> {
  for (const { key_id, credits } of charges)
    await rows
      .updateTable('key_periods')
      .set((eb) => ({ used: eb('used', '-', credits) }))
      .where('key_id', '=', (eb) => eb.selectFrom('keys').select('rate_bucket').where('id', '=', key_id))
      .where('period', '=', period)
      .execute();
}

/** Caps of a business's keys, by the rate bucket that the keys of a rotation share. */
export async function keyCaps(rows: Kysely<Database>, business_id: string): Promise<ReadonlyMap<Family, number>> {
  const found = await rows
    .selectFrom('key_rules')
    .innerJoin('keys', 'keys.id', 'key_rules.key_id')
    .select(['key_rules.key_id', 'key_rules.monthly_cap'])
    .where('keys.business_id', '=', business_id)
    .where('key_rules.monthly_cap', 'is not', null)
    .execute();
  return new Map(found.flatMap(({ key_id, monthly_cap }) => (monthly_cap === null ? [] : [[key_id, monthly_cap]])));
}

/** Credits that a key and those of its rotation used in a month. */
export async function usedByKey(
  reader: Kysely<Database>,
  family: Family,
  { business_id, period }: Month,
): Promise<number> {
  const counted = await reader
    .selectFrom('key_periods')
    .select('used')
    .where('key_id', '=', family)
    .where('period', '=', period)
    .executeTakeFirst();
  if (counted !== undefined) return counted.used;
  const { first, last } = daysOf(period);
  const { used } = await reader
    .selectFrom('usage')
    .select(({ fn }) => fn.sum<number | null>('credits').as('used'))
    .where('business_id', '=', business_id)
    .where('day', '>=', first)
    .where('day', '<=', last)
    .where('key_id', 'in', (eb) => eb.selectFrom('keys').select('id').where('rate_bucket', '=', family))
    .executeTakeFirstOrThrow();
  return used ?? 0;
}

/**
 * Sets the cap of a key and of those of its rotation, null for none; false when it was so. Charges under way end first, and
 * those that begin meanwhile wait: none is counted by the old rule after the new one is in force.
 */
export async function setKeyCap(
  rows: Transaction<Database>,
  { lockCharges }: Pick<Store, 'lockCharges'>,
  { id, business_id, rate_bucket }: Pick<Selectable<Database['keys']>, 'id' | 'business_id' | 'rate_bucket'>,
  monthly_cap: number | null,
  now_ms: number,
): Promise<boolean> {
  await lockCharges(rows);
  const before = (await keyCaps(rows, business_id)).get(rate_bucket) ?? null;
  if (before === monthly_cap) return false;
  await rows
    .insertInto('key_rules')
    .values({ key_id: rate_bucket, variant: 'current', monthly_cap })
    .onConflict((conflict) => conflict.column('key_id').doUpdateSet({ monthly_cap }))
    .execute();
  // Without a cap nothing is counted, so that what was would soon be wrong.
  if (monthly_cap === null) await rows.deleteFrom('key_periods').where('key_id', '=', rate_bucket).execute();
  await recordAct(rows, now_ms, { act: 'key.limit', business_id, subject: id, detail: { before, after: monthly_cap } });
  return true;
}

/** First and last day that a month may have, as text. */
export function daysOf(period: string): { readonly first: string; readonly last: string } {
  return { first: `${period}-01`, last: `${period}-31` };
}

function guardedUpdate(db: Kysely<Database>) {
  return db
    .updateTable('key_periods')
    .set((eb) => ({ used: eb('used', '+', param<number>('credits')) }))
    .where('key_id', '=', param<string>('key_id'))
    .where('period', '=', param<string>('period'))
    .where((eb) =>
      eb(
        eb('used', '+', param<number>('credits')),
        '<=',
        eb.selectFrom('key_rules').select('monthly_cap').whereRef('key_rules.key_id', '=', 'key_periods.key_id'),
      ),
    );
}

/** The row of a month: what the keys used in it so far, by the sums of their days. */
function opening(db: Kysely<Database>) {
  return db
    .insertInto('key_periods')
    .columns(['key_id', 'period', 'used'])
    .expression((eb) =>
      eb
        .selectFrom('key_rules')
        .select([
          'key_rules.key_id',
          param<string>('period').as('period'),
          (of) =>
            of
              .selectFrom('usage')
              .select(({ fn }) => fn.coalesce(fn.sum<number>('usage.credits'), sql.lit(0)).as('used'))
              .where('usage.business_id', '=', param<string>('business_id'))
              .where('usage.day', '>=', param<string>('first'))
              .where('usage.day', '<=', param<string>('last'))
              .where('usage.key_id', 'in', (keys) =>
                keys.selectFrom('keys').select('keys.id').where('keys.rate_bucket', '=', param<string>('key_id')),
              )
              .as('used'),
        ])
        .where('key_rules.key_id', '=', param<string>('key_id'))
        .where('key_rules.monthly_cap', 'is not', null),
    )
    .onConflict((conflict) => conflict.doNothing());
}
