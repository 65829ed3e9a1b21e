import { Marker } from 'maplibre-gl';
import type { LngLat } from '../data/day.ts';
import { type Service, ServiceError } from '../data/service.ts';
import type { Display } from '../display.ts';
import type { HailMap } from '../map/map.ts';
import { findingInWords } from '../map/pick.ts';
import { button, element, onClick, setPriced, textElement } from '../page/page.ts';
import { counted, dateInWords, placeInWords, sizeInWords } from '../page/words.ts';
import { chosenDate, type State } from '../state.ts';
import type { Dates } from '../time/dates.ts';
import { historyChart } from './history-chart.ts';
import { CREDITS, fellPrice, type HailDay, HISTORY_DAYS, openPinCalls, type Report } from './pin-calls.ts';
import { type AnswerWords, fellInWords, milesInWords, nearestStorm, verifiedInWords } from './pin-words.ts';

const TABS = ['fell', 'history', 'verify'] as const;
type Tab = (typeof TABS)[number];
/** Tiles end at zoom 10; well below it their outlines are simplified by more than a pixel of the grid. */
const EXACT_FROM_ZOOM = 7;
const POLL_MS = 1500;
/** Reports are made in seconds; a service with many to make may need longer. */
const POLLS_MAX = 120;
/** Room that the map keeps around the pin where a card covers a side. */
const PHONE_MAX_PX = 699;

