import { type Kysely, type RawBuilder, sql } from 'kysely';
import {
  BY_ADDRESS,
  BY_KEY,
  type FailedAttempts,
  guessed,
  type LockoutRule,
  lockout,
  MAX_ENTRIES,
} from '../http/lockout.ts';
import { SERVER_MS } from '../records/clock.ts';
import type { Store } from '../records/database.ts';
import { isOutage } from '../records/errors.ts';
import { param, prepare } from '../records/prepare.ts';
import type { Database } from '../records/schema.ts';
import { inRounds } from './rounds.ts';

/** How often rows that no longer count are removed: any client can add rows. */
const SWEEP_EVERY_MS = 60_000;
const KEPT_MS = Math.max(...[BY_ADDRESS, BY_KEY].flatMap(({ window_ms, lock_ms }) => [window_ms, lock_ms]));

/** What failed: rows of the table. */
interface Call {
  readonly address: string;
  /** Null: no key was named. */
  readonly key: string | null;
}

export interface SharedLockout extends FailedAttempts {
  readonly close: () => void;
}

/**
 * Failed attempts that all processes on a PostgreSQL count together, by the database's clock: of parallel guesses at any number
 * of processes exactly as many are tried as one process would allow. Attempts from one address take turns. It costs a statement for each
 * failed attempt, and nothing for a valid key. While the database is out of reach, this process counts alone.
 */
export function sharedLockout({ writer }: Pick<Store, 'writer'>): SharedLockout {
  const own = lockout(() => performance.now());
  const statement = prepare(failing(writer));
  let calls = 0;

  const record = inRounds<Call, number>({
    groupOf: () => String(calls++),
    rowsOf: rowsOf,
    run: async (groups) => {
      const failed = groups.map(([{ address, key }]) => ({ address, key }));
      const { rows } = await writer.executeQuery(statement({ failed: JSON.stringify(failed) }));
      const locked_ms = new Map(rows.map(({ name, locked_ms }) => [name, locked_ms]));
      return failed.map((call) => [Math.max(...rowsOf(call).map((name) => locked_ms.get(name) ?? 0))]);
    },
  });
  const sweeping = setInterval(() => void sweep(writer).catch(ignoreOutage), SWEEP_EVERY_MS).unref();

  return {
    attempt: async (address, keyText) => {
      try {
        return await record({
          address: `address ${address}`,
          key: keyText === null ? null : `key ${guessed(keyText)}`,
        });
      } catch (error) {
        ignoreOutage(error);
        return own.attempt(address, keyText);
      }
    },
    close: () => clearInterval(sweeping),
  };
}

function rowsOf({ address, key }: Call): readonly string[] {
  return key === null ? [address] : [address, key];
}

function ignoreOutage(error: unknown): void {
  if (!isOutage(error)) throw error;
}

/** Rows that were found locked, and for how long they still are. */
interface LockedRow {
  readonly name: string;
  readonly locked_ms: number;
}

/**
 * Records failures, unless their address or key is locked; returns the rows that are. Whether a row is locked is looked at again
 * once the statement holds it.
 */
function failing(db: Kysely<Database>) {
  const isLocked = sql`least(locked_until_ms, ${SERVER_MS} + ${sql.lit(KEPT_MS)}) = locked_until_ms and locked_until_ms > ${SERVER_MS}`;
  return {
    compile: () =>
      sql<LockedRow>`
      with failed as (
        select value ->> 'address' as address, value ->> 'key' as key from jsonb_array_elements(${param<string>('failed')}::jsonb)
      ), locked as (
        select name, locked_until_ms - ${SERVER_MS} as locked_ms from failed_attempts
        where name in (select address from failed union all select key from failed) and ${isLocked}
      ), open as (
        select * from failed
        where address not in (select name from locked) and coalesce(key, '') not in (select name from locked)
      ), addresses as (${recording(sql`address`, BY_ADDRESS)}), keys as (${recording(sql`key`, BY_KEY)})
      select name, locked_ms from locked
      union all select name, locked_until_ms - ${SERVER_MS} from addresses where refused = 1
      union all select name, locked_until_ms - ${SERVER_MS} from keys where refused = 1`.compile(db),
  };
}

/** Adds a failure to a row, and locks it with the last one that the rule allows. */
function recording(name: RawBuilder<unknown>, { attempts, window_ms, lock_ms }: LockoutRule): RawBuilder<unknown> {
  return sql`
    insert into failed_attempts as old (name, failures, locked_until_ms, refused, at_ms)
    select ${name}, ${SERVER_MS}::text, 0, 0, ${SERVER_MS} from open where ${name} is not null order by 1
    on conflict (name) do update set (failures, locked_until_ms, refused, at_ms) = (
      select
        case when found.is_locked then old.failures when found.is_last then '' else concat_ws(',', found.failures, now.ms) end,
        case when found.is_locked then old.locked_until_ms when found.is_last then now.ms + ${sql.lit(lock_ms)} else 0 end,
        found.is_locked::int, now.ms
      from (select ${SERVER_MS} as ms offset 0) as now,
        lateral (
          select old.locked_until_ms > now.ms and old.locked_until_ms <= now.ms + ${sql.lit(lock_ms)} as is_locked,
            count(*) + 1 >= ${sql.lit(attempts)} as is_last, string_agg(failed_ms, ',' order by place) as failures
          from unnest(string_to_array(old.failures, ',')) with ordinality as each (failed_ms, place)
          where failed_ms::bigint > now.ms - ${sql.lit(window_ms)}
        ) as found
    )
    returning name, locked_until_ms, refused`;
}

/** Removes rows that count no more, and the oldest where there are too many, locked ones last. */
async function sweep(db: Kysely<Database>): Promise<void> {
  await sql`
    delete from failed_attempts where name in (
      select name from failed_attempts where name in (
        (select name from failed_attempts where at_ms < ${SERVER_MS} - ${sql.lit(KEPT_MS)})
        union all
        (select name from failed_attempts order by locked_until_ms desc, at_ms desc offset ${sql.lit(2 * MAX_ENTRIES)})
      ) for update skip locked
    )`.execute(db);
}
