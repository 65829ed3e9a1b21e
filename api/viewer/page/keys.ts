import type { LngLat } from '../data/day.ts';
import { covered, fitHail, pinPlace } from '../display.ts';
import { switchLayer } from '../layers/card.tsx';
import { is_embedded, theMap } from '../site.ts';
import { state } from '../state.ts';
import { chooseView, refresh, step, stepDay } from '../time/dates.ts';
import { quicken, stepScan, togglePlaying } from '../time/player.ts';
import { opening } from './parts.tsx';
import { closeWatch } from './watch.tsx';

type Acts = Readonly<Record<string, () => unknown>>;

const PAN_PX = 120;
const pan = (x: number, y: number) => () => theMap()?.map.panBy([x * PAN_PX, y * PAN_PX]);
/** The middle of what is seen of the map between the cards. */
const atMiddle = (act: (at: LngLat) => void) => {
  const { left, right, top, bottom } = covered();
  const middle = theMap()?.map.unproject([(left + innerWidth - right) / 2, (top + innerHeight - bottom) / 2]);
  if (middle) act({ lng: middle.lng, lat: middle.lat });
};
const find = () => document.getElementById('find-text')?.focus();
const closer = () => theMap()?.map.zoomIn();
const WHOLE = { recent: 'recent', date: 'day' } as const;

/** Keys for the help, what they do, and each by name: `v`, `shift ArrowLeft`; `map Enter` counts while the map has the focus. */
export const KEYS: readonly (readonly [keys: string, words: string, acts: Acts])[] = [
  ['← →', 'day with hail before, after', { ArrowLeft: () => step(-1), ArrowRight: () => step(1) }],
  ['[ ]', 'day before, day after, with hail or without', { '[': () => stepDay(-1), ']': () => stepDay(1) }],
  ['C · H', 'list of hail days · last 24 hours', { c: opening('days'), h: () => chooseView('recent') }],
  [', .', 'scan before, scan after', { ',': () => stepScan(-1), '.': () => stepScan(1) }],
  ['space · S', 'play and pause · speed', { ' ': togglePlaying, s: quicken }],
  ['V', 'all hail or scan by scan', { v: () => chooseView(state.view === 'day' ? 'scan' : WHOLE[state.span]) }],
  [
    'shift ← → ↑ ↓',
    'move the map',
    {
      'shift ArrowLeft': pan(-1, 0),
      'shift ArrowRight': pan(1, 0),
      'shift ArrowUp': pan(0, -1),
      'shift ArrowDown': pan(0, 1),
    },
  ],
  ['+ −', 'closer, farther', { '+': closer, '=': closer, '-': () => theMap()?.map.zoomOut() }],
  ['enter', 'size at the middle of the map, while the map has the focus', { 'map Enter': () => atMiddle(pick) }],
  ['/ · P', 'find a place · pin the middle of the map', { '/': find, p: () => atMiddle(pinPlace) }],
  ['E', 'reflectivity under the hail, on and off', { e: switchReflectivity }],
  ['F · R', 'show all hail · look for newer scans', { f: () => fitHail(), r: refresh }],
];
const ACTS: Acts = Object.assign({ Escape: closeTopmost }, ...KEYS.map(([, , acts]) => acts));
/** A frame of another site has neither dialogs nor the cards of a place. */
const NOT_EMBEDDED = ['c', 'p', '/'];

/** Says the size at a place, unless a shape is being drawn, which has the clicks. */
export function pick({ lng, lat }: LngLat): void {
  if (!state.drawing) state.spot = { lng, lat };
}

/** One thing at a time, the topmost first. A shape in the making has the key: it starts again. */
function closeTopmost(): void {
  if (state.drawing) return;
  if (state.spot) state.spot = null;
  else if (state.watching) closeWatch();
}

/** Reflectivity belongs to single scans: switching it on shows a scan. */
function switchReflectivity(): void {
  const on = !state.layers.includes('reflectivity');
  switchLayer('reflectivity', on);
  if (on) chooseView('scan');
}

/** Fields, open dialogs and what handled a key itself keep their keys, buttons keep space and enter. */
export function onKey(event: KeyboardEvent): void {
  const target = event.target as HTMLElement;
  const isTaken = event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || state.dialog !== null;
  if (isTaken || target.matches('input:not([type="checkbox"]), select, textarea')) return;
  if (target.matches('button, input') && [' ', 'Enter'].includes(event.key)) return;
  const name = nameOf(event, target);
  if (!(name in ACTS) || (is_embedded && NOT_EMBEDDED.includes(name))) return;
  event.preventDefault();
  // Arrows and signs go on while they are held down; what a letter does is done once.
  if (!event.repeat || !/^[a-z ]$/.test(name)) ACTS[name]();
}

function nameOf({ key, shiftKey }: KeyboardEvent, target: HTMLElement): string {
  if (key.length === 1) return key.toLowerCase();
  if (shiftKey) return `shift ${key}`;
  return key === 'Enter' && target.matches('canvas') ? `map ${key}` : key;
}
