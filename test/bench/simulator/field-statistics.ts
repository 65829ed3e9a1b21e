import { LATTICES, pixelAreaKm2, type Window } from '../../../schemas/geo/lattice.ts';
import { patchesOf } from './patches.ts';
import { axesApart, streaksOf } from './streaks.ts';

/** Smallest swath, km2. */
const SWATH_MIN_KM2 = 10;
/** Threshold of swaths, tenths of a millimetre. */
const SWATH_TENTHS = 190;

/** Maximum MESH of each pixel of a window over a time span, tenths of a millimetre. */
export interface MaximumField {
  readonly window: Window;
  /** By row x cols + col. */
  readonly tenths: ReadonlyMap<number, number>;
}

/** Statistics of a maximum field, real or simulated. */
export interface FieldStatistics {
  /** Pixels above 0. */
  readonly pixels: number;
  /** Their 50, 90, 99 and 99.9 % quantiles, mm. */
  readonly quantiles_mm: readonly number[];
  readonly largest_mm: number;
  /** Weibull distribution through the 50 and 90 % quantiles. */
  readonly weibull_shape: number;
  readonly weibull_scale_mm: number;
  /** e-folding scale of the area between 10 and 25 mm: increase of the threshold over which the area decreases by e. */
  readonly area_e_folding_mm: number;
  /** Area of at least 25, 38 and 50.8 mm over that of at least 19 mm. */
  readonly area_ratio_25_19: number;
  readonly area_ratio_38_19: number;
  readonly area_ratio_50_19: number;
  /** Swaths of at least 19 mm and 10 km2: 8-connected pixels of one field. */
  readonly swaths: number;
  readonly swath_length_median_km: number;
  readonly swath_length_p90_km: number;
  readonly swath_width_median_km: number;
  readonly swath_width_p90_km: number;
  readonly swath_length_most_km: number;
  /** Median difference of the axes of neighbouring streaks, and median distance of a streak from its axis, share of its length. */
  readonly axes_apart_deg: number;
  readonly off_axis: number;
}

/** Statistics of the pixels and swaths of one field, or of several together. */
export function fieldStatistics(fields: readonly MaximumField[]): FieldStatistics {
  const positive = sorted(fields.flatMap(({ tenths }) => [...tenths.values()].filter((value) => value > 0)));
  const quantile = (part: number) => quantileOf(positive, part) / 10;
  const shape = Math.log(Math.log(10) / Math.log(2)) / Math.log(quantile(0.9) / quantile(0.5));
  const area = (mm: number) => fields.reduce((sum, field) => sum + areaKm2(field, 10 * mm), 0);
  const swaths = fields
    .flatMap((field) => patchesOf(above(field, SWATH_TENTHS), field.window))
    .filter((patch) => patch.area_km2 >= SWATH_MIN_KM2);
  const lengths = sorted(swaths.map((swath) => swath.length_km));
  const widths = sorted(swaths.map((swath) => swath.width_km));
  const streaks = fields.map(streaksOf);
  return {
    pixels: positive.length,
    quantiles_mm: [0.5, 0.9, 0.99, 0.999].map(quantile),
    largest_mm: quantile(1),
    weibull_shape: shape,
    weibull_scale_mm: quantile(0.5) / Math.log(2) ** (1 / shape),
    area_e_folding_mm: 15 / Math.log(area(10) / area(25)),
    area_ratio_25_19: area(25) / area(19),
    area_ratio_38_19: area(38) / area(19),
    area_ratio_50_19: area(50.8) / area(19),
    swaths: swaths.length,
    swath_length_median_km: quantileOf(lengths, 0.5),
    swath_length_p90_km: quantileOf(lengths, 0.9),
    swath_width_median_km: quantileOf(widths, 0.5),
    swath_width_p90_km: quantileOf(widths, 0.9),
    swath_length_most_km: quantileOf(lengths, 1),
    axes_apart_deg: quantileOf(sorted(streaks.flatMap(axesApart)), 0.5),
    off_axis: quantileOf(sorted(streaks.flat().map((streak) => streak.off_axis)), 0.5),
  };
}

function sorted(values: readonly number[]): number[] {
  return values.toSorted((a, b) => a - b);
}

/** Quantile of ascending values, interpolated linearly; NaN without values. */
export function quantileOf(ascending: readonly number[], part: number): number {
  const place = part * (ascending.length - 1);
  const below = ascending[Math.floor(place)] ?? Number.NaN;
  const above = ascending[Math.ceil(place)] ?? Number.NaN;
  return below + (place - Math.floor(place)) * (above - below);
}

function* above({ tenths }: MaximumField, least: number): Generator<number> {
  for (const [pixel, value] of tenths) if (value >= least) yield pixel;
}

function areaKm2(field: MaximumField, least: number): number {
  let area = 0;
  for (const pixel of above(field, least))
    area += pixelAreaKm2(LATTICES.conus, field.window.row0 + Math.floor(pixel / field.window.cols));
  return area;
}