/** The pin: a mark on the map that stays in the address, and a card with what fell there, its history and its verification. */
export function openPin({
  state,
  map,
  display,
  dates,
  service,
}: {
  state: State;
  map: HailMap;
  display: Display;
  dates: Dates;
  service: Service;
}) {
  const calls = openPinCalls(service);
  const card = element('pin');
  const marker = new Marker({ element: markerElement(), anchor: 'bottom' });
  /** Counts what each tab was about: an answer about an earlier place or date is dropped. */
  const turns: Record<Tab, number> = { fell: 0, history: 0, verify: 0 };
  let name: string | null = null;
  /** Place and date that the card shows. */
  let shown = '';

  /** Pins a place; `label` is the name under which it was found. */
  function put(at: LngLat, label: string | null = null): void {
    state.pin = at;
    name = label;
    display.updateAddress();
  }

  function remove(): void {
    state.pin = null;
    display.updateAddress();
  }

  /** Makes mark and card show the pin and the date of the state. */
  function update(): void {
    const { pin } = state;
    card.hidden = pin === null;
    if (pin === null) {
      marker.remove();
      shown = '';
      name = null;
      return;
    }
    const now = `${pin.lat} ${pin.lng} ${pinDate()}`;
    if (now !== shown) {
      const isMoved = !shown.startsWith(`${pin.lat} ${pin.lng} `);
      shown = now;
      if (isMoved) {
        marker.setLngLat(pin).addTo(map.map);
        element('pin-name').textContent = name ?? 'Pinned place';
        element('pin-place').textContent = placeInWords(pin);
        clear('history');
        clear('verify');
        openTab('fell');
      }
      clear('fell');
      const date = pinDate();
      // What was verified names its dates: it stays with them when another date is opened.
      if (!verifyIsUsed()) element<HTMLInputElement>('pin-date').value = date ?? '';
      element('pin-day').textContent = date === null ? 'No date is open' : dateInWords(date);
      const price = date === null ? null : fellPrice(date, service.now_ms());
      const ask = element('ask-fell');
      ask.hidden = date === null;
      if (price) setPriced('ask-fell', 'What fell here', `${price.least} to ${price.most} credits`);
      else ask.textContent = 'Verify this date';
      element('fell-note').textContent =
        price || date === null
          ? 'By distance, with times and radar quality.'
          : 'For a date this long ago a verification costs less and answers more.';
    }
    describeFree(pin);
  }

  /** What the map itself knows, without a charge: the step drawn here, and the storm that came nearest. */
  function describeFree(pin: LngLat): void {
    const box = element('pin-free');
    const finding = map.sizeAt(pin);
    const { day, view } = state;
    if (finding === null || !day || !map.shows([{ lat: pin.lat, lon: pin.lng }])) {
      box.replaceChildren();
      return;
    }
    const coarse = map.place().zoom < EXACT_FROM_ZOOM;
    const words = findingInWords({ ...finding, storm: null }, { view, coarse, covered: map.isCovered(pin) });
    const storm = nearestStorm(day.frames, pin);
    const drawn = finding.mm_min === null ? words.headline : `On the map: ${words.headline} (${words.second})`;
    const before = view === 'day' && state.span === 'recent' ? (day.before?.date ?? null) : null;
    const openBefore = () => void dates.openDate(before ?? '');
    box.replaceChildren(
      textElement('p', drawn),
      ...(storm ? [textElement('p', storm)] : []),
      ...(before ? [button(`Earlier hours belong to ${dateInWords(before)}: open it`, openBefore, 'link')] : []),
    );
  }

  function pinDate(): string | null {
    return chosenDate(state) ?? state.day?.date ?? null;
  }

  function openTab(tab: Tab): void {
    for (const one of TABS) {
      element(`tab-${one}`).setAttribute('aria-selected', String(one === tab));
      element(`tab-${one}`).tabIndex = one === tab ? 0 : -1;
      element(`pin-${one}`).hidden = one !== tab;
    }
  }

  function clear(tab: Tab): void {
    turns[tab]++;
    element(`${tab}-answer`).replaceChildren();
  }

  function verifyIsUsed(): boolean {
    const box = element('verify-answer');
    return box.hasChildNodes() || box.ariaBusy === 'true';
  }

  /** Shows what a call answers in a tab, or why it does not; the buttons of the tab rest meanwhile. */
  async function answer(tab: Tab, ask: (pin: LngLat) => Promise<Node[]>): Promise<void> {
    const { pin } = state;
    if (pin === null) return;
    const asked = turns[tab];
    const box = element(`${tab}-answer`);
    const asking = [...element(`pin-${tab}`).querySelectorAll<HTMLButtonElement>(':scope > button')];
    for (const one of asking) one.disabled = true;
    box.setAttribute('aria-busy', 'true');
    try {
      const nodes = await ask(pin);
      if (asked === turns[tab]) present(tab, nodes);
    } catch (error) {
      if (asked === turns[tab]) present(tab, refusalNodes(error));
    } finally {
      for (const one of asking) one.disabled = false;
      box.removeAttribute('aria-busy');
    }
  }

  /** Shows an answer at the top of its tab, as far as it goes. */
  function present(tab: Tab, nodes: Node[]): void {
    const [box, panel] = [element(`${tab}-answer`), element(`pin-${tab}`)];
    box.replaceChildren(...nodes);
    panel.scrollTop = box.offsetTop - panel.offsetTop;
  }

  function refusalNodes(error: unknown): Node[] {
    const words = textElement('p', error instanceof Error ? error.message : String(error), 'refused');
    if (!(error instanceof ServiceError) || !error.needs_key) return [words];
    dates.askForKey();
    return [words, button('Enter a key', dates.askForKey, 'link')];
  }

  function askFell(): void {
    const date = pinDate();
    if (date === null) return;
    const now_ms = service.now_ms();
    if (fellPrice(date, now_ms) === null) openTab('verify');
    else void answer('fell', async (pin) => answerNodes(fellInWords(await calls.fell(pin, date, now_ms))));
  }

  function askHistory(): void {
    const radius_mi = Number(element<HTMLSelectElement>('history-radius').value);
    void answer('history', async (pin) => {
      const { events, gaps } = await calls.history(pin, radius_mi);
      const last = [...gaps.dates_without_data, ...gaps.coverage.map(({ date }) => date)].sort().at(-1);
      return historyNodes(
        events,
        last ?? new Date(service.now_ms()).toISOString().slice(0, 10),
        radius_mi,
        gaps.coverage.length,
      );
    });
  }

  function historyNodes(events: readonly HailDay[], last: string, radius_mi: number, looked: number): Node[] {
    const where = `within ${counted(radius_mi, 'mile')}`;
    const summary = `${counted(events.length, 'day')} with hail of 10 mm or more ${where}; radar data of ${counted(looked, 'day')} in the last ${HISTORY_DAYS}.`;
    const list = document.createElement('ol');
    const months = new Map<string, HailDay[]>();
    for (const event of events) {
      const month = event.storm_date.slice(0, 7);
      months.set(month, [...(months.get(month) ?? []), event]);
    }
    for (const [month, days] of months) {
      const item = document.createElement('li');
      const [, ...named] = dateInWords(`${month}-01`).split(' ');
      item.append(textElement('span', `${named.join(' ')} · ${counted(days.length, 'day')}`, 'month'));
      for (const { storm_date, hail, distance_km } of days) {
        const text = `${dateInWords(storm_date)} · ${sizeInWords(hail.estimated_size_mm)}, ${milesInWords(distance_km)} away`;
        item.append(button(text, () => void dates.openDate(storm_date), 'day'));
      }
      list.append(item);
    }
    return [textElement('p', summary), historyChart(events, last, HISTORY_DAYS), list];
  }

  /** The date in the field; null, with a word about it, where there is none. */
  function fieldDate(): string | null {
    const { value } = element<HTMLInputElement>('pin-date');
    if (value !== '') return value;
    element('verify-answer').replaceChildren(textElement('p', 'Choose a date first.', 'refused'));
    return null;
  }

  function verify(): void {
    const date = fieldDate();
    if (date === null) return;
    void answer('verify', async (pin) => answerNodes(verifiedInWords(await calls.verify(pin, date))));
  }

  function orderReport(): void {
    const date = fieldDate();
    if (date === null) return;
    const reference = element<HTMLInputElement>('pin-reference').value;
    void answer('verify', async (pin) => {
      element('verify-answer').replaceChildren(textElement('p', 'The report is being made …'));
      return reportNodes(await finished((await calls.order(pin, date, reference)).report_id));
    });
  }

  async function finished(id: string): Promise<Report> {
    for (let polls = 0; ; polls++) {
      const report = await calls.report(id);
      if (report.status !== 'pending' || polls >= POLLS_MAX) return report;
      await new Promise((resolve) => setTimeout(resolve, POLL_MS));
    }
  }

  function reportNodes({ report_id, status, message, pdf_url }: Report): Node[] {
    if (status === 'failed')
      return [textElement('p', `The report could not be made${message ? `: ${message}` : ''}.`, 'refused')];
    if (pdf_url === null) {
      const look = () => void answer('verify', async () => reportNodes(await finished(report_id)));
      return [textElement('p', 'The report is still being made.'), button('Look again (free)', look, 'link')];
    }
    const link = document.createElement('a');
    link.href = pdf_url;
    link.download = '';
    link.textContent = 'Download the PDF';
    link.className = 'primary';
    return [textElement('p', 'The report is ready. The link works for 15 minutes.'), link];
  }

  for (const [i, tab] of TABS.entries()) {
    onClick(`tab-${tab}`, () => openTab(tab));
    element(`tab-${tab}`).addEventListener('keydown', (event) => {
      const { key } = event;
      const step = key === 'ArrowRight' ? 1 : key === 'ArrowLeft' ? TABS.length - 1 : 0;
      if (step === 0) return;
      event.preventDefault();
      const next = TABS[(i + step) % TABS.length];
      openTab(next);
      element(`tab-${next}`).focus();
    });
  }
  onClick('ask-fell', askFell);
  onClick('ask-history', askHistory);
  onClick('ask-verify', verify);
  onClick('ask-report', orderReport);
  onClick('remove-pin', remove);
  const year = CREDITS.history[CREDITS.history.length - 1];
  setPriced('ask-history', `Show ${HISTORY_DAYS} days`, `${year.credits} credits`);
  setPriced('ask-verify', 'Verify', `${CREDITS.verify} credits`);
  setPriced('ask-report', 'PDF report', `${CREDITS.report} credits`);
  element('history-radius').addEventListener('change', () => clear('history'));
  element('pin-date').addEventListener('change', () => clear('verify'));
  display.onShown(update);
  display.spot.onPin(put);
  map.map.on('idle', update);

  return {
    put,
    /** Pins a place and moves there, clear of the card. */
    show(at: LngLat, zoom: number, label: string | null): void {
      put(at, label);
      map.map.easeTo({ center: [at.lng, at.lat], zoom, offset: offsetOf(card), duration: 600 });
    },
    /** Shows the pin of the address. */
    update,
  };
}

/** Offset from the middle of the page to the middle of what a card leaves free. */
function offsetOf(card: HTMLElement): [number, number] {
  const { right, height } = card.getBoundingClientRect();
  return innerWidth > PHONE_MAX_PX ? [right / 2, 0] : [0, -height / 4];
}

function answerNodes({ headline, color, rows, lines }: AnswerWords): Node[] {
  const title = textElement('p', headline, 'headline');
  if (color) {
    const swatch = textElement('span', '', 'spot');
    swatch.style.background = color;
    title.prepend(swatch);
  }
  const list = document.createElement('dl');
  for (const [name, value] of rows) {
    const row = document.createElement('div');
    const [term, text] = [document.createElement('dt'), document.createElement('dd')];
    term.textContent = name;
    text.textContent = value;
    row.append(term, text);
    list.append(row);
  }
  return [title, list, ...lines.map((line) => textElement('p', line, 'fine'))];
}

function markerElement(): HTMLElement {
  const made = document.createElement('div');
  made.className = 'pin-mark';
  made.setAttribute('role', 'img');
  made.setAttribute('aria-label', 'Pin');
  return made;
}
