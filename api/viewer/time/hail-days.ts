import type { Events } from '../../../schemas/resources/event-day.ts';
import { addDays, utcDate } from '../../../schemas/time.ts';
import { HAIL_DAYS_MAX } from '../data/service.ts';
import { service } from '../site.ts';
import { reactive } from '../state.ts';

/** Dates with hail as far as they were requested. */
export const hailDays = reactive({
  /** Newest first. */
  days: [] as Events['events'],
  without_data: [] as Events['dates_without_data'],
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
  const { days, without_data, range } = hailDays;
  const newest = async () => (await service.look()).scan_time?.slice(0, 10) ?? utcDate(service.now_ms());
  const last = range === null ? await newest() : addDays(range.start, -1);
  const { events, dates_without_data, date_range } = await service.hailDays(last);
  Object.assign(hailDays, {
    days: [...days, ...events].sort((a, b) => b.event_date.localeCompare(a.event_date)),
    without_data: [...without_data, ...dates_without_data],
    range: { start: date_range.start, end: range?.end ?? date_range.end },
  });
}

/** The next date with hail after a date, or the last one before it; null where the known dates end. */
export async function nextHailDay(date: string, by: number): Promise<string | null> {
  await loadHailDays();
  const dates = hailDays.days.map(({ event_date }) => event_date);
  return (by > 0 ? dates.findLast((one) => one > date) : dates.find((one) => one < date)) ?? null;
}

/** The date with radar data nearest to a date, among the known ones; null without any. */
export async function nearestWithData(date: string): Promise<string | null> {
  await loadHailDays();
  const { range, without_data } = hailDays;
  const away = (one: string) => Math.abs(Date.parse(one) - Date.parse(date));
  const all = Array.from({ length: HAIL_DAYS_MAX }, (_, i) => addDays(range?.end ?? date, -i));
  return all.filter((one) => !without_data.includes(one)).sort((a, b) => away(a) - away(b))[0] ?? null;
}
