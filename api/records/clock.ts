import { type RawBuilder, sql } from 'kysely';
import type { Store } from './database.ts';
import { isOutage } from './errors.ts';

/** The clock of PostgreSQL, epoch milliseconds; read anew at each use: a statement may have waited for another. */
export const SERVER_MS = sql<number>`floor(extract(epoch from clock_timestamp()) * 1000)::bigint`;

/** How often the clock of the server is read. */
const MEASURE_EVERY_MS = 10_000;
/** An answer that took longer says too little about the clock. */
const LONGEST_ANSWER_MS = 500;
/** Readings at the start, until one is quick. */
const FIRST_TRIES = 3;
/** Clocks that differ by less count as the same. */
const SAME_CLOCK_MS = 1_000;

/** Milliseconds from the machine's clock to that of the server, once there is a server to follow. */
let fromMachine_ms: () => number = () => 0;

/**
 * What the machine's clock is to be put forward by, milliseconds: the processes of one PostgreSQL have the clock of its server, however
 * far that of their machine is off, and also right after it was set. 0: they agree within a second, or the records are in SQLite.
 */
export function correction_ms(): number {
  const ahead_ms = fromMachine_ms();
  return Math.abs(ahead_ms) < SAME_CLOCK_MS ? 0 : Math.round(ahead_ms);
}

/** The machine's clock, corrected by that of the server, epoch milliseconds. */
export function machineClock(): number {
  return Date.now() + correction_ms();
}

/** The clock of leases within a statement: the server's on PostgreSQL, the machine's on SQLite. */
export function leaseClock({ kind }: Pick<Store, 'kind'>): RawBuilder<number> {
  return kind === 'postgres' ? SERVER_MS : sql<number>`cast(${Date.now()} as integer)`;
}

/**
 * Follows the clock of the server of a store from now on, and reports when the machine's clock begins or ceases to differ; the
 * returned function ends it. Between two readings the monotonic clock counts. While the server is out of reach, so it does.
 */
export async function followServerClock(
  { reader }: Pick<Store, 'reader'>,
  report: (line: string) => void,
): Promise<() => void> {
  let isOther = false;
  /** False when the answer took too long to say enough; it counts all the same where there is none yet and this is the `last` try. */
  const measure = async (last = false): Promise<boolean> => {
    const asked_ms = performance.now();
    const { rows } = await sql<{ now_ms: number }>`select ${SERVER_MS} as now_ms`.execute(reader);
    const answered_ms = performance.now();
    const [{ now_ms } = {}] = rows;
    if (now_ms === undefined || (answered_ms - asked_ms > LONGEST_ANSWER_MS && !last)) return false;
    const origin_ms = now_ms - (asked_ms + answered_ms) / 2;
    fromMachine_ms = () => origin_ms + performance.now() - Date.now();
    const correction = correction_ms();
    if (isOther !== (correction !== 0))
      report(
        correction === 0
          ? "records: this machine's clock agrees with that of the database"
          : `records: this machine's clock is ${Math.abs(correction / 1000)} s ${correction > 0 ? 'behind' : 'ahead of'} that of the database, which counts`,
      );
    isOther = correction !== 0;
    return true;
  };
  // Nothing is served before: the first answer of a busy server has a new connection to wait for.
  for (let tries = 1; !(await measure(tries === FIRST_TRIES)) && tries < FIRST_TRIES; tries++);
  const timer = setInterval(() => void measure().catch(keepLast), MEASURE_EVERY_MS).unref();
  return () => {
    clearInterval(timer);
    fromMachine_ms = () => 0;
  };
}

function keepLast(error: unknown): void {
  if (!isOutage(error)) throw error;
}
