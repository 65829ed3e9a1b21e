import type { EchoColors } from '../views.ts';

/** One step of the colour scale of `palette.json`. */
export interface SizeStep {
  readonly mm_min: number;
  readonly category: string | null;
  readonly inches: number | null;
  readonly color: string;
  readonly ink: string;
}

/** Content of `palette.json`. */
export interface Palette {
  /** Smallest first. */
  readonly sizes: readonly SizeStep[];
  readonly reflectivity: Readonly<Record<EchoColors, readonly { readonly dbz_min: number; readonly color: string }[]>>;
  readonly basemap: Readonly<Record<string, string>>;
  readonly mm_per_inch: number;
}

/** Words of a size step: at a place inside it, and outside the next one. */
interface BandWords {
  readonly mm: string;
  readonly inches: string;
  readonly category: string | null;
  readonly step: SizeStep;
}

const MONTHS = 'Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec'.split(' ');
const COMPASS = 'north,north-east,east,south-east,south,south-west,west,north-west'.split(',');
export const KM_PER_MILE = 1.609344;

/** `1.7 in`, of millimetres. */
function inInches(mm: number, { mm_per_inch }: Palette): string {
  return `${(mm / mm_per_inch).toFixed(1)} in`;
}

/** `1.7 in (44 mm)`. */
export function sizeInWords(mm: number, palette: Palette): string {
  return `${inInches(mm, palette)} (${Math.round(mm)} mm)`;
}

/** Words of the step with this lower bound. */
export function bandInWords(mm_min: number, palette: Palette): BandWords {
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

/** `1.50`: inches of a step's category; converted to one decimal for a step without a category. */
export function inchesOfStep({ inches, mm_min }: SizeStep, { mm_per_inch }: Palette): string {
  return inches === null ? (mm_min / mm_per_inch).toFixed(1) : inches.toFixed(2);
}

/** The largest step that a size reaches; the lowest step for a smaller size. */
export function stepOf(mm: number, { sizes }: Palette): SizeStep {
  return sizes.findLast((step) => mm >= step.mm_min) ?? sizes[0];
}

/** `tennis ball`, of the category `tennis_ball`. */
export function categoryInWords(category: string | null): string | null {
  return category === null ? null : category.replaceAll('_', ' ');
}

/** `21 Nov 2026`. */
export function dateInWords(date: string): string {
  const [year, month, day] = date.split('-').map(Number);
  return `${day} ${MONTHS[month - 1]} ${year}`;
}

/** `04:05 UTC`, of a timestamp of the service. */
export function clockInWords(time: string): string {
  return `${time.slice(11, 16)} UTC`;
}

/** `21 Nov 2026 04:05 UTC`. */
export function timeInWords(time: string): string {
  return `${dateInWords(time.slice(0, 10))} ${clockInWords(time)}`;
}

/** `May 2026`, of the month `2026-05`. */
export function monthInWords(month: string): string {
  const [year, number] = month.split('-').map(Number);
  return `${MONTHS[number - 1]} ${year}`;
}

/** `just now`, `2 min ago`, `3 h ago`, `2 days ago`. */
export function agoInWords(age_ms: number): string {
  const minutes = Math.floor(age_ms / 60_000);
  if (minutes < 1) return 'just now';
  if (minutes < 120) return `${minutes} min ago`;
  const hours = Math.floor(minutes / 60);
  return hours < 48 ? `${hours} h ago` : `${Math.floor(hours / 24)} days ago`;
}

/** The date some days later. */
export function addDays(date: string, days: number): string {
  const time = new Date(`${date}T00:00:00Z`);
  time.setUTCDate(time.getUTCDate() + days);
  return time.toISOString().slice(0, 10);
}

/** `34 mph (55 km/h) towards the north-east`; `direction_deg` is the direction of motion. */
export function motionInWords(speed_kmh: number, direction_deg: number): string {
  const heading = COMPASS[Math.round(direction_deg / 45) % COMPASS.length];
  return `${Math.round(speed_kmh / KM_PER_MILE)} mph (${Math.round(speed_kmh)} km/h) towards the ${heading}`;
}

/** `35.123° N, 97.456° W`. */
export function placeInWords({ lat, lng }: { lat: number; lng: number }): string {
  return `${Math.abs(lat).toFixed(3)}° ${lat < 0 ? 'S' : 'N'}, ${Math.abs(lng).toFixed(3)}° ${lng < 0 ? 'W' : 'E'}`;
}

/** `1 scan`, `2 scans`. */
export function counted(count: number, what: string): string {
  return `${count} ${what}${count === 1 ? '' : 's'}`;
}

const SOURCES: Readonly<Record<string, string>> = {
  observed: 'Source: NOAA MRMS',
  simulated: 'Source: simulated',
  mixed: 'Source: NOAA MRMS and simulated',
};

/** Words of X-Data-Source; empty for a date without data. */
export function sourceInWords(source: string | null): string {
  return SOURCES[source ?? ''] ?? '';
}
