import { openKeyDialog, readKey } from './api-key.ts';
import type { Archives } from './archives.ts';
import type { Display } from './display.ts';
import type { HailMap } from './map.ts';
import { setBusy, setDateField, setTrouble } from './panel.ts';
import { type DayIndex, type Service, ServiceError } from './service.ts';
import { newestWithHail, type State } from './state.ts';
import { addDays } from './words.ts';

/** Stepping through dates requests only the date at which the reader stops. */
const STEP_MS = 250;

export type Dates = ReturnType<typeof openDates>;

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
  const keyDialog = openKeyDialog(retry);
  let stepping: ReturnType<typeof setTimeout> | undefined;

  function openDate(date: string, scan_id: string | null = null): Promise<void> {
    state.date = date;
    setDateField(date);
    return show(service.day(date), scan_id);
  }

  /** Opens the newest date with data. */
  function openNewest(): Promise<void> {
    return show(service.newest(), state.wanted);
  }

  async function show(asked: Promise<DayIndex>, scan_id: string | null): Promise<void> {
    const turn = ++state.turn;
    state.wanted = scan_id;
    display.timeline.pause();
    setTrouble(null);
    setBusy(true);
    try {
      const day = await asked;
      if (turn === state.turn) await display.showDay(day, scan_id);
    } catch (error) {
      if (turn === state.turn) showError(error);
    } finally {
      if (turn === state.turn) setBusy(false);
    }
  }

  function showError(error: unknown) {
    display.showFailure();
    const words = error instanceof Error ? error.message : String(error);
    if (!(error instanceof ServiceError) || !error.needs_key) return setTrouble(words, 'Try again', retry);
    keyDialog.ask(readKey() === null ? null : words);
    setTrouble(words, 'Enter a key', askForKey);
  }

  function retry(): void {
    void (state.date ? openDate(state.date, state.wanted) : openNewest());
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

  return {
    openDate,
    openNewest,
    askForKey,
    /** Opens the date some days from the current one. */
    step(days: number): void {
      if (state.date === null) return;
      const date = addDays(state.date, days);
      state.date = date;
      setDateField(date);
      clearTimeout(stepping);
      stepping = setTimeout(() => void openDate(date), STEP_MS);
    },
    /** Requests the date again: it may have more scans. */
    refresh(): void {
      const { day, date } = state;
      if (date === null) return void openNewest();
      const isAtEnd = day !== null && state.frame === newestWithHail(day.frames);
      dropDay();
      service.forget(date);
      void openDate(date, isAtEnd ? null : (day?.frames[state.frame ?? -1]?.scan_id ?? null));
    },
    /** Requests the newest date again. */
    reopenNewest(): void {
      dropDay();
      void openNewest();
    },
  };
}
