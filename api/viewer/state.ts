import { type Address, writeAddress } from './address.ts';
import type { DayIndex, Frame, MapPlace, Span, View } from './data/day.ts';
import type { LngLat } from './map/coverage.ts';

/** What the page shows, or is about to show. One object, which the modules of the page share. */
export interface State {
  /** Counts the reader's requests for a date: the answer to an earlier request is dropped. */
  turn: number;
  date: string | null;
  view: View;
  /** What the timeline spans: the last 24 hours, or `date`. */
  span: Span;
  reflectivity: boolean;
  /** Ids of the layers that are on. */
  layers: readonly string[];
  /** Index of the scan in `day.frames`. */
  frame: number | null;
  day: DayIndex | null;
  /** Newest date of the service, as far as the page knows. */
  newest: string | null;
  /** Scan that was requested and is not shown yet: it survives a refusal on the way. */
  wanted: string | null;
  /** The map stands where the reader or the address wants it. */
  placed: boolean;
  /** The place of the pin. */
  pin: LngLat | null;
  /** A shape is being drawn, which has the clicks on the map. */
  drawing: boolean;
  /** A date has been shown: the first date is shown where the address says. */
  shown: boolean;
}

/** The state at the start of the page. */
export function openState({ date, view, span, reflectivity, layers, frame, place, pin }: Address): State {
  return {
    turn: 0,
    date,
    view,
    span,
    reflectivity,
    layers,
    frame: null,
    day: null,
    newest: null,
    wanted: frame,
    placed: place !== null,
    pin,
    drawing: false,
    shown: false,
  };
}

/** The chosen scan of the day; undefined without scans. */
export function chosenFrame({ day, frame }: State): Frame | undefined {
  return frame === null ? undefined : day?.frames[frame];
}

/** Archive that the view shows; null or undefined without one. */
export function chosenUrl(state: State): string | null | undefined {
  return state.view === 'day' ? (state.day?.daily_url ?? state.day?.before?.daily_url) : chosenFrame(state)?.url;
}

/** Storm date of the chosen scan; that of the page without one. The first scans of the last 24 hours are of the date before. */
export function chosenDate({ day, frame, view, date }: State): string | null {
  const before = day?.before ?? null;
  return view === 'scan' && before !== null && frame !== null && frame < before.scans ? before.date : date;
}

/** Index of the newest scan with hail, else of the newest scan; null without scans. */
export function newestWithHail(frames: readonly Frame[]): number | null {
  const found = frames.findLastIndex(({ storms }) => storms.length > 0);
  return found >= 0 ? found : frames.length > 0 ? frames.length - 1 : null;
}

/** Hash of the address that shows this state at this place. */
export function stateAddress(state: State, place: MapPlace): string {
  const { view, span, reflectivity, layers, day, wanted, pin } = state;
  const shown = day?.date === state.date ? chosenFrame(state)?.scan_id : undefined;
  const date = chosenDate(state);
  return writeAddress({ date, view, span, frame: wanted ?? shown ?? null, reflectivity, layers, place, pin });
}
