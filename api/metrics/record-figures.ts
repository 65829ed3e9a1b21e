import type { Kysely } from 'kysely';
import type { Database } from '../records/schema.ts';

/** Most rows that are counted: calls wait for the one connection of SQLite meanwhile. */
export const COUNTED_MAX = 5_000;

/** Numbers of the shared records. Times are epoch milliseconds of the machine's clock, or of the data clock for jobs. */
export interface RecordFigures {
  readonly pending: number;
  /** When the longest due event was due; null: none waits for an attempt. */
  readonly next_at_ms: number | null;
  readonly jobs: Readonly<Record<'report' | 'export', { readonly waiting: number; readonly running: number }>>;
  /** When the oldest waiting job was accepted; null: none waits. */
  readonly waiting_since_ms: number | null;
  readonly open_alerts: number;
}

/** A few short statements over indexes, one after the other. Throws RecordsUnavailable. */
export async function readRecordFigures(rows: Kysely<Database>): Promise<RecordFigures> {
  const { pending } = await rows
    .selectFrom((eb) =>
      eb
        .selectFrom('messages')
        .select('state')
        .where('state', 'in', ['pending', 'waiting'])
        .limit(COUNTED_MAX)
        .as('some'),
    )
    .select(({ fn }) => fn.countAll<number>().as('pending'))
    .executeTakeFirstOrThrow();
  const next = await rows
    .selectFrom('messages')
    .select('next_at')
    .where('state', '=', 'pending')
    .where('next_at', 'is not', null)
    .orderBy('next_at')
    .limit(1)
    .executeTakeFirst();
  const jobs = await rows
    .selectFrom('jobs')
    .select(['kind', 'started_at', 'created_at'])
    .where('status', '=', 'pending')
    .orderBy('id')
    .limit(COUNTED_MAX)
    .execute();
  const { open_alerts } = await rows
    .selectFrom((eb) =>
      eb
        .selectFrom('alerts')
        .select('open_location')
        .where('open_location', 'is not', null)
        .limit(COUNTED_MAX)
        .as('some'),
    )
    .select(({ fn }) => fn.countAll<number>().as('open_alerts'))
    .executeTakeFirstOrThrow();
  const count = (kind: 'report' | 'export') => {
    const own = jobs.filter((job) => job.kind === kind);
    const running = own.filter(({ started_at }) => started_at !== null).length;
    return { waiting: own.length - running, running };
  };
  const waiting_ms = jobs.flatMap(({ started_at, created_at }) =>
    started_at === null ? [Date.parse(created_at)] : [],
  );
  return {
    pending: Number(pending),
    next_at_ms: next?.next_at ? Date.parse(next.next_at) : null,
    jobs: { report: count('report'), export: count('export') },
    waiting_since_ms: waiting_ms.length === 0 ? null : Math.min(...waiting_ms),
    open_alerts: Number(open_alerts),
  };
}
