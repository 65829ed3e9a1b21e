import { type Address, addressFault } from '../address.ts';
import { openKeyDialog, readKey } from '../data/api-key.ts';
import type { Archives } from '../data/archives.ts';
import type { DayIndex } from '../data/day.ts';
import { type Service, ServiceError } from '../data/service.ts';
import type { Display } from '../display.ts';
import type { HailMap } from '../map/map.ts';
import { SWATH_MIN_MM } from '../page/palette.ts';
import { setBusy, setDateField, setNotice, setTrouble } from '../page/panel.ts';
import { addDays, dateInWords } from '../page/words.ts';
import { chosenFrame, newestWithHail, type State } from '../state.ts';
import { openHailDays } from './hail-days.ts';
import { openLive } from './live.ts';

/** Stepping through dates requests only the date at which the reader stops. */
const STEP_MS = 250;

export type Dates = ReturnType<typeof openDates>;

/** Null where the service refuses a call that the page can do without. */
function unlessRefused(error: unknown): null {
  if (error instanceof ServiceError) return null;
  throw error;
}

/** Requests dates from the service and shows them; asks for a key when the service needs one. */
export function openDates({
  state,
  service,
  archives,
  map,
  display,
}: {
  state: State;
  service: Service;
  archives: Archives;
  map: HailMap;
  display: Display;
}) {
  const keyDialog = openKeyDialog(useKey);
  let onKey = () => {};
  let stepping: ReturnType<typeof setTimeout> | undefined;
  const live = openLive({
    state,
    service,
    reload: reloadNewest,
    onKeyRefused: ({ message }) => setTrouble(message, 'Enter a key', askForKey),
  });
  const hailDays = openHailDays(service, (date) => void openDate(date));

  function openDate(date: string, scan_id: string | null = null): Promise<void> {
    state.date = date;
    state.span = 'date';
    setDateField(date);
    return show(service.day(date), scan_id);
  }

  /** Opens the newest date with data. */
  async function openNewest(): Promise<void> {
    state.span = 'date';
    await show(noteNewest(service.newest()), state.wanted);
  }

  /** Opens the last 24 hours until the newest scan. */
  async function openRecent(): Promise<void> {
    state.span = 'recent';
    state.view = 'day';
    await show(noteNewest(service.recent()), null);
  }

  /** Opens what a link names; of a date without scans the nearest one with scans, and says so. */
  async function openLink(hash: string, { date, span, frame }: Address): Promise<void> {
    const fault = addressFault(hash);
    if (date === null) await (span === 'recent' ? openRecent() : openNewest());
    else await openDate(date, frame);
    if (fault !== null && state.day !== null)
      setNotice(`${fault} ${date === null ? 'The newest data are shown.' : 'The newest hail of the date is shown.'}`);
    if (date === null || state.date !== date || state.day?.frames.length !== 0) return;
    const turn = state.turn;
    const nearest = await hailDays.nearestWithData(date).catch(unlessRefused);
    if (turn !== state.turn) return;
    if (nearest === null) await openNewest();
    else await openDate(nearest);
    const shown = state.day?.date;
    if (shown)
      setNotice(
        `Nothing is published for ${dateInWords(date)}. ${dateInWords(shown)} is shown, ${nearest === null ? 'the newest date' : 'the nearest date with scans'}.`,
      );
  }

  async function noteNewest(asked: Promise<DayIndex>): Promise<DayIndex> {
    const day = await asked;
    state.newest = day.date;
    return day;
  }

  async function show(asked: Promise<DayIndex>, scan_id: string | null): Promise<void> {
    const turn = ++state.turn;
    state.wanted = scan_id;
    display.timeline.pause();
    setTrouble(null);
    setNotice(null);
    setBusy(true);
    try {
      const day = await asked;
      if (turn !== state.turn) return;
      await display.showDay(day, scan_id);
      void live.look();
    } catch (error) {
      if (turn === state.turn) showError(error);
    } finally {
      if (turn === state.turn) setBusy(false);
      live.describe();
    }
  }

  /** Loads the newest date again, of which there is a further scan, and keeps what the reader looks at. */
  async function reloadNewest(): Promise<void> {
    const { day: shown, turn, span } = state;
    if (shown?.date == null) return;
    const newest = await service.newest();
    // The date that ended may have got scans after it was loaded.
    if (newest.date !== shown.date) service.forget(shown.date);
    const day =
      span === 'recent'
        ? await service.recent(newest)
        : newest.date === shown.date
          ? newest
          : await service.day(shown.date);
    if (turn !== state.turn) return;
    state.newest = newest.date;
    if (shown.daily_url) archives.forget(shown.daily_url);
    await display.updateDay(day);
    if (newest.date !== null && newest.date !== day.date)
      setTrouble(`${dateInWords(newest.date)} has begun.`, 'Show it', () => void openNewest());
  }

  function showError(error: unknown) {
    display.showFailure();
    const words = error instanceof Error ? error.message : String(error);
    if (!(error instanceof ServiceError) || !error.needs_key) return setTrouble(words, 'Try again', retry);
    keyDialog.ask(readKey() === null ? null : words);
    setTrouble(words, 'Enter a key', askForKey);
  }

  function retry(): void {
    if (state.span === 'recent') void openRecent();
    else void (state.date ? openDate(state.date, state.wanted) : openNewest());
  }

  /** What is shown stays, and is not paid for again. */
  function useKey(): void {
    onKey();
    if (state.day === null) return void retry();
    setTrouble(null);
    void live.look();
  }

  function askForKey(): void {
    keyDialog.ask(null);
  }

  /** Removes the day from the map; its daily archive changes under one address and is read again. */
  function dropDay(): void {
    if (state.day?.daily_url) archives.forget(state.day.daily_url);
    state.day = null;
    map.clear();
  }

  /** Shows another date in the field at once, and requests it when the reader stops stepping. */
  function stepTo(date: string): void {
    state.date = date;
    setDateField(date);
    clearTimeout(stepping);
    stepping = setTimeout(() => void openDate(date), STEP_MS);
  }

  return {
    openDate,
    openNewest,
    openRecent,
    openLink,
    openHailDays: hailDays.open,
    askForKey,
    /** Calls `act` when the reader has given another key. */
    onKey(act: () => void): void {
      onKey = act;
    },
    /** Opens the date a day earlier or later, with hail or without. */
    stepDay(by: number): void {
      if (state.date !== null) stepTo(addDays(state.date, by));
    },
    /** Opens the last date with hail before the current one, or the next after it; every date where the reader wants so. */
    async step(by: number): Promise<void> {
      const from = state.date;
      if (from === null) return;
      if (!hailDays.skipsDry()) return stepTo(addDays(from, by));
      const found = await hailDays.next(from, by).catch(() => addDays(from, by));
      if (state.date !== from) return;
      if (found !== null) return stepTo(found);
      const start = hailDays.start();
      setNotice(
        by > 0
          ? `No hail of ${SWATH_MIN_MM} mm or more is known after ${dateInWords(from)}.`
          : `No hail of ${SWATH_MIN_MM} mm or more between ${dateInWords(start ?? from)} and ${dateInWords(from)}. The list of hail days can be continued with earlier years.`,
      );
    },
    /** Requests what is shown again: it may have more scans. */
    refresh(): void {
      const { day, date, span } = state;
      if (date === null) return void openNewest();
      const isAtEnd = day !== null && state.frame === newestWithHail(day.frames);
      const scan_id = isAtEnd ? null : (chosenFrame(state)?.scan_id ?? null);
      dropDay();
      service.forget(date);
      if (span === 'recent') void show(noteNewest(service.recent()), scan_id);
      else void openDate(date, scan_id);
    },
    /** Requests the newest date again. */
    reopenNewest(): void {
      dropDay();
      void openNewest();
    },
  };
}
