import { batch, signal } from '@preact/signals';
import { type Address, writeAddress } from './address.ts';
import type { DayIndex, Frame, LngLat, MapPlace, Span, View } from './data/day.ts';

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

/** What the page shows, or is about to show. Whoever changes it assigns; whoever reads it in a component or an effect follows it. */
export const state = reactive({
  date: null as string | null,
  view: 'day' as View,
  /** What the timeline spans: the last 24 hours, or `date`. */
  span: 'recent' as Span,
  /** Ids of the layers that are on. */
  layers: [] as readonly string[],
  /** Middle and zoom of the map; null before the reader or the address has chosen them. */
  place: null as MapPlace | null,
  /** The place of the pin, and the name under which it was found. */
  pin: null as LngLat | null,
  pin_name: null as string | null,
  /** Scan that was requested and is not shown yet: it survives a refusal on the way. */
  wanted: null as string | null,

  /** Counts the reader's requests for a date: the answer to an earlier request is dropped. */
  turn: 0,
  day: null as DayIndex | null,
  /** Index of the scan in `day.frames`. */
  frame: null as number | null,
  /** Newest date of the service, as far as the page knows. */
  newest: null as string | null,
  /** A date is being read. */
  busy: true,
  /** The view is being drawn. */
  loading: false,
  /** A date has been shown: the first date is shown where the address says. */
  shown: false,
  /** Counts the pictures that the map has finished: who asks the map what it draws reads this first. */
  drawn: 0,
  playing: false,
  /** Index in `SPEEDS` of the player. */
  speed: 0,
  /** Further scans are loaded by themselves. */
  live: true,
  /** The service has said what time it has. */
  looked: false,
  /** Feeds of which the service never collected anything, as far as it says. */
  never_collected: new Set() as ReadonlySet<string>,
  /** The service's clock, as far as it is known, epoch milliseconds; every ten seconds. */
  now_ms: Date.now(),

  /** What of a link or a request could not be shown as it was asked for. */
  notice: null as string | null,
  /** What is wrong, and what may help. */
  trouble: null as { readonly words: string; readonly label?: string; readonly act?: () => void } | null,
  dialog: null as 'key-dialog' | 'days' | 'account' | 'share' | 'help' | null,
  key: null as string | null,
  /** Why the last key was refused. */
  key_trouble: null as string | null,
  /** Neither the plan nor the account has a limit: prices say nothing. */
  unlimited: false,
  /** The card for watching a place is open. */
  watching: false,
  /** A shape is being drawn, which has the clicks on the map, or its secret is shown. */
  drawing: false,
  /** The place of which the map says the size. */
  spot: null as LngLat | null,
});
type State = typeof state;
export type DialogId = NonNullable<State['dialog']>;

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
  const { day, date, wanted, view, span, layers, place, pin } = state;
  const isRead = day?.date === date;
  const frame = wanted ?? (isRead ? chosenFrame()?.scan_id : null) ?? null;
  return writeAddress({ view, span, layers, place, pin, date: isRead ? chosenDate() : date, frame });
}
