import type { Frame } from '../data/day.ts';
import { element, penOf } from '../page/page.ts';
import { BASEMAP, stepOf } from '../page/palette.ts';
import { clockInWords, sizeInWords } from '../page/words.ts';
import { axisOf, nearestScan, pixelOf, playingTimes } from './span.ts';
import { hourOfZone } from './zones.ts';

/** Half the width of the slider's thumb in style.css: the first and last bar stand under its middle. */
const INSET_PX = 8;
/** A row of hours; a second one, of local time, where the timeline is high enough. */
const LABELS_PX = 14;
const TWO_ROWS_FROM_PX = 58;
/** A bar of this size fills the height. */
const FULL_MM = 75;
/** Least distance of labels. */
const LABEL_EVERY_PX = 54;
const MINUTE_MS = 60_000;
const LABEL_STEPS_MIN = [10, 15, 30, 60, 120, 180, 240, 360, 720];
/** An outage of this width is labelled. */
const OUTAGE_LABEL_PX = 58;
const SPEEDS = [1, 2, 4, 8];
/** The last scan is shown for this long before playing begins again. */
const LAST_STAY_MS = 1200;

/**
 * Scans as bars of their largest hail on an axis that is true to time, with a slider over them and a player.
 *
 * `show` resolves when the scan of this index is on the map.
 */
export function openTimeline(show: (index: number) => Promise<void>) {
  const canvas = element<HTMLCanvasElement>('bars');
  const slider = element<HTMLInputElement>('scrubber');
  const button = element<HTMLButtonElement>('play');
  const speedButton = element<HTMLButtonElement>('speed');
  let frames: readonly Frame[] = [];
  let axis = axisOf(frames);
  /** Index of the scan under the slider; null: the whole day. */
  let at: number | null = null;
  /** Counts the runs of the player: a run ends when another begins or playing is paused. */
  let run = 0;
  let playing = false;
  let speed = 1;
  let zone: string | null = null;
  let drawing = 0;

  /** Draws once per picture of the browser, however often it is called. */
  const draw = () => {
    cancelAnimationFrame(drawing);
    drawing = requestAnimationFrame(() => drawBars(canvas, { frames, axis, at, zone }));
  };
  new ResizeObserver(draw).observe(canvas);

  const setPlaying = (value: boolean) => {
    playing = value;
    button.textContent = playing ? '❚❚' : '▶';
    button.setAttribute('aria-label', playing ? 'Pause' : 'Play');
    button.title = playing ? 'Pause (space)' : 'Play (space)';
  };
  const pause = () => {
    run++;
    setPlaying(false);
  };
  const wait = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
  /** Shows each scan when it is due; those that would come late are left out. */
  const play = async () => {
    const own = ++run;
    setPlaying(true);
    let due = at === null || at === frames.length - 1 ? 0 : at;
    let now_ms = playingTimes(axis)[due] ?? 0;
    while (own === run && frames.length > 1) {
      const began_ms = performance.now();
      await show(due);
      const times = playingTimes(axis);
      const isLast = due >= times.length - 1;
      const next_ms = isLast ? LAST_STAY_MS : (times[due + 1] - now_ms) / speed;
      await wait(Math.max(0, next_ms - (performance.now() - began_ms)));
      now_ms = isLast ? 0 : now_ms + speed * (performance.now() - began_ms);
      due = isLast
        ? 0
        : Math.max(
            due + 1,
            times.findLastIndex((time) => time <= now_ms),
          );
      // A scan that took long is not made up for by a jump over many.
      now_ms = Math.max(now_ms, times[due] ?? 0);
    }
    if (own === run) setPlaying(false);
  };
  const toggle = () => (playing ? pause() : void play());
  const step = (by: number) => {
    pause();
    if (frames.length === 0) return;
    const from = at ?? (by > 0 ? -1 : frames.length);
    void show(Math.min(frames.length - 1, Math.max(0, from + by)));
  };
  const quicken = () => {
    speed = SPEEDS[(SPEEDS.indexOf(speed) + 1) % SPEEDS.length];
    speedButton.textContent = `${speed}×`;
    speedButton.setAttribute('aria-label', `Speed ${speed}×`);
  };

  button.addEventListener('click', toggle);
  speedButton.addEventListener('click', quicken);
  slider.addEventListener('input', () => {
    pause();
    const index = nearestScan(axis, axis.from_ms + 1000 * Number(slider.value));
    if (index >= 0 && index !== at) void show(index);
  });
  // The slider counts seconds; its arrow keys go from scan to scan.
  slider.addEventListener('keydown', (event) => {
    const by = { ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1 }[event.key];
    if (by === undefined) return;
    event.preventDefault();
    step(by);
  });

  return {
    toggle,
    pause,
    quicken,
    /** Loads other scans; playing goes on when they are the same date with a further scan. */
    load(given: readonly Frame[]): void {
      frames = given;
      axis = axisOf(frames);
      at = null;
      slider.max = String(Math.round((axis.to_ms - axis.from_ms) / 1000));
      slider.disabled = frames.length === 0;
      button.disabled = frames.length < 2;
      speedButton.disabled = frames.length < 2;
      draw();
    },
    /** Moves the slider to a scan; null: the whole day. */
    point(index: number | null): void {
      at = index;
      const frame = index === null ? null : frames[index];
      slider.value =
        index === null ? slider.max : String(Math.round(((axis.times_ms[index] ?? 0) - axis.from_ms) / 1000));
      slider.classList.toggle('resting', index === null);
      slider.setAttribute('aria-valuetext', frame ? frameInWords(frame) : 'whole day');
      draw();
    },
    /** Labels hours in this zone under those of UTC; null for none. */
    setZone(name: string | null): void {
      if (name === zone) return;
      zone = name;
      draw();
    },
    /** Shows the scan `by` steps from the current one. */
    step,
  };
}

