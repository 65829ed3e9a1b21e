import { batch, signal } from '@preact/signals';
import { type Address, writeAddress } from './address.ts';
import type { DayIndex, Frame, LngLat, MapPlace, Span, View } from './data/day.ts';

/** What the reader should know, and what may help. */
export interface Trouble {
  readonly words: string;
  readonly label?: string;
  readonly act?: () => void;
}

export type DialogId = 'key-dialog' | 'days' | 'account' | 'share' | 'help';

/** What the page shows, or is about to show. */
export interface State {
  date: string | null;
  view: View;
  /** What the timeline spans: the last 24 hours, or `date`. */
  span: Span;
  reflectivity: boolean;
  /** Ids of the layers that are on. */
  layers: readonly string[];
  /** Middle and zoom of the map; null before the reader or the address has chosen them. */
  place: MapPlace | null;
  /** The place of the pin. */
  pin: LngLat | null;
  /** Name under which the pinned place was found. */
  pin_name: string | null;
  /** Scan that was requested and is not shown yet: it survives a refusal on the way. */
  wanted: string | null;

  /** Counts the reader's requests for a date: the answer to an earlier request is dropped. */
  turn: number;
  day: DayIndex | null;
  /** Index of the scan in `day.frames`. */
  frame: number | null;
  /** Newest date of the service, as far as the page knows. */
  newest: string | null;
  /** A date is being read. */
  busy: boolean;
  /** The view is being drawn. */
  loading: boolean;
  /** A date has been shown: the first date is shown where the address says. */
  shown: boolean;
  /** Counts the pictures that the map has finished: who asks the map what it draws reads this first. */
  drawn: number;
  playing: boolean;
  /** Index in `SPEEDS` of the player. */
  speed: number;
  /** Further scans are loaded by themselves. */
  live: boolean;
  /** The service has said what time it has. */
  looked: boolean;

  /** What of a link or a request could not be shown as it was asked for. */
  notice: string | null;
  trouble: Trouble | null;
  dialog: DialogId | null;
  key: string | null;
  /** Why the last key was refused. */
  key_trouble: string | null;
  /** Neither the plan nor the account has a limit: prices say nothing. */
  unlimited: boolean;
  /** Counts how often the card for watching a place was opened; 0 while it is closed. */
  watching: number;
  /** A watched place is being saved: what the service answers is shown once. */
  saving: boolean;
  /** A shape is being drawn, which has the clicks on the map. */
  drawing: boolean;
  /** The place of which the map says the size. */
  spot: LngLat | null;
  /** The service's clock, as far as it is known, epoch milliseconds; every ten seconds. */
  now_ms: number;
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
  ...{ date: null, view: 'day', span: 'recent', reflectivity: false, layers: [], place: null },
  ...{ pin: null, pin_name: null, wanted: null },
  ...{ turn: 0, day: null, frame: null, newest: null, busy: true, loading: false, shown: false, drawn: 0 },
  ...{ playing: false, speed: 0, live: true, looked: false },
  ...{ notice: null, trouble: null, dialog: null, key: null, key_trouble: null, unlimited: false },
  ...{ watching: 0, saving: false, drawing: false, spot: null, now_ms: Date.now() },
});

/** Sets some of the state at once. */
export function change(next: Partial<State>): void {
  batch(() => Object.assign(state, next));
}

/** Sets what an address names; without a place the map stays where it is. */
export function setAddress({ frame, place, ...named }: Address): void {
  change({ ...named, wanted: frame, place: place ?? state.place, pin_name: null });
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
  const isRead = day?.date === date;
  const frame = wanted ?? (isRead ? chosenFrame()?.scan_id : null) ?? null;
  return writeAddress({ ...state, date: isRead ? chosenDate() : date, frame });
}
