import { BASEMAPS, MAP_REFLECTIVITY_COLORS, MAP_SIZE_COLORS, type Scheme } from '../../../schemas/palette.ts';
import { SIZE_BANDS } from '../../../schemas/size.ts';

/** Light or dark, as the reader's device prefers; where there is no device, light. */
export const SCHEME: Scheme = globalThis.matchMedia?.('(prefers-color-scheme: dark)').matches ? 'dark' : 'light';

export const MM_PER_INCH = 25.4;

/** Steps of the colour scale of hail sizes, smallest first, with inches such as `1.50` and names such as `tennis ball`. */
export const SIZES = MAP_SIZE_COLORS[SCHEME].map((step) => {
  const inches = SIZE_BANDS.find((band) => band.category === step.category)?.inches.toFixed(2);
  return {
    ...step,
    inches: inches ?? (step.mm_min / MM_PER_INCH).toFixed(1),
    name: step.category?.replaceAll('_', ' ') ?? null,
  };
});
/** Swaths, and lists of hail days, begin at the smallest size with a name. */
export const SWATH_MIN_MM = SIZE_BANDS[0].threshold_mm;
/** Bands of composite reflectivity, weakest first. */
export const REFLECTIVITY = MAP_REFLECTIVITY_COLORS[SCHEME];
/** Colours of the base map, which the page has as CSS variables, too. */
export const BASEMAP = BASEMAPS[SCHEME];

/** The largest step that a size reaches; the lowest step for a smaller size. */
export function stepOf(mm: number) {
  return SIZES.findLast((step) => mm >= step.mm_min) ?? SIZES[0];
}