function frameInWords({ scan_time, max_size_mm }: Frame): string {
  return `${clockInWords(scan_time)}, ${max_size_mm === null ? 'no hail' : `largest ${sizeInWords(max_size_mm)}`}`;
}

interface Bars {
  readonly frames: readonly Frame[];
  readonly axis: ReturnType<typeof axisOf>;
  readonly at: number | null;
  readonly zone: string | null;
}

function drawBars(canvas: HTMLCanvasElement, bars: Bars): void {
  const { frames, axis, at, zone } = bars;
  const { clientWidth: width, clientHeight: height } = canvas;
  const sharpness = devicePixelRatio;
  canvas.width = width * sharpness;
  canvas.height = height * sharpness;
  const pen = penOf(canvas);
  pen.scale(sharpness, sharpness);
  const localZone = height >= TWO_ROWS_FROM_PX ? zone : null;
  const floor = height - LABELS_PX * (height >= TWO_ROWS_FROM_PX ? 2 : 1);
  const x = (at_ms: number) => pixelOf(axis, at_ms, INSET_PX, width - 2 * INSET_PX);

  pen.fillStyle = BASEMAP.graticule;
  pen.fillRect(0, floor, width, 1);
  drawOutages(pen, axis, x, floor);
  for (const [i, { max_size_mm }] of frames.entries()) {
    if (max_size_mm === null) continue;
    const here = x(axis.times_ms[i]);
    const [last, next] = [axis.times_ms[i - 1], axis.times_ms[i + 1]];
    const room = Math.min(next === undefined ? width : x(next) - here, last === undefined ? width : here - x(last));
    const tall = Math.max(2, (floor - 2) * Math.min(1, max_size_mm / FULL_MM));
    const wide = Math.min(14, Math.max(1, room - (room > 3 ? 1 : 0)));
    pen.globalAlpha = at === null || at === i ? 1 : 0.55;
    pen.fillStyle = stepOf(max_size_mm).color;
    pen.fillRect(here - wide / 2, floor - tall, wide, tall);
  }
  pen.globalAlpha = 1;
  pen.fillStyle = BASEMAP.faint;
  if (frames.length > 0) drawHours(pen, { axis, x, floor, width, zone: localZone });
}

/** Outages as grey stretches, with words where there is room. */
function drawOutages(
  pen: CanvasRenderingContext2D,
  { outages }: Bars['axis'],
  x: (at_ms: number) => number,
  floor: number,
): void {
  pen.font = '10px system-ui, sans-serif';
  pen.textAlign = 'center';
  pen.textBaseline = 'middle';
  for (const { from_ms, to_ms } of outages) {
    const [left, right] = [x(from_ms) + 2, x(to_ms) - 2];
    pen.save();
    pen.beginPath();
    pen.rect(left, 2, Math.max(1, right - left), floor - 2);
    pen.clip();
    pen.strokeStyle = BASEMAP.border;
    pen.beginPath();
    for (let from = left - floor; from < right; from += 6) {
      pen.moveTo(from, floor);
      pen.lineTo(from + floor, 0);
    }
    pen.stroke();
    pen.restore();
    if (right - left < OUTAGE_LABEL_PX) continue;
    pen.fillStyle = BASEMAP.land;
    pen.fillRect((left + right) / 2 - 27, floor / 2 - 8, 54, 16);
    pen.fillStyle = BASEMAP.faint;
    pen.fillText('no scans', (left + right) / 2, floor / 2);
  }
}

/** Labels times, as often as the width allows: UTC, and below it the clock of a zone. */
function drawHours(
  pen: CanvasRenderingContext2D,
  given: {
    axis: Bars['axis'];
    x: (at_ms: number) => number;
    floor: number;
    width: number;
    zone: string | null;
  },
): void {
  const { axis, x, floor, width, zone } = given;
  const room = Math.max(1, Math.floor(width / LABEL_EVERY_PX));
  const minutes = (axis.to_ms - axis.from_ms) / MINUTE_MS;
  const every_ms = MINUTE_MS * (LABEL_STEPS_MIN.find((step) => minutes / step <= room) ?? 720);
  pen.font = '10px system-ui, sans-serif';
  pen.textBaseline = 'top';
  for (let at_ms = Math.ceil(axis.from_ms / every_ms) * every_ms; at_ms <= axis.to_ms; at_ms += every_ms) {
    const here = x(at_ms);
    pen.fillRect(here, floor, 1, 4);
    pen.textAlign = here > width - 20 ? 'right' : here < 16 ? 'left' : 'center';
    pen.fillText(new Date(at_ms).toISOString().slice(11, 16), here, floor + 4);
    if (zone !== null) pen.fillText(hourOfZone(at_ms, zone), here, floor + 4 + LABELS_PX);
  }
}
