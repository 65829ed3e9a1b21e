import type { Config } from '../config.ts';
import { NotFound } from '../error.ts';
import type { Log } from '../log.ts';
import type { RunSummary } from '../scans/ingest-run.ts';
import { withSession } from './with-session.ts';

export interface RebuildRequest {
  readonly storm_date: string;
  /** Threads that decode. */
  readonly threads: number;
  readonly log: Log;
}

/** Makes every scan of a storm date again from the archive and finishes the date; NotFound when it has no published scan. */
export function rebuildDate(config: Config, { storm_date, threads, log }: RebuildRequest): Promise<RunSummary> {
  const needs = { holder: 'hail-pipeline rebuild', threads, move_raw: false, log };
  return withSession(config, needs, async (root, session) => {
    if ((root.heads.get(storm_date)?.scan_count ?? 0) === 0)
      throw new NotFound('rebuild', storm_date, `has no published scans under ${config.data_root}`);
    const run = await session.rebuild(storm_date);
    await session.finishDates();
    return run;
  });
}
