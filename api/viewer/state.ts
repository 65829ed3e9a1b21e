import { type Address, type MapPlace, type View, writeAddress } from './address.ts';
import type { LngLat } from './coverage.ts';
import type { DayIndex, Frame } from './service.ts';

/** What the page shows, or is about to show. One object, which the modules of the page share. */
export interface State {
  /** Counts the reader's requests for a date: the answer to an earlier request is dropped. */
  turn: number;
  date: string | null;
  view: View;
  reflectivity: boolean;
  /** Index of the scan in `day.frames`. */
  frame: number | null;
  day: DayIndex | null;
  /** Scan that was requested and is not shown yet: it survives a refusal on the way. */
  wanted: string | null;
  /** The map stands where the reader or the address wants it. */
  placed: boolean;
  /** The place of the pin. */
  pin: LngLat | null;
  /** Clicks on the map measure. */
  measuring: boolean;
  /** A date has been shown: the first date is shown where the address says. */
  shown: boolean;
}

/** The state at the start of the page. */
export function openState({ date, view, reflectivity, frame, place, pin }: Address): State {
  return {
    turn: 0,
    date,
    view,
    reflectivity,
    frame: null,
    day: null,
    wanted: frame,
    placed: place !== null,
    pin,
    measuring: false,
    shown: false,
  };
}

/** The chosen scan of the day; undefined without scans. */
export function chosenFrame({ day, frame }: State): Frame | undefined {
  return frame === null ? undefined : day?.frames[frame];
}

/** Archive that the view shows; null or undefined without one. */
export function chosenUrl(state: State): string | null | undefined {
  return state.view === 'day' ? state.day?.daily_url : chosenFrame(state)?.url;
}

/** Index of the newest scan with hail, else of the newest scan; null without scans. */
export function newestWithHail(frames: readonly Frame[]): number | null {
  const found = frames.findLastIndex(({ storms }) => storms.length > 0);
  return found >= 0 ? found : frames.length > 0 ? frames.length - 1 : null;
}

/** Hash of the address that shows this state at this place. */
export function stateAddress(state: State, place: MapPlace): string {
  const { date, view, reflectivity, day, wanted, pin } = state;
  const shown = day?.date === date ? chosenFrame(state)?.scan_id : undefined;
  return writeAddress({ date, view, frame: wanted ?? shown ?? null, reflectivity, place, pin });
}
