/**
 * One step of the colour scale, as `palette.json` gives it.
 * @typedef {{ mm_min: number, category: string | null, inches: number | null, color: string, ink: string }} SizeStep
 * @typedef {{ dbz_min: number, color: string }} ReflectivityStep
 * @typedef {{
 *   sizes: SizeStep[],
 *   reflectivity: ReflectivityStep[],
 *   basemap: Record<string, string>,
 *   mm_per_inch: number,
 * }} Palette
 */

const MONTHS = 'Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec'.split(' ');
const COMPASS = 'north,north-east,east,south-east,south,south-west,west,north-west'.split(',');
const KM_PER_MILE = 1.609344;

/**
 * `1.7 in`, of millimetres.
 * @param {number} mm
 * @param {Palette} palette
 */
export function inInches(mm, { mm_per_inch }) {
  return `${(mm / mm_per_inch).toFixed(1)} in`;
}

/**
 * `1.7 in (44 mm)`.
 * @param {number} mm
 * @param {Palette} palette
 */
export function sizeInWords(mm, palette) {
  return `${inInches(mm, palette)} (${Math.round(mm)} mm)`;
}

/**
 * What a step of the scale says of a place inside it, and outside the next one.
 * @param {number} mm_min
 * @param {Palette} palette
 * @returns {{ mm: string, inches: string, category: string | null, step: SizeStep }}
 */
export function bandInWords(mm_min, palette) {
  const { sizes } = palette;
  const at = sizes.findLastIndex((step) => step.mm_min <= mm_min);
  const step = sizes[Math.max(0, at)];
  const next = sizes[at + 1];
  return {
    mm: next ? `${step.mm_min}–${next.mm_min} mm` : `${step.mm_min} mm or more`,
    inches: next
      ? `${inchesOfStep(step, palette)}–${inchesOfStep(next, palette)} in`
      : `${inchesOfStep(step, palette)} in or more`,
    category: categoryInWords(step.category),
    step,
  };
}

/**
 * `1.50`, the inches a step is known by; one decimal where it has none.
 * @param {SizeStep} step
 * @param {Palette} palette
 */
export function inchesOfStep({ inches, mm_min }, { mm_per_inch }) {
  return inches === null ? (mm_min / mm_per_inch).toFixed(1) : inches.toFixed(2);
}

/**
 * The largest step a size reaches; the lowest below it.
 * @param {number} mm
 * @param {Palette} palette
 */
export function stepOf(mm, { sizes }) {
  return sizes.findLast((step) => mm >= step.mm_min) ?? sizes[0];
}

/** @param {string | null} category */
export function categoryInWords(category) {
  return category === null ? null : category.replaceAll('_', ' ');
}

/**
 * `21 Nov 2026`.
 * @param {string} date `YYYY-MM-DD`
 */
export function dateInWords(date) {
  const [year, month, day] = date.split('-').map(Number);
  return `${day} ${MONTHS[month - 1]} ${year}`;
}

/**
 * `04:05 UTC`, of a timestamp of the service.
 * @param {string} time
 */
export function clockInWords(time) {
  return `${time.slice(11, 16)} UTC`;
}

/**
 * `21 Nov 2026 04:05 UTC`.
 * @param {string} time
 */
export function timeInWords(time) {
  return `${dateInWords(time.slice(0, 10))} ${clockInWords(time)}`;
}

/**
 * The same instant as the reader's own clocks show it: `Fri 22:05 CST`; empty where those run on UTC.
 * @param {string} time
 */
export function localInWords(time) {
  const instant = new Date(time);
  if (instant.getTimezoneOffset() === 0) return '';
  return new Intl.DateTimeFormat('en-US', {
    weekday: 'short',
    hour: '2-digit',
    minute: '2-digit',
    hourCycle: 'h23',
    timeZoneName: 'short',
  }).format(instant);
}

/**
 * The date some days later.
 * @param {string} date
 * @param {number} days
 */
export function addDays(date, days) {
  const time = new Date(`${date}T00:00:00Z`);
  time.setUTCDate(time.getUTCDate() + days);
  return time.toISOString().slice(0, 10);
}

/**
 * `34 mph (55 km/h) towards the north-east`.
 * @param {number} speed_kmh
 * @param {number} direction_deg towards which it moves
 */
export function motionInWords(speed_kmh, direction_deg) {
  const heading = COMPASS[Math.round(direction_deg / 45) % COMPASS.length];
  return `${Math.round(speed_kmh / KM_PER_MILE)} mph (${Math.round(speed_kmh)} km/h) towards the ${heading}`;
}

/**
 * `35.123° N, 97.456° W`.
 * @param {{ lat: number, lng: number }} place
 */
export function placeInWords({ lat, lng }) {
  return `${Math.abs(lat).toFixed(3)}° ${lat < 0 ? 'S' : 'N'}, ${Math.abs(lng).toFixed(3)}° ${lng < 0 ? 'W' : 'E'}`;
}

/**
 * `1 scan`, `2 scans`.
 * @param {number} count
 * @param {string} what
 */
export function counted(count, what) {
  return `${count} ${what}${count === 1 ? '' : 's'}`;
}

/** @type {Record<string, string>} */
const SOURCES = {
  observed: 'Source: NOAA MRMS',
  simulated: 'Source: simulated',
  mixed: 'Source: NOAA MRMS and simulated',
};

/**
 * Where the data of a date come from, as X-Data-Source says it; nothing for a date without data.
 * @param {string | null} source
 */
export function sourceInWords(source) {
  return SOURCES[source ?? ''] ?? '';
}
