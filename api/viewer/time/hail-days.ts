import type { Events } from '../../../schemas/resources/event-day.ts';
import { addDays, utcDate } from '../../../schemas/time.ts';
import { service } from '../site.ts';
import { reactive } from '../state.ts';

/** Dates with hail as far as they were requested. */
export const hailDays = reactive({
  /** Newest first. */
  days: [] as Events['events'],
  /** First date that was requested, and the last one; null before the first request. */
  range: null as Events['date_range'] | null,
});
let asked: Promise<void> | null = null;

/** Requests the newest year, if it has not been; `is_further` requests the year before those that are known. */
export async function loadHailDays(is_further = false): Promise<void> {
  if (hailDays.range !== null && !is_further) return;
  asked ??= load().finally(() => {
    asked = null;
  });
  await asked;
}

async function load(): Promise<void> {
  const { days, range } = hailDays;
  const newest = async () => (await service.look()).scan_time?.slice(0, 10) ?? utcDate(service.now_ms());
  const last = range === null ? await newest() : addDays(range.start, -1);
  const { events, date_range } = await service.hailDays(last);
  Object.assign(hailDays, {
    days: [...days, ...events].sort((a, b) => b.event_date.localeCompare(a.event_date)),
    range: { start: date_range.start, end: range?.end ?? date_range.end },
  });
}

/** The next date with hail after a date, or the last one before it; null where the known dates end. */
export async function nextHailDay(date: string, by: number): Promise<string | null> {
  await loadHailDays();
  const dates = hailDays.days.map(({ event_date }) => event_date);
  return (by > 0 ? dates.findLast((one) => one > date) : dates.find((one) => one < date)) ?? null;
}
