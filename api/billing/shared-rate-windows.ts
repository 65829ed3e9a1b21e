import { type Kysely, sql } from 'kysely';
import { boundedMap } from '../http/bounded-map.ts';
import { type Consumed, consumed, type RateWindows, rateWindows, WINDOW_MS } from '../http/rate-window.ts';
import { machineClock, SERVER_MS } from '../records/clock.ts';
import type { Store } from '../records/database.ts';
import { isOutage } from '../records/errors.ts';
import { param, prepare } from '../records/prepare.ts';
import type { Database } from '../records/schema.ts';
import { inRounds } from './rounds.ts';

/** Length of a time slot: requests of one slot are counted together, which bounds the row whatever the limit. */
export const SLOT_MS = 250;
/** Slots in which a request may still count: those of a minute, and the one that the minute began in. */
const SLOTS = WINDOW_MS / SLOT_MS + 1;
/** Windows that are known to be full. */
const FULL_KNOWN = 20_000;
const KEPT_MS = 3_600_000;

/** A request, or several of one moment. */
interface Call {
  readonly bucket: string;
  readonly limit: number;
}

/** A window as the database had it right after a statement. */
interface SharedWindow {
  readonly slot: number;
  /** Requests of each slot, newest first. */
  readonly counts: readonly number[];
  /** How many the statement admitted. */
  readonly admitted: number;
  /** The database's clock. */
  readonly now_ms: number;
}

interface WindowRow {
  readonly key_id: string;
  readonly slot: number;
  readonly counts: string;
  readonly admitted: number;
  readonly now_ms: number;
}

/**
 * Windows that all processes on a PostgreSQL share: at any moment at most `limit` requests of a bucket were admitted in the minute
 * before, by the database's clock, whichever processes they went to. Requests of one moment share a statement, which does not
 * wait for the disk: after a crash of the server at most the last half second of counts is missing. A request counts for the rest
 * of its time slot longer than a minute. What the last answer showed to be full until a certain time is refused without asking.
 *
 * While the database is out of reach, requests count in the windows of this process alone, and `report` is called once: nothing
 * that costs is answered then.
 */
export function sharedRateWindows(store: Pick<Store, 'writer'>, report: (line: string) => void): RateWindows {
  const own = rateWindows({ monotonic_ms: () => performance.now(), unix_ms: machineClock });
  /** Windows that admit nothing before a monotonic time. */
  const full = boundedMap<{ readonly limit: number; readonly window: SharedWindow; readonly seen_ms: number }>(
    FULL_KNOWN,
  );
  const statement = prepare(admitting(store.writer));
  let isOut = false;

  const ask = inRounds<Call, Consumed>({
    groupOf: ({ bucket, limit }) => `${bucket} ${limit}`,
    rowsOf: ({ bucket }) => [bucket],
    run: async (groups) => {
      const asked = groups.map(([{ bucket, limit }, ...others]) => ({ bucket, limit, count: others.length + 1 }));
      const { rows } = await store.writer.executeQuery(statement({ asked: JSON.stringify(asked) }));
      const seen_ms = performance.now();
      const found = new Map(rows.map((row) => [row.key_id, windowOf(row)]));
      return asked.map(({ bucket, limit, count }) => {
        const window = found.get(bucket) as SharedWindow;
        if (window.admitted < count) full.set(bucket, { limit, window, seen_ms });
        return Array.from({ length: count }, (_, k) => answerOf(window, limit, k));
      });
    },
  });

  /** Refuses without asking while nothing can have left a window that was full; null where that is not known. */
  function refusal({ bucket, limit }: Call): Consumed | null {
    const known = full.get(bucket);
    if (known === undefined || limit > known.limit) return null;
    const now_ms = known.window.now_ms + performance.now() - known.seen_ms;
    const window = { ...known.window, now_ms, admitted: 0 };
    if (nextIn_ms(window, limit) > 0) return answerOf(window, limit, 0);
    full.delete(bucket);
    return null;
  }

  async function shared(call: Call): Promise<Consumed> {
    try {
      const answer = await ask(call);
      if (isOut) report('records: the rates of keys are counted for all processes together again');
      isOut = false;
      return answer;
    } catch (error) {
      if (!isOutage(error)) throw error;
      if (!isOut) report(`records: rates are counted by this process alone (${error.message})`);
      isOut = true;
      return own.consume(call.bucket, call.limit);
    }
  }

  return { consume: (bucket, limit) => refusal({ bucket, limit }) ?? shared({ bucket, limit }) };
}

