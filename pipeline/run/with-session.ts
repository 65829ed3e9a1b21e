import type { Config } from '../config.ts';
import type { Log } from '../log.ts';
import { openRoot, type Root } from '../publish/root.ts';
import { startReadPool } from '../scans/read-pool.ts';
import { openSession, type Session } from '../scans/session.ts';
import { refreshDerived } from './refresh-derived.ts';

/** Parameters of a session for one piece of work; everything else is a setting. */
export interface SessionNeeds {
  /** Command named in the lock of the data root. */
  readonly holder: string;
  /** Threads that decode. */
  readonly threads: number;
  /** Raw files are moved out of where they were found, not copied. */
  readonly move_raw: boolean;
  readonly log: Log;
}

/** Opens the data root and a session on it for one piece of work, refreshes derived tables after it, and closes both in any case. */
export async function withSession<T>(
  config: Config,
  { holder, threads, move_raw, log }: SessionNeeds,
  work: (root: Root, session: Session) => Promise<T>,
): Promise<T> {
  const { data_root, storm_day_start_hour, now, raw_keep_days, reflectivity_keep_hours } = config;
  const root = await openRoot(data_root, holder, storm_day_start_hour, now());
  const readers = startReadPool(threads);
  try {
    const settings = { storm_day_start_hour, now, log, move_raw, raw_keep_days, reflectivity_keep_hours };
    const result = await work(root, openSession(root, readers, { ...settings, each_scan: false }));
    await refreshDerived(root, now(), log);
    return result;
  } finally {
    await readers.close();
    await root.close();
  }
}
