import { addDays, monthOf, stormDateStart, utcDate } from '../../schemas/time.ts';
import { isDerivationDue } from '../publish/commit-dates.ts';
import type { Context } from './run.ts';

/** Closed dates of the running month that wait to be joined: a question about a year opens a file for each of them. */
const JOIN_RUNNING_AFTER = 7;
/** A storm date is closed once the data clock is this far past its end. */
const CLOSE_AFTER_MS = 60 * 60_000;

/**
 * Draws what follows from whole dates, joins finished hours, and turns dates that are over into day files. Stops between two of
 * them when `isPressed` returns true because something else is more urgent; true when nothing is left.
 */
export async function finishDates({ root, settings }: Context, isPressed: () => boolean): Promise<boolean> {
  const now_ms = settings.now();
  const isOver = (date: string) =>
    now_ms >= stormDateStart(addDays(date, 1), settings.storm_day_start_hour) + CLOSE_AFTER_MS;
  const work = [...root.heads.values()]
    .filter((head) => (isOver(head.partition) ? !head.closed : isDerivationDue(head)))
    .map((head) => head.partition);
  for (const [index, date] of work.entries()) {
    if (isPressed()) return false;
    if (isOver(date)) await root.compactDay(date, now_ms);
    else {
      await root.compactHours(date, now_ms);
      if (isPressed()) return false;
      await root.derive(date, now_ms);
    }
    settings.log.progress('storm dates', index + 1, work.length);
  }
  const thisMonth = monthOf(utcDate(now_ms));
  const closed = [...root.heads.values()].filter((head) => head.closed).map((head) => monthOf(head.partition));
  for (const month of new Set(closed)) {
    if (isPressed()) return false;
    await root.compactMonth(month, now_ms, month < thisMonth ? 1 : JOIN_RUNNING_AFTER);
  }
  return true;
}
