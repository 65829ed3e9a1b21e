import { addDays } from '../../schemas/time.ts';

/** Where a storm date of a backfill stands. */
export type TaskStatus = 'waiting' | 'running' | 'done' | 'failed';

/** The part of a task that the choice depends on. */
export interface DateTask {
  readonly storm_date: string;
  readonly status: TaskStatus;
  /** False while a waiting date rests after a failure. */
  readonly is_due: boolean;
}

/**
 * Storm date that a free worker takes next; null when none is due. `tasks` are in order of their dates.
 *
 * The first choice is the date after one that is finished: it goes on from its tracks. Where there is none, a worker opens a new
 * front in the middle of the longest stretch of waiting dates. So each worker goes forward from date to date, and few dates are
 * made before the tracks of the date before are known: these may have to be made again.
 */
export function chooseDate(tasks: readonly DateTask[]): string | null {
  const statusOf = new Map(tasks.map(({ storm_date, status }) => [storm_date, status]));
  const waiting = tasks.filter(({ status, is_due }) => status === 'waiting' && is_due).map((task) => task.storm_date);
  const isOpen = (date: string) => ['waiting', 'running'].includes(statusOf.get(date) ?? '');
  const ready = waiting.find((date) => !isOpen(addDays(date, -1)));
  if (ready !== undefined) return ready;
  let longest: string[] = [];
  let stretch: string[] = [];
  for (const date of waiting) {
    stretch = stretch.at(-1) === addDays(date, -1) ? [...stretch, date] : [date];
    if (stretch.length > longest.length) longest = stretch;
  }
  return longest[Math.floor(longest.length / 2)] ?? null;
}
