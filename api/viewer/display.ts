import { LngLatBounds, type PaddingOptions } from 'maplibre-gl';
import type { DayIndex, Frame, LngLat } from './data/day.ts';
import { archives, mapOpened, theMap } from './site.ts';
import { change, chosenFrame, keptId, state } from './state.ts';

/** Number of later scans that are prefetched. */
const AHEAD = 6;
const FLIGHT_MS = 600;
/** Width of the buttons of the map at its right edge. */
const CONTROLS_PX = 90;

/** Shows a day. Place, view and scan stay; the map moves if no storm of another date is in view. */
export async function showDay(day: DayIndex): Promise<void> {
  const last = state.day?.frames.at(-1)?.scan_id;
  const isOther = !day.frames.some(({ scan_id }) => scan_id === last);
  change({ day, date: day.date });
  const map = await mapOpened;
  if (isOther && state.shown) await map.clear();
  if (state.day !== day) return;
  const hail = day.frames.flatMap(({ storms }) => storms);
  if (state.place === null || (isOther && state.shown && hail.length > 0 && !map.shows(hail))) await fitHail(false);
  change({ place: map.place(), shown: true });
  await showView();
}

/** Shows a scan of the day. Resolves once it is drawn. */
export function showFrame({ scan_id }: Frame): Promise<void> {
  change({ view: 'scan', scan_id: keptId(state.day?.frames ?? [], scan_id) });
  return showView();
}

let drawing = 0;

/** Draws the day or the scan, as chosen; nothing on a date without scans. Resolves once it is drawn. */
export async function showView(): Promise<void> {
  const map = await mapOpened;
  const own = ++drawing;
  const { day, view } = state;
  const isDay = view === 'day';
  const frame = isDay ? day?.frames.at(-1) : chosenFrame();
  if (!day || !frame || (isDay && day.daily_urls.length === 0)) {
    void map.clear();
    return change({ loading: false, spot: null });
  }
  state.loading = true;
  if (!isDay) prefetch(day.frames, day.frames.indexOf(frame));
  await map.show(isDay ? day.daily_urls : [frame.url], isDay ? (day.before?.from ?? '') : '');
  // Of a whole day the newest scan says where radar looked.
  const { uncovered } = await archives.describe(frame.url);
  if (own !== drawing) return;
  map.hatch(uncovered ?? null);
  state.loading = false;
}

function prefetch(frames: readonly Frame[], index: number): void {
  for (const { url, reflectivity_url } of frames.slice(Math.max(0, index - 1), index + 1 + AHEAD)) {
    archives.open(url);
    if (state.layers.includes('reflectivity') && reflectivity_url !== null) archives.open(reflectivity_url);
  }
}

/** Brings all hail of the date into view: its storms, and the bounds of hail in the archives. */
export async function fitHail(animate = true): Promise<void> {
  const { day } = state;
  const urls = [...(day?.daily_urls ?? []), chosenFrame()?.url].filter((url) => url !== undefined);
  const notes = await Promise.all(urls.map(archives.describe));
  const bounds = new LngLatBounds();
  for (const { hail_bounds } of notes) if (hail_bounds) bounds.extend(hail_bounds);
  for (const { lon, lat } of day?.frames.flatMap(({ storms }) => storms) ?? []) bounds.extend([lon, lat]);
  if (day === state.day) (await mapOpened).fit(bounds, covered(), animate);
}

/** Boxes of the cards that are shown. */
const boxesOf = (cards: string) =>
  [...document.querySelectorAll(cards)].map((card) => card.getBoundingClientRect()).filter(({ height }) => height > 0);

/** Part of the map that the cards cover: on phones held upright those at the top and from below, elsewhere those at the sides. */
export function covered(): Required<PaddingOptions> {
  const [panel = new DOMRect()] = boxesOf('#panel');
  const [[pin = panel], [find = panel]] = [boxesOf('#pin'), boxesOf('#find')];
  const isWide = panel.width < innerWidth / 2;
  const below = boxesOf(isWide ? '#foot' : '#foot, #pin, #watch, #layers:not(.folded)');
  const floor = Math.min(innerHeight, ...below.map(({ top }) => top));
  const margin = Math.min(30, Math.max(0, floor - panel.bottom) / 6);
  const bottom = innerHeight - floor + margin;
  if (!isWide) return { top: find.bottom + margin, bottom, left: margin, right: margin };
  const isAtRight = innerWidth - pin.right < CONTROLS_PX;
  const left = (isAtRight ? panel : pin).right + margin;
  return { top: Math.min(70, innerHeight / 8), bottom, left, right: isAtRight ? innerWidth - pin.left : CONTROLS_PX };
}

/** Pins a place, and moves it to where no card lies over it, nor will when it grows: in any case with a `zoom`, else where one may. */
export function pinPlace(pin: LngLat, pin_name: string | null = null, zoom?: number): void {
  change({ pin, pin_name });
  // The card of the pin is on the page after this task.
  setTimeout(() => {
    const map = theMap()?.map;
    if (!map) return;
    const padding = covered();
    const { x, y } = map.project(pin);
    const isClear = x >= padding.left && x <= innerWidth - padding.right && y >= padding.top;
    if (zoom === undefined && isClear && y <= innerHeight - padding.bottom) return;
    const options = { padding, maxZoom: zoom ?? map.getZoom(), duration: FLIGHT_MS };
    map.fitBounds([pin.lng, pin.lat, pin.lng, pin.lat], options);
  });
}
