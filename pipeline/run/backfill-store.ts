import { layout } from '../../schemas/layout.ts';
import { openObjectStore } from '../../schemas/object-store/client.ts';
import { addDays, datesThrough } from '../../schemas/time.ts';
import { type DateTasks, openDateTasks, type TaskRow } from '../cluster/date-tasks.ts';
import type { Config } from '../config.ts';
import { Conflict } from '../error.ts';
import type { Log } from '../log.ts';
import { readText } from '../replica/stored.ts';
import { pause } from '../sources/http.ts';
import type { BackfillReport, BackfillRequest } from './backfill.ts';
import type { DateOutcome } from './backfill-date.ts';
import { finishBackfill } from './finish-backfill.ts';
import { requireCluster } from './require-cluster.ts';
import { isOfSurroundings } from './surroundings.ts';
import { withRoot, withSession } from './with-root.ts';

const LOOK_EVERY_MS = 2_000;

/**
 * Adds the storm dates of a range to the tasks of the workers, shows what becomes of them, and joins months when all are done. It may be
 * stopped and started again: the workers go on. A database or store that is away is waited for. With `again`, dates that are done are made once more.
 */
export async function backfillStore(
  config: Config,
  request: BackfillRequest & { readonly again: boolean },
): Promise<BackfillReport> {
  const { source, from, to, threads, log, signal, again } = request;
  const { database_url, address } = requireCluster(config);
  // The first root of an empty store is named here: workers make only dates.
  if ((await readText(openObjectStore(address), layout.root)) === null)
    await withRoot(config, 'backfill', async () => {}, log);
  const tasks = await openDateTasks(database_url, address.url);
  const begun_ms = performance.now();
  try {
    const dates = datesThrough(from, to);
    await tasks.add(dates, source, again);
    const first = (await tasks.list(from, to)).filter(isOver).length;
    let rows: TaskRow[] = [];
    for (let shown = -1; !signal?.aborted; ) {
      let isMade: boolean;
      try {
        rows = await tasks.list(from, to);
        // The database has failed over without some: they are added again.
        if (rows.length < dates.length) await tasks.add(dates, source, false);
        isMade = rows.filter(isOver).length === dates.length && !(await isJoining(tasks, to));
      } catch (error) {
        if (!isOfSurroundings(error)) throw error;
        log.warn('Backfill:Wait:Begin', { reason: error.message, seconds: LOOK_EVERY_MS / 1000 });
        await pause(LOOK_EVERY_MS, signal);
        continue;
      }
      const done = rows.filter(isOver).length;
      if (done !== shown) logProgress(log, rows, done - first, performance.now() - begun_ms);
      shown = done;
      if (isMade) break;
      await pause(LOOK_EVERY_MS, signal);
    }
    if (!signal?.aborted) await finishStore(config, threads, log);
    const outcomes = rows.map(outcomeOf);
    const scans = outcomes.reduce((sum, date) => sum + date.scans, 0);
    return { dates: outcomes, scans, seconds: Math.round((performance.now() - begun_ms) / 1000) };
  } finally {
    await tasks.close();
  }
}

const isOver = ({ status }: TaskRow) => status === 'done' || status === 'failed';

/** True while a date after the range is made again, because its tracks go on from the last one of it. */
async function isJoining(tasks: DateTasks, to: string): Promise<boolean> {
  const next = addDays(to, 1);
  const [row] = await tasks.list(next, next);
  return row !== undefined && (isOver(row) ? row.status === 'done' && (await isJoining(tasks, next)) : true);
}

/** Says how far the dates are. `fresh`: those that ended in `ms`, from which the rest is estimated. */
function logProgress(log: Log, rows: readonly TaskRow[], fresh: number, ms: number): void {
  const count = (status: TaskRow['status']) => rows.filter((row) => row.status === status).length;
  const left = count('waiting') + count('running');
  const scans = rows.reduce((sum, row) => sum + (row.scans ?? 0), 0);
  log.info('Backfill:Dates:Progress', {
    ...{ done: count('done'), failed: count('failed'), running: count('running'), of: rows.length, scans },
    eta_s: fresh <= 0 ? null : Math.round((ms / 1000 / fresh) * left),
  });
  log.progress('storm dates', rows.length - left, rows.length);
}

function outcomeOf({ storm_date, status, scans, seconds, rejected, missing, reason }: TaskRow): DateOutcome {
  const is_done = status === 'done';
  const counts = { scans: scans ?? 0, rejected: rejected ?? 0, missing: missing ?? 0, seconds: seconds ?? 0 };
  const shown = is_done ? (counts.scans === 0 ? 'empty' : 'done') : status === 'failed' ? 'failed' : 'open';
  return { storm_date, status: shown, ...counts, reason: is_done ? null : reason };
}

/** Makes what follows from the dates; where a stream leads, it takes the dates and does so. */
async function finishStore(config: Config, threads: number, log: Log): Promise<void> {
  try {
    await withSession(config, { command: 'backfill', threads, move_raw: false, log }, async (root, session) => {
      await finishBackfill(config, { root, session }, log);
      await session.sweep();
    });
  } catch (error) {
    if (!(error instanceof Conflict)) throw error;
    log.info('Backfill:Finish:Postponed', { reason: error.message, note: 'the stream that leads does it' });
  }
}
