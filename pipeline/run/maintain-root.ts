import { monthOf } from '../../schemas/time.ts';
import type { Config } from '../config.ts';
import { NotFound } from '../error.ts';
import type { Log } from '../log.ts';
import type { RunSummary } from '../scans/ingest.ts';
import { withSession } from './with-root.ts';

export interface RebuildRequest {
  readonly storm_date: string;
  readonly threads: number;
  readonly log: Log;
}

/** Makes every scan of a storm date again from the archive and finishes the date; NotFound when it has no published scan. */
export function rebuildDate(config: Config, { storm_date, threads, log }: RebuildRequest): Promise<RunSummary> {
  return withSession(config, { command: 'rebuild', threads, move_raw: false, log }, async (root, session) => {
    if ((root.heads.get(storm_date)?.scan_count ?? 0) === 0)
      throw new NotFound('rebuild', storm_date, `has no published scans under ${config.data_root}`);
    const run = await session.rebuild(storm_date);
    await session.finishDates();
    return run;
  });
}

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
  return withSession(config, { command: 'compact', threads: 1, move_raw: false, log }, async (root, session) => {
    await session.finishDates();
    const closed = [...root.heads.values()].filter((head) => head.closed).map((head) => head.partition);
    const joined_months: string[] = [];
    for (const month of new Set(closed.map(monthOf))) if (await session.joinMonth(month)) joined_months.push(month);
    await session.expireReflectivity();
    const { files, bytes } = await session.sweep();
    return { closed_dates: closed.length, joined_months, swept_files: files, swept_bytes: bytes };
  });
}
