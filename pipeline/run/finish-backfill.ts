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
  /** Tasks of the store; null while the database is out of reach, which the lease depends on, too. */
  const countTasks = async () => {
    try {
      const tasks = await openDateTasks(database_url, address.url);
      return await tasks.count().finally(tasks.close);
    } catch (error) {
      if (!isDatabaseAway(error)) throw error;
      log.warn('Backfill:Tasks:Failed', { reason: error.message });
      return null;
    }
  };
  return async ({ root, session, isPressed }) => {
    if (isPressed() || performance.now() < next_ms) return false;
    // Counted before the store is asked: a date is done after it was pushed.
    const tasks = is_unfinished ? await countTasks() : null;
    if ((await root.takePushed(config.now())) !== null) {
      is_unfinished = true;
      return true;
    }
    next_ms = performance.now() + TAKE_EVERY_MS;
    if (tasks?.open !== 0) return false;
    is_unfinished = tasks.all > 0 && !(await finishBackfill(config, { root, session }, log, isPressed));
    return false;
  };
}
