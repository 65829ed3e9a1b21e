import { CELL_GROW_MM, DETECTION_MIN_MM, SIZE_BANDS, type SizeCategory } from './size.ts';

/** Colour of everything at or above a size; `category` is null below the size bands. */
export interface SizeColor {
  readonly mm_min: number;
  readonly category: SizeCategory | null;
  readonly color: string;
  /** Text that reads on the colour. */
  readonly ink: string;
}

const DARK = '#22303c';
const LIGHT = '#ffffff';

const BAND_COLORS: Readonly<Record<SizeCategory, { color: string; ink: string }>> = {
  nickel: { color: '#f4bf45', ink: DARK },
  quarter: { color: '#f08a3c', ink: DARK },
  golf_ball: { color: '#d04339', ink: LIGHT },
  tennis_ball: { color: '#a3205f', ink: LIGHT },
  baseball: { color: '#6a1570', ink: LIGHT },
  softball: { color: '#2c0b4a', ink: LIGHT },
};

/**
 * The one colour scale of hail sizes, smallest first: pictures, map layers and legends. Lightness falls from step to step and
 * the hue goes from yellow through red to violet, so that the order reads without colour vision; below the size bands it is a
 * cool grey-blue, so that weak echoes, which may be no hail, do not stand out.
 */
export const SIZE_COLORS: readonly SizeColor[] = [
  { mm_min: CELL_GROW_MM, category: null, color: '#dbe5ea', ink: DARK },
  { mm_min: DETECTION_MIN_MM, category: null, color: '#b4cbd8', ink: DARK },
  ...SIZE_BANDS.map(({ threshold_mm, category }) => ({ mm_min: threshold_mm, category, ...BAND_COLORS[category] })),
];

/** Colour of the largest step whose bound is at most `size_mm`; that of the lowest step below it. */
export function sizeColor(size_mm: number): SizeColor {
  return SIZE_COLORS.findLast((step) => size_mm >= step.mm_min) ?? (SIZE_COLORS[0] as SizeColor);
}

/** Colours of the basemap, of low contrast: the hail stands out. */
export const BASEMAP = {
  outside: '#eceff1',
  land: '#fbfaf7',
  border: '#c3cad0',
  outline: '#98a3ab',
  graticule: '#dfe4e7',
  track: '#3d4f5d',
  ink: DARK,
  faint: '#6b7984',
  warning: '#b3261e',
} as const;
