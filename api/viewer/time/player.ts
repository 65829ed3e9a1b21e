import { showFrame } from '../display.ts';
import { wait } from '../page/page.ts';
import { chosenFrame, state } from '../state.ts';
import { axisOf, playingTimes } from './span.ts';

export const SPEEDS = [1, 2, 4, 8];
/** The last scan is shown for this long before playing begins again. */
const LAST_STAY_MS = 1200;
/** Playing looks this often whether a further scan is due, and goes on by no more than the other at once. */
const [TICK_MS, TICK_MAX_MS] = [40, 400];
/** Counts the runs of the player: a run ends when another begins or playing is paused. */
let run = 0;

const frames = () => state.day?.frames ?? [];
/** Index of the scan that is shown; -1 of a whole day. */
const shownIndex = () => frames().findIndex((frame) => state.view === 'scan' && frame === chosenFrame());

/** Shows each scan when it is due; those that would come late are left out. */
async function play(): Promise<void> {
  const own = ++run;
  state.playing = true;
  const isAtEnd = shownIndex() === frames().length - 1;
  let played_ms = isAtEnd ? 0 : (playingTimes(axisOf(frames()))[shownIndex()] ?? 0);
  while (own === run && state.playing && frames().length > 1) {
    const began_ms = performance.now();
    const times = playingTimes(axisOf(frames()));
    const due = times.findLastIndex((time_ms) => time_ms <= played_ms);
    if (due !== shownIndex()) await showFrame(frames()[due]);
    const isLast = due === times.length - 1;
    await wait(isLast ? LAST_STAY_MS : TICK_MS);
    const passed_ms = Math.min(TICK_MAX_MS, performance.now() - began_ms);
    played_ms = isLast ? 0 : played_ms + SPEEDS[state.speed] * passed_ms;
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
  void showFrame(frames()[index]);
}

/** Shows the scan `by` steps from the current one; from the whole day the first or the last. */
export function stepScan(by: number): void {
  const { length } = frames();
  const shown = shownIndex();
  const from = shown < 0 && by < 0 ? length : shown;
  if (length > 0) goToScan(Math.min(length - 1, Math.max(0, from + by)));
}

/** Plays faster; after the fastest slowly again. */
export function quicken(): void {
  state.speed = (state.speed + 1) % SPEEDS.length;
}
