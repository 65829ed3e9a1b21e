import { signal } from '@preact/signals';
import { type Address, writeAddress } from './address.ts';
import type { DayIndex, Frame, LngLat, MapPlace, Span, View } from './data/day.ts';

/** What the page shows, or is about to show. */
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
  /** Middle and zoom of the map; null before the reader or the address has chosen them. */
  place: MapPlace | null;
  /** The place of the pin. */
  pin: LngLat | null;
  /** A shape is being drawn, which has the clicks on the map. */
  drawing: boolean;
  /** A date has been shown: the first date is shown where the address says. */
  shown: boolean;
  /** Counts the pictures that the map has finished: who asks the map what it draws reads this first. */
  drawn: number;
}

/** An object whose properties are signals: components and effects that read one are run again when it changes. */
export function reactive<Values extends object>(initial: Values): Values {
  const properties = Object.entries(initial).map(([name, value]) => {
    const held = signal(value);
    const set = (next: unknown) => {
      held.value = next;
    };
    return [name, { enumerable: true, get: () => held.value, set }] as const;
  });
  return Object.defineProperties({}, Object.fromEntries(properties)) as Values;
}

/** The one state of the page. Whoever changes it assigns; whoever reads it in a component or an effect follows it. */
export const state = reactive<State>({
  turn: 0,
  date: null,
  view: 'day',
  span: 'recent',
  reflectivity: false,
  layers: [],
  frame: null,
  day: null,
  newest: null,
  wanted: null,
  place: null,
  pin: null,
  drawing: false,
  shown: false,
  drawn: 0,
});

/** Sets what an address names. */
export function setAddress({ frame, ...named }: Address): void {
  Object.assign(state, named, { wanted: frame });
}

/** The chosen scan of the day; undefined without scans. */
export function chosenFrame({ day, frame } = state): Frame | undefined {
  return frame === null ? undefined : day?.frames[frame];
}

/** Archive that the view shows; null or undefined without one. */
export function chosenUrl({ view, day } = state): string | null | undefined {
  return view === 'day' ? (day?.daily_url ?? day?.before?.daily_url) : chosenFrame()?.url;
}

/** Storm date of the chosen scan; that of the page without one. The first scans of the last 24 hours are of the date before. */
export function chosenDate({ day, frame, view, date } = state): string | null {
  const before = day?.before ?? null;
  return view === 'scan' && before !== null && frame !== null && frame < before.scans ? before.date : date;
}

/** Index of the newest scan with hail, else of the newest scan; null without scans. */
export function newestWithHail(frames: readonly Frame[]): number | null {
  const found = frames.findLastIndex(({ storms }) => storms.length > 0);
  return found >= 0 ? found : frames.length > 0 ? frames.length - 1 : null;
}

/** Hash of the address that shows the state. */
export function stateAddress(): string {
  const { day, date, wanted } = state;
  const shown = day?.date === date ? chosenFrame()?.scan_id : undefined;
  return writeAddress({ ...state, date: chosenDate(), frame: wanted ?? shown ?? null });
}
