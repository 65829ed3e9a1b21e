import type { View } from './address.ts';
import type { Archives } from './archives.ts';
import type { HailMap } from './map.ts';
import {
  cardPadding,
  describeDay,
  describeFailure,
  describeReflectivity,
  pressView,
  setClock,
  setDateField,
  setLoading,
} from './panel.ts';
import type { DayIndex, Frame } from './service.ts';
import { openSpot } from './spot.ts';
import { chosenFrame, chosenUrl, newestWithHail, type State, stateAddress } from './state.ts';
import { openTimeline } from './timeline.ts';
import { clockInWords, dateInWords, localInWords, type Palette } from './words.ts';

/** Number of later scans that are prefetched. */
const AHEAD = 6;

export type Display = ReturnType<typeof openDisplay>;

/** Draws the state on the map, in the panel, on the timeline and in the address. */
export function openDisplay({
  state,
  map,
  archives,
  palette,
}: {
  state: State;
  map: HailMap;
  archives: Archives;
  palette: Palette;
}) {
  const timeline = openTimeline(palette, showFrame);
  const spot = openSpot(map, palette);
  timeline.load([]);
  timeline.point(null);
  let announce = () => {};

  /** Shows a date whose list has arrived, with this scan if it has it. */
  async function showDay(day: DayIndex, scan_id: string | null): Promise<void> {
    const isOther = day.date !== state.day?.date;
    const asked = day.frames.findIndex((frame) => frame.scan_id === scan_id);
    state.day = day;
    state.date = day.date;
    state.wanted = null;
    if (asked >= 0) state.frame = asked;
    else if (isOther || state.frame === null) state.frame = newestWithHail(day.frames);
    else state.frame = Math.min(state.frame, day.frames.length - 1);
    setDateField(day.date);
    if (isOther) map.clear();
    timeline.load(day.frames);
    describeDay(day, palette);
    const hail = day.frames.flatMap(({ storms }) => storms);
    // Hail of another date may lie outside the map's current view.
    if (!state.placed || (isOther && state.shown && hail.length > 0 && !map.shows(hail))) await fitHail(false);
    state.placed = true;
    state.shown = true;
    await showView();
  }

  /** Draws the day or the scan, as chosen; nothing on a date without scans. */
  async function showView(): Promise<void> {
    const { day, view } = state;
    describeReflectivity(state);
    pressView(view);
    if (!day || day.frames.length === 0) return showNothing();
    if (view === 'scan' && state.frame !== null) return showFrame(state.frame);
    timeline.pause();
    timeline.point(null);
    const last = day.frames[day.frames.length - 1];
    setClock(dateInWords(day.date ?? ''), `until ${clockInWords(last.scan_time)}`);
    updateAddress();
    map.setReflectivity(null);
    if (day.daily_url === null) return map.clear();
    await draw('day', day.daily_url);
  }

  function showNothing(): void {
    describeReflectivity(state);
    map.clear();
    spot.close();
    timeline.point(null);
    setClock('–', '');
    updateAddress();
  }

  /** Removes the day: the date that was requested could not be loaded. */
  function showFailure(): void {
    state.day = null;
    timeline.load([]);
    describeFailure();
    showNothing();
  }

  /** Shows the scan of this index. */
  async function showFrame(index: number): Promise<void> {
    const frames = state.day?.frames ?? [];
    const frame = frames[index];
    if (!frame) return;
    if (state.view !== 'scan') {
      state.view = 'scan';
      pressView('scan');
    }
    state.frame = index;
    timeline.point(index);
    setClock(clockInWords(frame.scan_time), localInWords(frame.scan_time) || dateInWords(frame.scan_time.slice(0, 10)));
    updateAddress();
    describeReflectivity(state);
    map.setReflectivity(state.reflectivity ? frame.reflectivity_url : null);
    const drawing = draw('scan', frame.url);
    prefetch([...frames.slice(index + 1, index + 1 + AHEAD), ...frames.slice(Math.max(0, index - 1), index)]);
    await drawing;
  }

  function prefetch(frames: readonly Frame[]): void {
    for (const { url, reflectivity_url } of frames) {
      archives.prefetch(url);
      if (state.reflectivity && reflectivity_url !== null) archives.prefetch(reflectivity_url);
    }
  }

  async function draw(view: View, url: string): Promise<void> {
    setLoading(true);
    await map.show(view, url);
    if (chosenUrl(state) !== url) return;
    await hatchUncovered();
    setLoading(false);
    spot.update(state.view);
    announce();
  }

  /** Hatches areas without radar coverage: of the scan that is shown, or of the newest scan of the day. */
  async function hatchUncovered(): Promise<void> {
    const { day, view, frame } = state;
    const url = day?.frames[view === 'day' ? day.frames.length - 1 : (frame ?? 0)]?.url;
    const note = url === undefined ? null : await archives.describe(url);
    if (day === state.day && view === state.view && frame === state.frame) map.hatch(note?.uncovered ?? null);
  }

  /** Brings all hail of the date into view: its storms, and the bounds of hail in the archives. */
  async function fitHail(animate: boolean): Promise<void> {
    const { day } = state;
    const urls = [day?.daily_url, chosenFrame(state)?.url].filter((url) => typeof url === 'string');
    const notes = await Promise.all(urls.map((url) => archives.describe(url)));
    const corners = notes.flatMap(({ hail_bounds }) => {
      if (!hail_bounds) return [];
      const [west, south, east, north] = hail_bounds;
      return [
        { lat: south, lon: west },
        { lat: north, lon: east },
      ];
    });
    const storms = day?.frames.flatMap(({ storms }) => storms) ?? [];
    if (day === state.day) map.fit([...storms, ...corners], cardPadding(), animate);
  }

  /** Makes the address show the current state. */
  function updateAddress(): void {
    history.replaceState(null, '', stateAddress(state, map.place()));
    announce();
  }

  return {
    timeline,
    spot,
    showDay,
    showView,
    showFailure,
    fitHail,
    updateAddress,
    /** Calls `act` whenever something else is shown, or the same elsewhere. */
    onShown(act: () => void): void {
      announce = act;
    },
  };
}
