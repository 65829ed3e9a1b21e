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

/** Colour of composite reflectivity of a band: at or above `dbz_min` and below the next. */
export interface ReflectivityColor {
  readonly dbz_min: number;
  readonly color: string;
}

/**
 * Bands of composite reflectivity on tiles and maps, weakest first, 5 dBZ each, the last one open. Weaker echoes are drizzle,
 * insects and ground. Hail is drawn on top in warm colours, so the scale goes from pale green to blue, muted, darker step by step.
 */
export const REFLECTIVITY_COLORS: readonly ReflectivityColor[] = [
  { dbz_min: 20, color: '#e3f0e4' },
  { dbz_min: 25, color: '#cfe6d3' },
  { dbz_min: 30, color: '#b7dac2' },
  { dbz_min: 35, color: '#9dccb4' },
  { dbz_min: 40, color: '#83bcab' },
  { dbz_min: 45, color: '#6baaa3' },
  { dbz_min: 50, color: '#57979c' },
  { dbz_min: 55, color: '#488493' },
  { dbz_min: 60, color: '#3e7087' },
  { dbz_min: 65, color: '#385d79' },
  { dbz_min: 70, color: '#334b69' },
  { dbz_min: 75, color: '#2d3a57' },
];

/** The same bands in the colours that the National Weather Service has drawn radar in for decades. */
export const CLASSIC_REFLECTIVITY_COLORS: readonly ReflectivityColor[] = [
  { dbz_min: 20, color: '#02fd02' },
  { dbz_min: 25, color: '#01c501' },
  { dbz_min: 30, color: '#008e00' },
  { dbz_min: 35, color: '#fdf802' },
  { dbz_min: 40, color: '#e5bc00' },
  { dbz_min: 45, color: '#fd9500' },
  { dbz_min: 50, color: '#fd0000' },
  { dbz_min: 55, color: '#d40000' },
  { dbz_min: 60, color: '#bc0000' },
  { dbz_min: 65, color: '#f800fd' },
  { dbz_min: 70, color: '#9854c6' },
  { dbz_min: 75, color: '#fdfdfd' },
];

/** Colours of the basemap, of low contrast, so that hail stands out. */
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
