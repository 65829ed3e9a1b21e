import type { LngLat } from '../data/day.ts';
import { fitHail, pinPlace } from '../display.ts';
import { switchLayer } from '../layers/card.tsx';
import { is_embedded, theMap } from '../site.ts';
import { change, state } from '../state.ts';
import { chooseView, refresh, step, stepDay } from '../time/dates.ts';
import { quicken, stepScan, togglePlaying } from '../time/player.ts';
import { closeIdleWatch } from './watch.tsx';

const PAN_PX = 120;

/** Keys with what they do, for the help. */
export const KEYS = [
  ['← →', 'day with hail before, after'],
  ['[ ]', 'day before, day after, with hail or without'],
  ['C · H', 'list of hail days · last 24 hours'],
  [', .', 'scan before, scan after'],
  ['space · S', 'play and pause · speed'],
  ['V', 'all hail or scan by scan'],
  ['shift ← → ↑ ↓', 'move the map'],
  ['+ −', 'closer, farther'],
  ['enter', 'size at the middle of the map, while the map has the focus'],
  ['/ · P', 'find a place · pin the middle of the map'],
  ['E', 'reflectivity under the hail, on and off'],
  ['F · R', 'show all hail · look for newer scans'],
] as const;

/** Says the size at a place, unless a shape is being drawn, which has the clicks. */
export function pick({ lng, lat }: LngLat): void {
  if (!state.drawing) state.spot = { lng, lat };
}

const pan = (x: number, y: number) => theMap()?.map.panBy([x * PAN_PX, y * PAN_PX]);
const atMiddle = (act: (at: LngLat) => void) => {
  const middle = theMap()?.map.getCenter();
  if (middle) act(middle);
};

/** One thing at a time, the topmost first. A shape in the making has the key: it starts again. */
function closeTopmost(): void {
  if (state.drawing) return;
  if (state.spot) state.spot = null;
  else closeIdleWatch();
}

/** Reflectivity belongs to single scans: switching it on shows a scan. */
function switchReflectivity(): void {
  const on = !state.layers.includes('reflectivity');
  switchLayer('reflectivity', on);
  if (on) chooseView('scan');
}

/** What keys do, by name: `v`, `ArrowLeft`, `shift ArrowLeft`; `map Enter` counts only while the map has the focus. */
const ACTS: Readonly<Record<string, () => unknown>> = {
  ArrowLeft: () => step(-1),
  ArrowRight: () => step(1),
  '[': () => stepDay(-1),
  ']': () => stepDay(1),
  h: () => chooseView('recent'),
  s: quicken,
  ',': () => stepScan(-1),
  '.': () => stepScan(1),
  ' ': togglePlaying,
  v: () => chooseView(state.view === 'day' ? 'scan' : state.span === 'recent' ? 'recent' : 'day'),
  e: switchReflectivity,
  f: () => fitHail(),
  r: refresh,
  '+': () => theMap()?.map.zoomIn(),
  '=': () => theMap()?.map.zoomIn(),
  '-': () => theMap()?.map.zoomOut(),
  'shift ArrowLeft': () => pan(-1, 0),
  'shift ArrowRight': () => pan(1, 0),
  'shift ArrowUp': () => pan(0, -1),
  'shift ArrowDown': () => pan(0, 1),
  'map Enter': () => atMiddle(pick),
  Escape: closeTopmost,
  // A frame of another site has neither dialogs nor the cards of a place.
  ...(!is_embedded && {
    c: () => change({ dialog: 'days' }),
    p: () => atMiddle(({ lng, lat }) => pinPlace({ lng, lat })),
    '/': () => document.getElementById('find-text')?.focus(),
  }),
};

/** Fields, open dialogs and what handled a key itself keep their keys, buttons keep space and enter. */
export function onKey(event: KeyboardEvent): void {
  const target = event.target as HTMLElement;
  const isTaken = event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || state.dialog !== null;
  if (isTaken || target.matches('input:not([type="checkbox"]), select, textarea')) return;
  if (target.matches('button, input') && [' ', 'Enter'].includes(event.key)) return;
  const act = ACTS[nameOf(event, target)];
  if (!act) return;
  event.preventDefault();
  act();
}

function nameOf({ key, shiftKey }: KeyboardEvent, target: HTMLElement): string {
  if (key.length === 1) return key.toLowerCase();
  if (shiftKey) return `shift ${key}`;
  return key === 'Enter' && target.matches('canvas') ? `map ${key}` : key;
}
