import type { PaddingOptions } from 'maplibre-gl';
import type { DayIndex, Frame, LngLat } from './data/day.ts';
import { clockInWords, timeInWords } from './page/words.ts';
import { archives, mapOpened, theMap } from './site.ts';
import { change, chosenFrame, chosenUrl, newestWithHail, state } from './state.ts';
import { axisOf, nearestScan } from './time/span.ts';

/** Number of later scans that are prefetched. */
const AHEAD = 6;
const FLIGHT_MS = 600;

/** Shows a date whose list has arrived, with this scan, or the nearest to it, if it was asked for. */
export async function showDay(day: DayIndex, scan_id: string | null): Promise<void> {
  const isOther = day.date !== state.day?.date || day.before?.date !== state.day?.before?.date;
  const wanted = scan_id === null ? -1 : findScan(day, scan_id);
  const kept =
    isOther || state.frame === null ? newestWithHail(day.frames) : Math.min(state.frame, day.frames.length - 1);
  change({ day, date: day.date, wanted: null, frame: wanted >= 0 ? wanted : kept });
  const map = await mapOpened;
  if (state.day !== day) return;
  if (isOther) map.clear();
  const hail = day.frames.flatMap(({ storms }) => storms);
  // Hail of another date may lie outside the map's current view.
  if (state.place === null || (isOther && state.shown && hail.length > 0 && !map.shows(hail))) await fitHail(false);
  change({ place: map.place(), shown: true });
  await showView();
}

/** Shows the same span after further scans have arrived: place, view and scan stay, but the newest scan is followed. */
export async function updateDay(day: DayIndex): Promise<void> {
  const isAtEnd = state.day !== null && state.frame === newestWithHail(state.day.frames);
  const kept = chosenFrame()?.scan_id;
  const index = isAtEnd ? -1 : day.frames.findIndex(({ scan_id }) => scan_id === kept);
  change({ day, date: day.date, frame: index >= 0 ? index : newestWithHail(day.frames) });
  await showView();
}

/** Index of a scan, or of the nearest one, which is said in words; -1 on a date without scans. */
function findScan({ frames }: DayIndex, scan_id: string): number {
  const found = frames.findIndex((frame) => frame.scan_id === scan_id);
  if (found >= 0 || frames.length === 0) return found;
  const time = scan_id.replace(/^(.{4})(..)(..)T(..)(..)(..)Z$/, '$1-$2-$3T$4:$5:$6Z');
  const nearest = nearestScan(axisOf(frames), Date.parse(time));
  state.notice =
    nearest < 0
      ? `This link names the scan “${scan_id}”, which is not published.`
      : `No scan of ${timeInWords(time)} is published. The nearest is shown, of ${clockInWords(frames[nearest].scan_time)}.`;
  return nearest;
}

/** Shows the scan of this index. Resolves once it is drawn. */
export function showFrame(index: number): Promise<void> {
  change({ view: 'scan', frame: index });
  return showView();
}

/** Draws the day or the scan, as chosen; nothing on a date without scans. Resolves once it is drawn. */
export async function showView(): Promise<void> {
  const map = await mapOpened;
  const { day, view } = state;
  const frame = view === 'scan' ? chosenFrame() : undefined;
  const url = chosenUrl();
  if (!day || day.frames.length === 0 || !url) {
    map.clear();
    change({ loading: false, ...(url ? {} : { spot: null }) });
    return;
  }
  state.loading = true;
  if (frame) prefetch(day.frames, state.frame ?? 0);
  const { daily_url = null, from = '' } = day.before ?? {};
  const before = view === 'day' && daily_url !== null && daily_url !== url ? { from, daily_url } : null;
  await map.show({ view, url, before });
  if (chosenUrl() !== url) return;
  await hatchUncovered();
  state.loading = false;
}

function prefetch(frames: readonly Frame[], index: number): void {
  const near = [...frames.slice(index + 1, index + 1 + AHEAD), ...frames.slice(Math.max(0, index - 1), index)];
  for (const { url, reflectivity_url } of near) {
    archives.prefetch(url);
    if (state.layers.includes('reflectivity') && reflectivity_url !== null) archives.prefetch(reflectivity_url);
  }
}

/** Hatches areas without radar coverage: of the scan that is shown, or of the newest scan of the day. */
async function hatchUncovered(): Promise<void> {
  const { day, view, frame } = state;
  const url = (view === 'day' ? day?.frames.at(-1) : chosenFrame())?.url;
  const note = url === undefined ? null : await archives.describe(url);
  if (day === state.day && view === state.view && frame === state.frame) theMap()?.hatch(note?.uncovered ?? null);
}

/** Brings all hail of the date into view: its storms, and the bounds of hail in the archives. */
export async function fitHail(animate = true): Promise<void> {
  const { day } = state;
  const urls = [day?.daily_url, day?.before?.daily_url, chosenFrame()?.url].filter((url) => typeof url === 'string');
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
  if (day === state.day) (await mapOpened).fit([...storms, ...corners], covered(), animate);
}

const boxOf = (id: string) => document.getElementById(id)?.getBoundingClientRect();
/** Upper edges of the cards that come from below on phones; one that is not shown has no height. */
const edgesBelow = () =>
  [...document.querySelectorAll('#foot, #pin, #watch, #layers:not(.folded)')]
    .map((card) => card.getBoundingClientRect())
    .flatMap(({ height, top }) => (height > 0 ? [top] : []));

/** Part of the map that the cards cover: on phones those at the top and from below, elsewhere those on the left side. */
function covered(): PaddingOptions {
  const [panel, foot, pin] = [boxOf('panel') ?? new DOMRect(), boxOf('foot') ?? new DOMRect(), boxOf('pin')];
  const isWide = panel.width < innerWidth / 2;
  const floor = isWide ? foot.top : Math.min(innerHeight, ...edgesBelow());
  const margin = Math.min(30, Math.max(0, floor - panel.bottom) / 6);
  const bottom = innerHeight - floor + margin;
  return isWide
    ? { top: Math.min(70, innerHeight / 8), bottom, left: (pin ?? panel).right + margin, right: 90 }
    : { top: panel.bottom + margin, bottom, left: margin, right: margin };
}

/** Pins a place, and moves it to where no card lies over it: in any case with a `zoom`, else where one does. */
export function pinPlace(pin: LngLat, pin_name: string | null = null, zoom?: number): void {
  change({ pin, pin_name });
  // The card of the pin is on the page after this task.
  setTimeout(() => {
    const map = theMap()?.map;
    if (!map) return;
    const { x, y } = map.project(pin);
    if (zoom === undefined && document.elementFromPoint(x, y)?.tagName === 'CANVAS') return;
    const options = { padding: covered(), maxZoom: zoom ?? map.getZoom(), duration: FLIGHT_MS };
    map.fitBounds([pin.lng, pin.lat, pin.lng, pin.lat], options);
  });
}
