import { HAIL_DAYS_MAX, type HailDays, type Service } from '../data/service.ts';
import { button, element, meta, onClick, textElement } from '../page/page.ts';
import { stepOf } from '../page/palette.ts';
import { addDays, counted, dateInWords, sizeInWords } from '../page/words.ts';

type HailDay = HailDays['events'][number];

/** Dates with hail as far as they were requested, and the dialog that lists them. */
export function openHailDays(service: Service, openDate: (date: string) => void) {
  const dialog = element<HTMLDialogElement>('days');
  const days = new Map<string, HailDay>();
  const without_data = new Set<string>();
  /** First date that was requested, and the last one; null before the first request. */
  let range: { start: string; end: string } | null = null;

  const add = ({ start, end, events, dates_without_data }: HailDays) => {
    for (const day of events) days.set(day.event_date, day);
    for (const date of dates_without_data) without_data.add(date);
    range = { start, end: range?.end ?? end };
  };
  /** Requests the newest year, if it has not been. */
  const load = async (): Promise<void> => {
    if (range !== null) return;
    const { scan_time, now } = await service.look();
    add(await service.hailDays((scan_time ?? now).slice(0, 10)));
  };
  const loadEarlier = async (): Promise<void> => {
    if (range !== null) add(await service.hailDays(addDays(range.start, -1)));
  };

  const itemOf = ({ event_date, max_size_mm, cell_count }: HailDay): HTMLElement => {
    const swatch = textElement('span', '', 'dot');
    swatch.style.background = stepOf(max_size_mm).color;
    const choice = button('', () => {
      dialog.close();
      openDate(event_date);
    });
    choice.append(
      swatch,
      textElement('span', dateInWords(event_date), 'day'),
      textElement('span', sizeInWords(max_size_mm), 'size'),
      textElement('span', counted(cell_count, 'storm'), 'storms'),
    );
    const item = document.createElement('li');
    item.append(choice);
    return item;
  };
  const show = async (asked: () => Promise<void>): Promise<void> => {
    const words = element('days-words');
    words.textContent = 'Loading …';
    try {
      await asked();
      const newestFirst = [...days.values()].sort((a, b) => (a.event_date < b.event_date ? 1 : -1));
      element('days-list').replaceChildren(...newestFirst.map(itemOf));
      if (range !== null)
        words.textContent = `${counted(days.size, 'day')} with hail of 19 mm or more, ${dateInWords(range.start)} to ${dateInWords(range.end)}`;
    } catch (error) {
      words.textContent = error instanceof Error ? error.message : String(error);
    }
  };

  if (meta('hail-access') === 'public') element('earlier-year').querySelector('.price')?.remove();
  onClick('close-days', () => dialog.close());
  onClick('earlier-year', () => void show(loadEarlier));

  return {
    /** Opens the dialog. */
    open(): void {
      dialog.showModal();
      void show(load);
    },
    /** Whether ‹ and › go to dates with hail only. */
    skipsDry: () => element<HTMLInputElement>('skip-dry').checked,
    /** The next date with hail after a date, or the last one before it; null where the known dates end. */
    async next(date: string, by: number): Promise<string | null> {
      await load();
      const dates = [...days.keys()].sort();
      return (by > 0 ? dates.find((one) => one > date) : dates.findLast((one) => one < date)) ?? null;
    },
    /** The date with radar data nearest to a date, among the known ones; null without any. */
    async nearestWithData(date: string): Promise<string | null> {
      await load();
      const all =
        range === null ? [] : Array.from({ length: HAIL_DAYS_MAX }, (_, i) => addDays(range?.end ?? date, -i));
      const away = (one: string) => Math.abs(Date.parse(one) - Date.parse(date));
      return all
        .filter((one) => !without_data.has(one))
        .reduce<string | null>((best, one) => (best === null || away(one) < away(best) ? one : best), null);
    },
    /** First date that was requested; null before. */
    start: () => range?.start ?? null,
  };
}