function windowOf({ slot, counts, admitted, now_ms }: WindowRow): SharedWindow {
  return { slot, counts: counts.split(',').map(Number), admitted, now_ms };
}

/** The answer to request number `place` of a statement: those that were admitted come first. */
function answerOf(window: SharedWindow, limit: number, place: number): Consumed {
  const { counts, admitted, now_ms } = window;
  const length = counts.reduce((sum, count) => sum + count, 0);
  const newest = counts.findIndex((count) => count > 0);
  return consumed({
    limit,
    length: place < admitted ? length - admitted + place + 1 : length,
    full_in_ms: newest === -1 ? 0 : leavesIn_ms(window, newest),
    next_in_ms: place < admitted ? null : nextIn_ms(window, limit),
    unix_ms: now_ms,
  });
}

/** Until a full window admits another request: until as many of the oldest have left as are too many. */
function nextIn_ms(window: SharedWindow, limit: number): number {
  let left = 0;
  const at = window.counts.findIndex((count) => {
    left += count;
    return left >= Math.max(1, limit);
  });
  return at === -1 ? 0 : leavesIn_ms(window, at);
}

/** Until the requests of a slot count no more. `at`: its place in `counts`. */
function leavesIn_ms({ slot, now_ms }: SharedWindow, at: number): number {
  return (slot - at + SLOTS) * SLOT_MS - now_ms;
}

/**
 * Counts requests, each row as far as its limit allows. Slots are moved to the clock once the row is locked. If the clock was set
 * back, the requests of later slots count as those of now.
 */
function admitting(db: Kysely<Database>) {
  const slot = sql`${SERVER_MS} / ${sql.lit(SLOT_MS)}`;
  const most = sql.lit(SLOTS);
  return {
    compile: () =>
      sql<WindowRow>`
      insert into rate_windows as old (key_id, slot, counts, admitted, rate_limit)
      select value ->> 'bucket', ${slot}, least((value ->> 'count')::int, (value ->> 'limit')::int)::text,
        least((value ->> 'count')::int, (value ->> 'limit')::int), (value ->> 'limit')::int
      from jsonb_array_elements(${param<string>('asked')}::jsonb),
        (select set_config('synchronous_commit', 'off', true) as commits) as setting
      where setting.commits = 'off'
      order by 1
      on conflict (key_id) do update set (slot, counts, admitted, rate_limit) = (
        select now.slot,
          regexp_replace(array_to_string(array[moved.counts[1] + room.taken] || moved.counts[2:], ','), '(,0)+$', ''),
          room.taken, excluded.rate_limit
        from (select ${slot} as slot offset 0) as now,
          lateral (
            select (array_fill(0, array[least(greatest(now.slot - old.slot, 0), ${most})::int])
              || string_to_array(old.counts, ',')::int[])[1:${most}] as counts offset 0
          ) as moved,
          lateral (
            select greatest(0, least(excluded.admitted,
              excluded.rate_limit - (select sum(count) from unnest(moved.counts) as count)))::int as taken offset 0
          ) as room
      )
      returning key_id, slot, counts, admitted, ${SERVER_MS} as now_ms`.compile(db),
  };
}

/** Removes windows that have been empty for an hour; returns how many. */
export async function sweepRateWindows(
  rows: Kysely<Database>,
  { kind, skipLocked }: Pick<Store, 'kind' | 'skipLocked'>,
  most: number,
) {
  if (kind === 'sqlite') return 0;
  const old = rows
    .selectFrom('rate_windows')
    .select('key_id')
    .where(sql<boolean>`slot < ${SERVER_MS} / ${sql.lit(SLOT_MS)} - ${sql.lit(KEPT_MS / SLOT_MS)}`)
    .limit(most)
    .modifyEnd(skipLocked);
  const { numDeletedRows } = await rows.deleteFrom('rate_windows').where('key_id', 'in', old).executeTakeFirst();
  return Number(numDeletedRows);
}
