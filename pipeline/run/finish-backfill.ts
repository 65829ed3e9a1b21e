import { isDatabaseAway, openDateTasks } from '../cluster/date-tasks.ts';
import type { Config } from '../config.ts';
import type { Log } from '../log.ts';
import type { Root } from '../publish/root.ts';
import type { Session } from '../scans/session.ts';
import { renewClimatology } from './ingest-source.ts';
import { refreshDerived } from './refresh-derived.ts';
import { requireCluster } from './require-cluster.ts';

/** The store is asked this often for dates that workers have pushed. */
const TAKE_EVERY_MS = 5_000;

/**
 * Makes what follows from the dates of a backfill: closed dates, joined months, climatology and the tables that are made from it. What is
 * made already costs a look. False when `isPressed` ended it.
 */
export async function finishBackfill(
  config: Config,
  { root, session }: { readonly root: Root; readonly session: Session },
  log: Log,
  isPressed: () => boolean = () => false,
): Promise<boolean> {
  if (!(await session.finishDates(isPressed))) return false;
  await renewClimatology(root, config.now(), log);
  await refreshDerived(root, config.now(), log);
  return true;
}

/** A stream that leads, as it meets the dates of a backfill. */
export interface LeaderTurn {
  readonly root: Root;
  readonly session: Session;
  /** True when a scan waits. */
  readonly isPressed: () => boolean;
}

/**
 * Lets the stream that leads a store follow the workers of backfills. The function is called between two operations and takes one date
 * at a time; it returns true when it took one, so that what the session remembers is read again. When no date is left to make, it does
 * what follows from them, once; and once for a new leader, as the one before may have been killed.
 */
export function openPushedDates(config: Config, log: Log): (turn: LeaderTurn) => Promise<boolean> {
  const { database_url, address } = requireCluster(config);
  let is_unfinished = true;
  let next_ms = 0;
  /** Null while the database is out of reach; the lease depends on it, too. */
  const countOpen = async (): Promise<number | null> => {
    try {
      const tasks = await openDateTasks(database_url, address.url);
      return await tasks.countOpen().finally(tasks.close);
    } catch (error) {
      if (!isDatabaseAway(error)) throw error;
      log.warn('Backfill:Tasks:Failed', { reason: error.message });
      return null;
    }
  };
  return async ({ root, session, isPressed }) => {
    if (isPressed() || performance.now() < next_ms) return false;
    // Counted before the store is asked: a date is done after it was pushed.
    const is_over = is_unfinished && (await countOpen()) === 0;
    if ((await root.takePushed(config.now())) !== null) {
      is_unfinished = true;
      return true;
    }
    next_ms = performance.now() + TAKE_EVERY_MS;
    if (is_over && (await finishBackfill(config, { root, session }, log, isPressed))) is_unfinished = false;
    return false;
  };
}
