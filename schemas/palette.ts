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
interface ReflectivityColor {
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

/** Light or dark, as the reader's device prefers. */
export type Scheme = 'light' | 'dark';

/** Colours of the basemap, of low contrast, so that hail stands out. */
export const BASEMAP = {
  paper: '#ffffff',
  outside: '#eceff1',
  water: '#dae5eb',
  neighbour: '#eeeeea',
  land: '#fbfaf7',
  county: '#cdd4da',
  border: '#c3cad0',
  state: '#a9b4bc',
  outline: '#98a3ab',
  graticule: '#dfe4e7',
  track: '#3d4f5d',
  ink: DARK,
  town: '#41505c',
  faint: '#6b7984',
  quiet: '#56646f',
  warning: '#b3261e',
} as const;

type Basemap = Readonly<Record<keyof typeof BASEMAP, string>>;

/** The same for screens in the dark. Land is no darker than the darkest hail, which is always inside lighter hail. */
const BASEMAP_DARK: Basemap = {
  paper: '#262e35',
  outside: '#1a2127',
  water: '#1a2229',
  neighbour: '#272e34',
  land: '#333c44',
  county: '#475159',
  border: '#616d76',
  state: '#77848e',
  outline: '#7d8a94',
  graticule: '#2a323a',
  track: '#d3dee6',
  ink: '#f0f4f7',
  town: '#dde5eb',
  faint: '#a7b4be',
  quiet: '#b4c0c9',
  warning: '#ff9d94',
};

export const BASEMAPS: Readonly<Record<Scheme, Basemap>> = { light: BASEMAP, dark: BASEMAP_DARK };

/** Colours below the size bands on dark land: near it, so that weak echoes do not stand out there either. */
const WEAK_DARK = ['#4d5b66', '#647888'];

/** The colour scale of hail sizes on the map: that of every picture, but for sizes below the bands in the dark. */
export const MAP_SIZE_COLORS: Readonly<Record<Scheme, readonly SizeColor[]>> = {
  light: SIZE_COLORS,
  dark: SIZE_COLORS.map((step, i) =>
    step.category === null ? { ...step, color: WEAK_DARK[i] as string, ink: LIGHT } : step,
  ),
};

/** Bands of reflectivity on the map: in the dark from dark to pale, so that weak echoes are near the land there, too. */
export const MAP_REFLECTIVITY_COLORS: Readonly<Record<Scheme, readonly ReflectivityColor[]>> = {
  light: REFLECTIVITY_COLORS,
  dark: REFLECTIVITY_COLORS.map(({ dbz_min }, i) => ({
    dbz_min,
    color: (REFLECTIVITY_COLORS.at(-1 - i) as ReflectivityColor).color,
  })),
};

/**
 * A MapLibre style as JSON, in which `"{{name}}"` is a colour of the base map, `"{{sizes}}"` the colour of the size in the variable `mm`
 * and `"{{bands}}"` that of the attribute `dbz`.
 */
export function colored(style: object, scheme: Scheme): string {
  const steps = (value: readonly string[], [lowest, ...higher]: readonly (readonly [number, string])[]) => [
    'step',
    value,
    lowest?.[1],
    ...higher.flat(),
  ];
  const values: Readonly<Record<string, unknown>> = {
    ...BASEMAPS[scheme],
    sizes: steps(
      ['var', 'mm'],
      MAP_SIZE_COLORS[scheme].map(({ mm_min, color }) => [mm_min, color]),
    ),
    bands: steps(
      ['get', 'dbz'],
      MAP_REFLECTIVITY_COLORS[scheme].map(({ dbz_min, color }) => [dbz_min, color]),
    ),
  };
  return JSON.stringify(style).replaceAll(/"\{\{(\w+)\}\}"/g, (_, name: string) => JSON.stringify(values[name]));
}
