import type { Archives } from './data/archives.ts';
import type { DayIndex, Frame, View } from './data/day.ts';
import type { LayersCard } from './layers/card.ts';
import type { HailMap } from './map/map.ts';
import {
  cardPadding,
  describeDay,
  describeFailure,
  describeReflectivity,
  pressView,
  setClock,
  setDateField,
  setLoading,
  setNotice,
} from './page/panel.ts';
import { clockInWords, dateInWords, timeInWords } from './page/words.ts';
import { openSpot } from './place/spot.ts';
import { chosenDate, chosenFrame, chosenUrl, newestWithHail, type State, stateAddress } from './state.ts';
import { axisOf, nearestScan } from './time/span.ts';
import { openTimeline } from './time/timeline.ts';
import { clockOfZone, ownZone, zoneAt } from './time/zones.ts';

/** Number of later scans that are prefetched. */
const AHEAD = 6;

export type Display = ReturnType<typeof openDisplay>;

/** Draws the state on the map, in the panel, on the timeline and in the address. */
export function openDisplay({
  state,
  map,
  archives,
  layers,
}: {
  state: State;
  map: HailMap;
  archives: Archives;
  layers: LayersCard;
}) {
  const timeline = openTimeline(showFrame);
  const spot = openSpot(map, layers.factsAt);
  timeline.load([]);
  timeline.point(null);
  let announce = () => {};

  /** Shows a date whose list has arrived, with this scan, or the nearest to it, if it was asked for. */
  async function showDay(day: DayIndex, scan_id: string | null): Promise<void> {
    const isOther = day.date !== state.day?.date || day.before?.date !== state.day?.before?.date;
    const wanted = scan_id === null ? -1 : findScan(day, scan_id);
    state.day = day;
    state.date = day.date;
    state.wanted = null;
    if (wanted >= 0) state.frame = wanted;
    else if (isOther || state.frame === null) state.frame = newestWithHail(day.frames);
    else state.frame = Math.min(state.frame, day.frames.length - 1);
    setDateField(day.date);
    if (isOther) map.clear();
    timeline.load(day.frames);
    describeDay(day);
    const hail = day.frames.flatMap(({ storms }) => storms);
    // Hail of another date may lie outside the map's current view.
    if (state.place === null || (isOther && state.shown && hail.length > 0 && !map.shows(hail))) await fitHail(false);
    state.place = map.place();
    state.shown = true;
    updateZone();
    await showView();
  }

  /** Index of a scan, or of the nearest one, which is said in words; -1 on a date without scans. */
  function findScan({ frames }: DayIndex, scan_id: string): number {
    const found = frames.findIndex((frame) => frame.scan_id === scan_id);
    if (found >= 0 || frames.length === 0) return found;
    const time = scan_id.replace(/^(.{4})(..)(..)T(..)(..)(..)Z$/, '$1-$2-$3T$4:$5:$6Z');
    const nearest = nearestScan(axisOf(frames), Date.parse(time));
    setNotice(
      nearest < 0
        ? `This link names the scan “${scan_id}”, which is not published.`
        : `No scan of ${timeInWords(time)} is published. The nearest is shown, of ${clockInWords(frames[nearest].scan_time)}.`,
    );
    return nearest;
  }

  /** Shows the same span after further scans have arrived: place, view and scan stay, but the newest scan is followed. */
  async function updateDay(day: DayIndex): Promise<void> {
    const before = state.day;
    const isAtEnd = before !== null && state.frame === newestWithHail(before.frames);
    const kept = chosenFrame(state)?.scan_id;
    const index = isAtEnd ? -1 : day.frames.findIndex(({ scan_id }) => scan_id === kept);
    state.day = day;
    state.date = day.date;
    state.frame = index >= 0 ? index : newestWithHail(day.frames);
    setDateField(day.date);
    timeline.load(day.frames);
    describeDay(day);
    await showView();
  }

  /** Draws the day or the scan, as chosen; nothing on a date without scans. */
  async function showView(): Promise<void> {
    const { day, view, span } = state;
    describeReflectivity(state);
    pressView(view === 'day' && span === 'recent' ? 'recent' : view);
    if (!day || day.frames.length === 0) return showNothing();
    if (view === 'scan' && state.frame !== null) return showFrame(state.frame);
    timeline.pause();
    timeline.point(null);
    updateClock();
    updateAddress();
    map.setReflectivity(null);
    const url = chosenUrl(state);
    if (!url) return map.clear();
    await draw('day', url);
  }

  /** Time of the scan that is shown, in UTC, at the middle of the map and on the reader's own clock. */
  function updateClock(): void {
    const { day, view } = state;
    const last = day?.frames.at(-1);
    const shown = view === 'scan' ? chosenFrame(state) : last;
    if (!day || !shown) {
      setClock('–', '', '');
      return;
    }
    const zone = zoneAt(map.place());
    const there = zone === null ? '' : clockOfZone(shown.scan_time, zone);
    const here = clockOfZone(shown.scan_time, ownZone());
    const own = here === '' || here === there ? '' : `your clock ${here}`;
    if (view === 'scan') {
      setClock(clockInWords(shown.scan_time), there || dateInWords(chosenDate(state) ?? ''), own);
      return;
    }
    const title = state.span === 'recent' ? '24 hours' : dateInWords(day.date ?? '');
    setClock(title, `until ${clockInWords(shown.scan_time)}`, there === '' ? own : `until ${there}`);
  }

  /** Follows the middle of the map: local time is that of its place. */
  function updateZone(): void {
    timeline.setZone(zoneAt(map.place()));
    updateClock();
  }

  function showNothing(): void {
    describeReflectivity(state);
    map.clear();
    spot.close();
    timeline.point(null);
    updateClock();
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
    state.view = 'scan';
    pressView('scan');
    state.frame = index;
    timeline.point(index);
    updateClock();
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
    const { before } = state.day ?? {};
    const { daily_url = null, from = '' } = before ?? {};
    const shown = view === 'day' && daily_url !== null && daily_url !== url ? { from, daily_url } : null;
    await map.show({ view, url, before: shown });
    if (chosenUrl(state) !== url) return;
    await hatchUncovered();
    setLoading(false);
    layers.sync();
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
    const urls = [day?.daily_url, day?.before?.daily_url, chosenFrame(state)?.url].filter(
      (url) => typeof url === 'string',
    );
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
    history.replaceState(null, '', stateAddress());
    layers.sync();
    announce();
  }

  return {
    timeline,
    spot,
    showDay,
    updateDay,
    updateZone,
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
