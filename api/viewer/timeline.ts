import { element, penOf } from './page.ts';
import type { Frame } from './service.ts';
import { clockInWords, type Palette, sizeInWords, stepOf } from './words.ts';

/** Half the width of the slider's thumb in style.css: the first and last bar stand under its middle. */
const INSET_PX = 8;
const LABELS_PX = 14;
/** A bar of this size fills the height. */
const FULL_MM = 75;
/** Least distance of hour labels. */
const LABEL_EVERY_PX = 54;
const HOUR_STEPS = [1, 2, 3, 4, 6, 12];
/** Time for which a scan is shown while playing; longer for the last scan. */
const STAY_MS = 220;
const LAST_STAY_MS = 1200;

/**
 * Scans of a date as bars of their largest hail, with a slider over them and a player.
 *
 * `show` resolves when the scan of this index is on the map.
 */
export function openTimeline(palette: Palette, show: (index: number) => Promise<void>) {
  const canvas = element<HTMLCanvasElement>('bars');
  const slider = element<HTMLInputElement>('scrubber');
  const button = element<HTMLButtonElement>('play');
  let frames: readonly Frame[] = [];
  /** Index of the scan under the slider; null: the whole day. */
  let at: number | null = null;
  let playing = false;

  const draw = () => drawBars(canvas, frames, at, palette);
  new ResizeObserver(draw).observe(canvas);

  const setPlaying = (value: boolean) => {
    playing = value;
    button.textContent = playing ? '❚❚' : '▶';
    button.setAttribute('aria-label', playing ? 'Pause' : 'Play');
    button.title = playing ? 'Pause (space)' : 'Play (space)';
  };
  const pause = () => setPlaying(false);
  const play = async () => {
    setPlaying(true);
    while (playing && frames.length > 1) {
      const next = at === null || at === frames.length - 1 ? 0 : at + 1;
      const stay = next === frames.length - 1 ? LAST_STAY_MS : STAY_MS;
      await Promise.all([show(next), new Promise((resolve) => setTimeout(resolve, stay))]);
    }
    pause();
  };
  const toggle = () => (playing ? pause() : void play());

  button.addEventListener('click', toggle);
  slider.addEventListener('input', () => {
    pause();
    void show(Number(slider.value));
  });

  return {
    toggle,
    pause,
    /** Loads the scans of another date. */
    load(given: readonly Frame[]): void {
      frames = given;
      at = null;
      slider.max = String(Math.max(0, frames.length - 1));
      slider.disabled = frames.length === 0;
      button.disabled = frames.length < 2;
      draw();
    },
    /** Moves the slider to a scan; null: the whole day. */
    point(index: number | null): void {
      at = index;
      const frame = index === null ? null : frames[index];
      slider.value = String(index ?? slider.max);
      slider.classList.toggle('resting', index === null);
      slider.setAttribute('aria-valuetext', frame ? frameInWords(frame, palette) : 'whole day');
      draw();
    },
    /** Shows the scan `by` steps from the current one. */
    step(by: number): void {
      pause();
      if (frames.length === 0) return;
      const from = at ?? (by > 0 ? -1 : frames.length);
      void show(Math.min(frames.length - 1, Math.max(0, from + by)));
    },
  };
}

function frameInWords({ scan_time, max_size_mm }: Frame, palette: Palette): string {
  return `${clockInWords(scan_time)}, ${max_size_mm === null ? 'no hail' : `largest ${sizeInWords(max_size_mm, palette)}`}`;
}

function drawBars(canvas: HTMLCanvasElement, frames: readonly Frame[], at: number | null, palette: Palette): void {
  const { clientWidth: width, clientHeight: height } = canvas;
  const sharpness = devicePixelRatio;
  canvas.width = width * sharpness;
  canvas.height = height * sharpness;
  const pen = penOf(canvas);
  pen.scale(sharpness, sharpness);
  const floor = height - LABELS_PX;
  const step = (width - 2 * INSET_PX) / Math.max(1, frames.length - 1);
  const x = (index: number) => INSET_PX + index * step;

  pen.fillStyle = palette.basemap.graticule;
  pen.fillRect(0, floor, width, 1);
  for (const [i, { max_size_mm }] of frames.entries()) {
    if (max_size_mm === null) continue;
    const tall = Math.max(2, (floor - 2) * Math.min(1, max_size_mm / FULL_MM));
    const wide = Math.min(14, Math.max(1, step - (step > 3 ? 1 : 0)));
    pen.globalAlpha = at === null || at === i ? 1 : 0.55;
    pen.fillStyle = stepOf(max_size_mm, palette).color;
    pen.fillRect(x(i) - wide / 2, floor - tall, wide, tall);
  }
  pen.globalAlpha = 1;
  pen.fillStyle = palette.basemap.faint;
  drawHours(pen, frames, x, floor, width);
}

/** Labels the first scan of an hour, as often as the width allows. */
function drawHours(
  pen: CanvasRenderingContext2D,
  frames: readonly Frame[],
  x: (index: number) => number,
  floor: number,
  width: number,
): void {
  const hours = frames
    .map(({ scan_time }, i) => ({ hour: Number(scan_time.slice(11, 13)), day: scan_time.slice(0, 10), i }))
    .filter(({ hour, day }, i, all) => i === 0 || hour !== all[i - 1].hour || day !== all[i - 1].day);
  const room = Math.max(1, Math.floor(width / LABEL_EVERY_PX));
  const every = HOUR_STEPS.find((step) => hours.length / step <= room) ?? 12;
  pen.font = '10px system-ui, sans-serif';
  pen.textBaseline = 'top';
  for (const { hour, i } of hours) {
    if (i === 0 || hour % every !== 0) continue;
    pen.fillRect(x(i), floor, 1, 4);
    pen.textAlign = x(i) > width - 20 ? 'right' : x(i) < 16 ? 'left' : 'center';
    pen.fillText(`${String(hour).padStart(2, '0')}:00`, x(i), floor + 4);
  }
}
