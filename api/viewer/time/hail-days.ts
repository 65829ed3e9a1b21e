import { HAIL_DAYS_MAX, type HailDays } from '../data/service.ts';
import { addDays } from '../page/words.ts';
import { service } from '../site.ts';
import { reactive } from '../state.ts';

/** Dates with hail as far as they were requested. */
export const hailDays = reactive({
  /** Newest first. */
  days: [] as HailDays['events'],
  without_data: [] as HailDays['dates_without_data'],
  /** First date that was requested, and the last one; null before the first request. */
  range: null as { readonly start: string; readonly end: string } | null,
  /** ‹ and › go to dates with hail only. */
  skips_dry: true,
});

/** Requests the newest year, if it has not been; `is_further` requests the year before those that are known. */
export async function loadHailDays(is_further = false): Promise<void> {
  const known = hailDays.range;
  if (known !== null && !is_further) return;
  const look = known === null ? await service.look() : null;
  const last = known
    ? addDays(known.start, -1)
    : (look?.scan_time ?? new Date(service.now_ms()).toISOString()).slice(0, 10);
  const { start, end, events, dates_without_data } = await service.hailDays(last);
  if (hailDays.range !== known) return;
  hailDays.days = [...hailDays.days, ...events].sort((a, b) => (a.event_date < b.event_date ? 1 : -1));
  hailDays.without_data = [...hailDays.without_data, ...dates_without_data];
  hailDays.range = { start, end: known?.end ?? end };
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
