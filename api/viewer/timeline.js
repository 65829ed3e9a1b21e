import { clockInWords, sizeInWords, stepOf } from './words.js';

/** @typedef {import('./service.js').Frame} Frame */

/** Half the width of the slider's thumb in style.css: the first and last bar stand under its middle. */
const INSET_PX = 8;
const LABELS_PX = 14;
/** A bar of this size fills the height. */
const FULL_MM = 75;
/** Least distance of hour labels. */
const LABEL_EVERY_PX = 54;
const HOUR_STEPS = [1, 2, 3, 4, 6, 12];
/** Time a scan stays while playing, and the longer stay of the last. */
const STAY_MS = 220;
const LAST_STAY_MS = 1200;

/**
 * Scans of a date as bars of their largest hail, with a slider over them and a player.
 * @param {import('./words.js').Palette} palette
 * @param {(index: number) => Promise<void>} show resolves when the scan is on the map
 */
export function openTimeline(palette, show) {
  const canvas = /** @type {HTMLCanvasElement} */ (document.getElementById('bars'));
  const slider = /** @type {HTMLInputElement} */ (document.getElementById('scrubber'));
  const button = /** @type {HTMLButtonElement} */ (document.getElementById('play'));
  /** @type {readonly Frame[]} */
  let frames = [];
  /** @type {number | null} */
  let at = null;
  let playing = false;

  const draw = () => drawBars(canvas, frames, at, palette);
  new ResizeObserver(draw).observe(canvas);

  const play = async () => {
    playing = true;
    tell();
    while (playing && frames.length > 1) {
      const next = at === null || at === frames.length - 1 ? 0 : at + 1;
      const stay = next === frames.length - 1 ? LAST_STAY_MS : STAY_MS;
      await Promise.all([show(next), new Promise((resolve) => setTimeout(resolve, stay))]);
    }
    pause();
  };
  const pause = () => {
    playing = false;
    tell();
  };
  const tell = () => {
    button.textContent = playing ? '❚❚' : '▶';
    button.setAttribute('aria-label', playing ? 'Pause' : 'Play');
    button.title = playing ? 'Pause (space)' : 'Play (space)';
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
    /**
     * The scans of another date.
     * @param {readonly Frame[]} given
     */
    load(given) {
      frames = given;
      at = null;
      slider.max = String(Math.max(0, frames.length - 1));
      slider.disabled = frames.length === 0;
      button.disabled = frames.length < 2;
      draw();
    },
    /**
     * Puts the slider on a scan; null: the whole day.
     * @param {number | null} index
     */
    point(index) {
      at = index;
      const frame = index === null ? null : frames[index];
      slider.value = String(index ?? slider.max);
      slider.classList.toggle('resting', index === null);
      slider.setAttribute('aria-valuetext', frame ? frameInWords(frame, palette) : 'whole day');
      draw();
    },
    /** @param {number} by */
    step(by) {
      pause();
      if (frames.length === 0) return;
      const from = at ?? (by > 0 ? -1 : frames.length);
      void show(Math.min(frames.length - 1, Math.max(0, from + by)));
    },
  };
}

/** @param {Frame} frame @param {import('./words.js').Palette} palette */
function frameInWords({ scan_time, max_size_mm }, palette) {
  return `${clockInWords(scan_time)}, ${max_size_mm === null ? 'no hail' : `largest ${sizeInWords(max_size_mm, palette)}`}`;
}

/**
 * @param {HTMLCanvasElement} canvas
 * @param {readonly Frame[]} frames
 * @param {number | null} at
 * @param {import('./words.js').Palette} palette
 */
function drawBars(canvas, frames, at, palette) {
  const { clientWidth: width, clientHeight: height } = canvas;
  const sharpness = devicePixelRatio;
  canvas.width = width * sharpness;
  canvas.height = height * sharpness;
  const pen = /** @type {CanvasRenderingContext2D} */ (canvas.getContext('2d'));
  pen.scale(sharpness, sharpness);
  const floor = height - LABELS_PX;
  const step = (width - 2 * INSET_PX) / Math.max(1, frames.length - 1);
  const x = (/** @type {number} */ i) => INSET_PX + i * step;

  pen.fillStyle = palette.basemap.graticule;
  pen.fillRect(0, floor, width, 1);
  frames.forEach(({ max_size_mm }, i) => {
    if (max_size_mm === null) return;
    const tall = Math.max(2, (floor - 2) * Math.min(1, max_size_mm / FULL_MM));
    const wide = Math.min(14, Math.max(1, step - (step > 3 ? 1 : 0)));
    pen.globalAlpha = at === null || at === i ? 1 : 0.55;
    pen.fillStyle = stepOf(max_size_mm, palette).color;
    pen.fillRect(x(i) - wide / 2, floor - tall, wide, tall);
  });
  pen.globalAlpha = 1;
  drawHours(pen, frames, x, floor, width, palette);
}

/**
 * Labels at the first scan of an hour, as many as fit.
 * @param {CanvasRenderingContext2D} pen
 * @param {readonly Frame[]} frames
 * @param {(index: number) => number} x
 * @param {number} floor
 * @param {number} width
 * @param {import('./words.js').Palette} palette
 */
function drawHours(pen, frames, x, floor, width, palette) {
  const hours = frames
    .map(({ scan_time }, i) => ({ hour: Number(scan_time.slice(11, 13)), day: scan_time.slice(0, 10), i }))
    .filter(({ hour, day }, i, all) => i === 0 || hour !== all[i - 1].hour || day !== all[i - 1].day);
  const room = Math.max(1, Math.floor(width / LABEL_EVERY_PX));
  const every = HOUR_STEPS.find((step) => hours.length / step <= room) ?? 12;
  pen.font = '10px system-ui, sans-serif';
  pen.textBaseline = 'top';
  pen.fillStyle = palette.basemap.faint;
  hours
    .filter(({ hour, i }) => i > 0 && hour % every === 0)
    .forEach(({ hour, i }) => {
      pen.fillRect(x(i), floor, 1, 4);
      const label = `${String(hour).padStart(2, '0')}:00`;
      pen.textAlign = x(i) > width - 20 ? 'right' : x(i) < 16 ? 'left' : 'center';
      pen.fillText(label, x(i), floor + 4);
    });
}
