import { HAIL_DAYS_MAX, type HailDays, type Service } from '../data/service.ts';
import { element, meta, onClick, textElement } from '../page/page.ts';
import { stepOf } from '../page/palette.ts';
import { addDays, counted, dateInWords, monthInWords, sizeInWords } from '../page/words.ts';

const WEEK = 7;

type HailDay = HailDays['events'][number];

/** Dates with hail as far as they were requested, and the dialog that shows them as a calendar and a list. */
export function openCalendar({
  service,
  chosenDate,
  openDate,
}: {
  service: Service;
  chosenDate: () => string | null;
  openDate: (date: string) => void;
}) {
  const dialog = element<HTMLDialogElement>('calendar');
  const skip = element<HTMLInputElement>('skip-dry');
  const days = new Map<string, HailDay>();
  const dark = new Set<string>();
  /** First date that was requested, and the last one; null before the first request. */
  let range: { start: string; end: string } | null = null;
  /** Month in view, `YYYY-MM`. */
  let month = '';

  const add = ({ start, end, events, dates_without_data }: HailDays) => {
    for (const day of events) days.set(day.event_date, day);
    for (const date of dates_without_data) dark.add(date);
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

  const choose = (date: string) => {
    dialog.close();
    openDate(date);
  };
  const draw = () => {
    element('month-name').textContent = monthInWords(month);
    element<HTMLButtonElement>('month-later').disabled = range !== null && month >= range.end.slice(0, 7);
    element<HTMLButtonElement>('month-earlier').disabled = range !== null && month <= range.start.slice(0, 7);
    const first = `${month}-01`;
    const blanks = (new Date(`${first}T00:00:00Z`).getUTCDay() + 6) % WEEK;
    const cells: HTMLElement[] = Array.from({ length: blanks }, () => textElement('span', ''));
    for (let date = first; date.startsWith(month); date = addDays(date, 1)) cells.push(cell(date));
    element('month-days').replaceChildren(...cells);
  };
  const cell = (date: string): HTMLElement => {
    const button = document.createElement('button');
    button.type = 'button';
    button.textContent = String(Number(date.slice(8)));
    const day = days.get(date);
    const isKnown = range !== null && date >= range.start && date <= range.end;
    button.disabled = !isKnown || dark.has(date);
    button.setAttribute('aria-label', `${dateInWords(date)}, ${dayInWords(day, isKnown && !dark.has(date))}`);
    button.title = dayInWords(day, isKnown && !dark.has(date));
    if (day) {
      const { color, ink } = stepOf(day.max_size_mm);
      button.style.background = color;
      button.style.color = ink;
      button.className = 'hail';
    }
    if (date === chosenDate()) button.setAttribute('aria-current', 'date');
    button.addEventListener('click', () => choose(date));
    return button;
  };
  const drawList = () => {
    const newestFirst = [...days.values()].sort((a, b) => (a.event_date < b.event_date ? 1 : -1));
    const items = newestFirst.map((day) => {
      const button = document.createElement('button');
      button.type = 'button';
      const swatch = textElement('span', '', 'dot');
      swatch.style.background = stepOf(day.max_size_mm).color;
      button.append(
        swatch,
        textElement('span', dateInWords(day.event_date), 'day'),
        textElement('span', sizeInWords(day.max_size_mm), 'size'),
        textElement('span', counted(day.cell_count, 'storm'), 'storms'),
      );
      button.addEventListener('click', () => choose(day.event_date));
      const item = document.createElement('li');
      item.append(button);
      return item;
    });
    element('hail-days').replaceChildren(...items);
    element('hail-days-words').textContent =
      range === null
        ? ''
        : `${counted(days.size, 'day')} with hail of 19 mm or more, ${dateInWords(range.start)} to ${dateInWords(range.end)}`;
  };
  const show = async (asked: () => Promise<void>): Promise<void> => {
    const words = element('calendar-trouble');
    words.hidden = true;
    dialog.classList.add('busy');
    try {
      await asked();
    } catch (error) {
      words.hidden = false;
      words.textContent = error instanceof Error ? error.message : String(error);
    }
    dialog.classList.remove('busy');
    draw();
    drawList();
  };
  const turn = (by: number) => {
    month = addDays(by > 0 ? `${month}-28` : `${month}-01`, by > 0 ? 4 : -1).slice(0, 7);
    draw();
  };

  if (meta('hail-access') === 'public') element('earlier-year').textContent = 'List the year before';
  onClick('month-earlier', () => turn(-1));
  onClick('month-later', () => turn(1));
  onClick('close-calendar', () => dialog.close());
  onClick('earlier-year', () => void show(loadEarlier));

  return {
    /** Opens the dialog, at the month of the date that is shown. */
    open(): void {
      month = (chosenDate() ?? new Date().toISOString()).slice(0, 7);
      dialog.showModal();
      void show(load);
    },
    /** Whether ‹ and › go to dates with hail only. */
    skipsDry: () => skip.checked,
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
        .filter((one) => !dark.has(one))
        .reduce<string | null>((best, one) => (best === null || away(one) < away(best) ? one : best), null);
    },
    /** First date that was requested; null before. */
    start: () => range?.start ?? null,
  };
}

function dayInWords(day: HailDay | undefined, isObserved: boolean): string {
  if (day) return `largest ${sizeInWords(day.max_size_mm)}, ${counted(day.cell_count, 'storm')}`;
  return isObserved ? 'no hail of 19 mm or more' : 'no data';
}
