import { showFrame } from '../display.ts';
import { state } from '../state.ts';
import { axisOf, playingTimes } from './span.ts';

export const SPEEDS = [1, 2, 4, 8];
/** The last scan is shown for this long before playing begins again. */
const LAST_STAY_MS = 1200;
/** Counts the runs of the player: a run ends when another begins or playing is paused. */
let run = 0;

const wait = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
const frames = () => state.day?.frames ?? [];

/** Shows each scan when it is due; those that would come late are left out. */
async function play(): Promise<void> {
  const own = ++run;
  const { view, frame } = state;
  state.playing = true;
  let due = view === 'day' || frame === null || frame === frames().length - 1 ? 0 : frame;
  let now_ms = playingTimes(axisOf(frames()))[due] ?? 0;
  while (own === run && state.playing && frames().length > 1) {
    const began_ms = performance.now();
    await showFrame(due);
    const times = playingTimes(axisOf(frames()));
    const isLast = due >= times.length - 1;
    const speed = SPEEDS[state.speed];
    const next_ms = isLast ? LAST_STAY_MS : (times[due + 1] - now_ms) / speed;
    await wait(Math.max(0, next_ms - (performance.now() - began_ms)));
    now_ms = isLast ? 0 : now_ms + speed * (performance.now() - began_ms);
    const later = times.findLastIndex((time) => time <= now_ms);
    due = isLast ? 0 : Math.max(due + 1, later);
    // A scan that took long is not made up for by a jump over many.
    now_ms = Math.max(now_ms, times[due] ?? 0);
  }
  if (own === run) state.playing = false;
}

/** Plays, or pauses. */
export function togglePlaying(): void {
  if (state.playing) state.playing = false;
  else void play();
}

/** Shows the scan of this index, and pauses. */
export function goToScan(index: number): void {
  state.playing = false;
  void showFrame(index);
}

/** Shows the scan `by` steps from the current one; from the whole day the first or the last. */
export function stepScan(by: number): void {
  const { length } = frames();
  if (length === 0) return;
  const from = state.view === 'scan' && state.frame !== null ? state.frame : by > 0 ? -1 : length;
  goToScan(Math.min(length - 1, Math.max(0, from + by)));
}

/** Plays faster; after the fastest slowly again. */
export function quicken(): void {
  state.speed = (state.speed + 1) % SPEEDS.length;
}
