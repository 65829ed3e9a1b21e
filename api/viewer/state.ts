import { batch, signal } from '@preact/signals';
import type { DayIndex, Frame, LngLat, MapPlace, Span, View } from './data/day.ts';

/** An object whose properties are signals: components and effects that read one are run again when it changes. */
export function reactive<Values extends object>(initial: Values): Values {
  const held = Object.fromEntries(Object.entries(initial).map(([name, value]) => [name, signal(value)]));
  return new Proxy(initial, {
    get: (_, name: string) => held[name]?.value,
    set: (_, name: string, value) => {
      held[name].value = value;
      return true;
    },
  });
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
  /** Id of the chosen scan; null for the newest with hail, further ones included. */
  scan_id: null as string | null,

  day: null as DayIndex | null,
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
  /** The service's clock, as far as it is known, epoch milliseconds; every two seconds. */
  now_ms: Date.now(),

  /** What of a link or a request could not be shown as it was asked for. */
  notice: null as string | null,
  /** What is wrong, and what may help. */
  trouble: null as { readonly words: string; readonly label?: string; readonly act?: () => void } | null,
  dialog: null as 'key-dialog' | 'days' | 'account' | 'share' | 'help' | null,
  key: null as string | null,
  /** Why the last key was refused. */
  key_trouble: null as string | null,
  /** Neither the plan nor the account has a limit: prices say nothing. False while it is not known. */
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

/** The newest scan with hail, else the newest scan; undefined without scans. */
export const newestWithHail = (frames: readonly Frame[]): Frame | undefined =>
  frames.findLast(({ storms }) => storms.length > 0) ?? frames.at(-1);

/** What the state keeps of a scan that is chosen: its id; null for the newest with hail, which further ones follow. */
export const keptId = (frames: readonly Frame[], scan_id: string): string | null =>
  scan_id === newestWithHail(frames)?.scan_id ? null : scan_id;

/** The chosen scan of the day; undefined without scans. */
export function chosenFrame(): Frame | undefined {
  const frames = state.day?.frames ?? [];
  return frames.find(({ scan_id }) => scan_id === state.scan_id) ?? newestWithHail(frames);
}

/** Storm date of the chosen scan; that of the page without one. The first scans of the last 24 hours are of the date before. */
export function chosenDate({ day, view, date } = state): string | null {
  const before = day?.before;
  const shown = view === 'scan' ? chosenFrame() : undefined;
  return before && shown && day.frames.indexOf(shown) < before.scans ? before.date : date;
}
