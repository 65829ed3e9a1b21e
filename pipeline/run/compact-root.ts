import { monthOf } from '../../schemas/time.ts';
import type { Config } from '../config.ts';
import type { Log } from '../log.ts';
import { withSession } from './with-session.ts';

/** Result of compacting; `compact --json` prints it. */
export interface CompactReport {
  /** Storm dates that are closed now, those closed before included. */
  readonly closed_dates: number;
  readonly joined_months: readonly string[];
  readonly swept_files: number;
  readonly swept_bytes: number;
}

/** Finishes the dates of a data root, joins closed dates into months and sweeps files that no manifest names. */
export function compactRoot(config: Config, log: Log): Promise<CompactReport> {
  const needs = { holder: 'hail-pipeline compact', threads: 1, move_raw: false, log };
  return withSession(config, needs, async (root, session) => {
    await session.finishDates();
    const closed = [...root.heads.values()].filter((head) => head.closed).map((head) => head.partition);
    const joined: string[] = [];
    for (const month of new Set(closed.map(monthOf)))
      if (await root.compactMonth(month, config.now())) joined.push(month);
    await session.expireReflectivity();
    // Files carry the time of the machine's clock, not that of the data clock.
    const swept = await root.sweep(Date.now(), config.raw_keep_days);
    return {
      closed_dates: closed.length,
      joined_months: joined,
      swept_files: swept.files,
      swept_bytes: swept.bytes,
    };
  });
}
