import { addDays, MS_PER_HOUR, monthOf, stormDateStart, utcDate } from '../../schemas/time.ts';
import { clearDate, deriveDate, expireReflectivity, isDerivationDue } from '../publish/commit-dates.ts';
import { compactDay, compactHours, compactMonth } from '../publish/compact.ts';
import type { Root } from '../publish/root.ts';
import { type Swept, sweepRoot } from '../publish/sweep.ts';
import type { SourceFile } from '../sources/names.ts';
import { type Context, ingestFiles } from './ingest.ts';
import { mostStated, nothingKnown, provenancesByDate, type SessionSettings } from './raw-archive.ts';
import type { ReadPool } from './read.ts';
import { emptyTrackingState } from './state.ts';

/** Closed dates of the running month are joined once there are this many: a query over a year opens a file for each of them. */
const JOIN_RUNNING_AFTER = 7;
/** A storm date is closed once the data clock is this far past its end. */
const CLOSE_AFTER_MS = MS_PER_HOUR;

/** Publishes raw files in a data root: plans, reads ahead, processes in order, publishes. */
export type Session = ReturnType<typeof openSession>;

/** Opens a session on a root; one at a time. */
export function openSession(root: Root, readPool: ReadPool, settings: SessionSettings) {
  const known = { dry_run: false, tracking: emptyTrackingState, terrain: undefined, ...nothingKnown() };
  const context: Context = { root, readPool, settings, ...known };
  return {
    root,
    /** Brings the root up to date with these files and everything archived before. */
    ingest: (files: readonly SourceFile[]) => ingestFiles(context, files),
    /** True once a run has processed scans. */
    hasRun: () => context.tracking.scan_time !== null,
    /** Makes every scan of a storm date again from the archived raw files. */
    rebuild: (storm_date: string) => ingestFiles(context, [], storm_date),
    /** Unpublishes the storm dates of these files that hold data of the other provenance. */
    replace: (files: readonly SourceFile[]) => replaceOtherProvenance(context, files),
    /**
     * Draws the tiers, event day and daily archive of open dates, joins finished hours, and turns dates that are over into day
     * files. Stops between two dates when `isPressed` returns true; returns true when nothing is left.
     */
    finishDates: (isPressed = () => false) => finishDates(context, isPressed),
    /** Turns a storm date into day files when it is over; false when it is not over or closed already. */
    closeDate: (storm_date: string) => closeDate(context, storm_date),
    /** Joins the closed dates of a month; false when none closed or changed since the last time. */
    joinMonth: (month: string) => joinMonth(context, month),
    /** Unpublishes reflectivity past its retention time, and deletes unnamed files and raw files past theirs. */
    sweep: async (): Promise<Swept> => {
      await expireReflectivity(root, settings.reflectivity_keep_hours, settings.now());
      // Files carry the time of the machine's clock, not that of the data clock.
      const swept = await sweepRoot(root, Date.now(), settings.raw_keep_days);
      settings.log.info('Root:Sweep:Done', { files: swept.files, bytes: swept.bytes });
      return swept;
    },
  };
}

async function replaceOtherProvenance(context: Context, files: readonly SourceFile[]): Promise<void> {
  const { root, settings } = context;
  for (const [date, stated] of await provenancesByDate(context, files)) {
    const provenance = mostStated(stated);
    const head = root.heads.get(date);
    if (head === undefined || head.scans.count === 0 || head.source === provenance) continue;
    await clearDate(root, date, settings.now());
    context.provenances.set(date, provenance);
  }
}

async function finishDates(context: Context, isPressed: () => boolean): Promise<boolean> {
  const { root, settings } = context;
  const now_ms = settings.now();
  const work = [...root.heads.values()]
    .filter((head) => (isOver(context, head.partition) ? !head.closed : isDerivationDue(head)))
    .map((head) => head.partition);
  for (const [index, date] of work.entries()) {
    if (isPressed()) return false;
    const begun_ms = performance.now();
    if (isOver(context, date)) {
      await closeDate(context, date);
    } else {
      await compactHours(root, date, now_ms);
      if (isPressed()) return false;
      await deriveDate(root, date, now_ms);
      settings.log.info('Date:Finish:Done', { date, seconds: secondsSince(begun_ms) });
    }
    settings.log.progress('storm dates', index + 1, work.length);
  }
  const thisMonth = monthOf(utcDate(now_ms));
  const closed = [...root.heads.values()].filter((head) => head.closed).map((head) => monthOf(head.partition));
  for (const month of new Set(closed)) {
    if (isPressed()) return false;
    await joinMonth(context, month, month < thisMonth ? 1 : JOIN_RUNNING_AFTER);
  }
  return true;
}

function isOver({ settings }: Context, date: string): boolean {
  return settings.now() >= stormDateStart(addDays(date, 1), settings.storm_day_start_hour) + CLOSE_AFTER_MS;
}

async function closeDate(context: Context, date: string): Promise<boolean> {
  const { root, settings } = context;
  const begun_ms = performance.now();
  if (!isOver(context, date) || !(await compactDay(root, date, settings.now()))) return false;
  settings.log.info('Date:Close:Done', { date, seconds: secondsSince(begun_ms) });
  return true;
}

async function joinMonth({ root, settings }: Context, month: string, least = 1): Promise<boolean> {
  const begun_ms = performance.now();
  const joined = await compactMonth(root, month, settings.now(), least);
  if (joined) settings.log.info('Month:Join:Done', { month, seconds: secondsSince(begun_ms) });
  return joined;
}

/** Seconds since a reading of the monotonic clock, to the millisecond. */
function secondsSince(begun_ms: number): number {
  return Math.round(performance.now() - begun_ms) / 1000;
}
