import { datesThrough, monthOf } from '../../schemas/time.ts';
import type { Config } from '../config.ts';
import { DiskRefusal, RootLost } from '../error.ts';
import type { Log } from '../log.ts';
import { backfillDate, type DateOutcome, type OpenSession } from './backfill-date.ts';
import { renewClimatology } from './ingest-source.ts';
import type { BackfillSource } from './storm-date-files.ts';
import { withSession } from './with-root.ts';

export interface BackfillRequest {
  readonly source: BackfillSource;
  /** First and last storm date. */
  readonly from: string;
  readonly to: string;
  readonly threads: number;
  readonly log: Log;
  /** Ends the run between two dates; the next run goes on. */
  readonly signal?: AbortSignal;
}

/** Result of a backfill; `backfill --json` prints it. */
export interface BackfillReport {
  readonly dates: readonly DateOutcome[];
  readonly scans: number;
  readonly seconds: number;
}

/**
 * Publishes the storm dates of a range, one after the other, in the data root. A run that was killed goes on where it
 * ended. A date that fails costs itself only: the others are made, and the next run tries it again.
 */
export function backfillRoot(config: Config, request: BackfillRequest): Promise<BackfillReport> {
  const { source, from, to, threads, log, signal } = request;
  const dates = datesThrough(from, to);
  const needs = { command: 'backfill', threads, move_raw: source.kind === 'noaa', log };
  return withSession(config, needs, async (root, session) => {
    const begun_ms = performance.now();
    const seconds = () => (performance.now() - begun_ms) / 1000;
    const done: DateOutcome[] = [];
    for (const date of dates) {
      if (signal?.aborted) break;
      const outcome = await tryDate(config, source, date, { root, session, log });
      done.push(outcome);
      const { status, scans, reason } = outcome;
      const eta_s = Math.round((seconds() / done.length) * (dates.length - done.length));
      const figures = { date, status, scans, seconds: outcome.seconds, done: done.length, of: dates.length, eta_s };
      if (reason === null) log.info('Backfill:Date:Done', figures);
      else log.warn('Backfill:Date:Failed', { ...figures, reason });
      log.progress('storm dates', done.length, dates.length);
      // A month is joined once, however many of its dates are made.
      const next = dates[done.length];
      if (next === undefined || monthOf(next) !== monthOf(date)) await session.joinMonth(monthOf(date));
    }
    await renewClimatology(root, config.now(), log);
    await session.sweep();
    return { dates: done, scans: done.reduce((sum, { scans }) => sum + scans, 0), seconds: Math.round(seconds()) };
  });
}

/** Outcome of a date; a failure of the data root or the disk concerns all dates and is thrown. */
async function tryDate(
  config: Config,
  source: BackfillSource,
  storm_date: string,
  open: OpenSession,
): Promise<DateOutcome> {
  const begun_ms = performance.now();
  try {
    return await backfillDate(config, source, storm_date, open);
  } catch (error) {
    if (error instanceof RootLost || error instanceof DiskRefusal || !(error instanceof Error)) throw error;
    const seconds = Math.round((performance.now() - begun_ms) / 100) / 10;
    return { storm_date, status: 'failed', scans: 0, rejected: 0, missing: 0, seconds, reason: error.message };
  }
}
