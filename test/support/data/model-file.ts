import { MS_PER_HOUR } from '../../../schemas/time.ts';
import { bitmapSection, clockOf, complexPacking, message, octets, section, signMagnitude } from './grib2-files.ts';

/** Lambert conformal grid with one standard parallel, rows from the south, columns from the west. */
interface LambertSpec {
  readonly cols: number;
  readonly rows: number;
  /** First point, whole microdegrees; longitude 0 to 360. */
  readonly first_lat_udeg: number;
  readonly first_lon_udeg: number;
  readonly step_m: number;
}

/** A fixed surface of code table 4.5. */
interface SurfaceSpec {
  readonly type: number;
  readonly value: number;
}

/** One field of one hour: its GRIB2 metadata, and a value for each point of the grid. */
export interface ModelFieldSpec {
  readonly name: string;
  readonly parameter: readonly [discipline: number, category: number, number: number];
  readonly level: SurfaceSpec;
  /** Other bound of a layer. */
  readonly second_level?: SurfaceSpec;
  /** Level as an index file spells it. */
  readonly level_words: string;
  /** True for the maximum over the previous hour. */
  readonly is_maximum?: boolean;
  /** Decimals of the packed values. */
  readonly decimals: number;
  readonly values: ArrayLike<number>;
}

/** A grid of 480 by 420 km over Oklahoma. */
const MODEL_GRID: LambertSpec = {
  cols: 41,
  rows: 36,
  first_lat_udeg: 33_000_000,
  first_lon_udeg: 260_000_000,
  step_m: 12_000,
};

/** One hour of a run on MODEL_GRID in the layout of the public HRRR bucket: one storm that moves east in unstable air. */
export function modelFile(run_time: number, lead_h: number) {
  const fields = fieldsOf(run_time, lead_h);
  const messages = fields.map((field) => writeModelField(MODEL_GRID, run_time, lead_h, field));
  const compact = new Date(run_time).toISOString().replaceAll(/[-:T]/g, '');
  const [date, hour] = [compact.slice(0, 8), compact.slice(8, 10)];
  let offset = 0;
  const lines = messages.map((message, k) => {
    const { name, level_words, is_maximum } = fields[k] as ModelFieldSpec;
    const forecast = is_maximum ? `${lead_h - 1}-${lead_h} hour max fcst` : `${lead_h} hour fcst`;
    const line = `${k + 1}:${offset}:d=${date}${hour}:${name}:${level_words}:${forecast}:`;
    offset += message.length;
    return line;
  });
  return {
    path: `hrrr.${date}/conus/hrrr.t${hour}z.wrfsfcf${String(lead_h).padStart(2, '0')}.grib2`,
    bytes: Buffer.concat(messages),
    index: `${lines.join('\n')}\n`,
  };
}

/** A level as the index file and the message name it; `second` is the other bound of a layer. */
export function level(level_words: string, type: number, value: number, second?: number) {
  return {
    level_words,
    level: { type, value },
    ...(second === undefined ? {} : { second_level: { type, value: second } }),
  };
}

/** Levels of the fields that fall on a layer of the air. */
export const WHOLE_AIR = level('entire atmosphere', 10, 0);
export const UPDRAFT = { ...level('5000-2000 m above ground', 103, 5000, 2000), is_maximum: true } as const;
export const LOW_AIR = level('255-0 mb above ground', 108, 25_500, 0);

function fieldsOf(run_time: number, lead_h: number): ModelFieldSpec[] {
  const { cols, rows } = MODEL_GRID;
  const grid = (value: (col: number, row: number) => number) =>
    Float32Array.from({ length: cols * rows }, (_, k) => value(k % cols, Math.floor(k / cols)));
  const hours = run_time / MS_PER_HOUR + lead_h;
  const storm = (low: number, high: number) =>
    grid((col, row) => low + (high - low) * Math.exp(-(Math.hypot(col - (5 + ((2 * hours) % 30)), row - 18) / 2)));
  const even = (value: number) => grid(() => value);
  const [surface, deep] = [level('surface', 1, 0), level('0-6000 m above ground', 103, 0, 6000)];
  const at = (hpa: number) => level(`${hpa} mb`, 100, 100 * hpa);
  const [temperature, height] = [
    { name: 'TMP', parameter: [0, 0, 0] },
    { name: 'HGT', parameter: [0, 3, 5] },
  ] as const;
  const most = { is_maximum: true } as const;
  return [
    { name: 'REFC', parameter: [0, 16, 196], ...WHOLE_AIR, decimals: 1, values: storm(-20, 68) },
    { name: 'MXUPHL', parameter: [0, 7, 199], ...UPDRAFT, decimals: 1, values: storm(0, 200) },
    { name: 'HAIL', parameter: [0, 1, 31], ...surface, ...most, decimals: 4, values: storm(0, 0.045) },
    { name: 'CAPE', parameter: [0, 7, 6], ...LOW_AIR, decimals: 0, values: grid((col) => 1000 + 50 * col) },
    { ...temperature, ...at(700), decimals: 2, values: even(281.2) },
    { ...temperature, ...at(500), decimals: 2, values: grid((_, row) => 262 - 0.1 * row) },
    { ...height, ...at(700), decimals: 1, values: even(3120) },
    { ...height, ...at(500), decimals: 1, values: even(5780) },
    { ...height, ...level('0C isotherm', 4, 0), decimals: 0, values: even(4300) },
    { ...height, ...surface, decimals: 0, values: grid((col) => 800 - 10 * col) },
    { name: 'VUCSH', parameter: [0, 2, 15], ...deep, decimals: 2, values: even(20) },
    { name: 'VVCSH', parameter: [0, 2, 16], ...deep, decimals: 2, values: even(-8) },
    { name: 'SPFH', parameter: [0, 1, 0], ...level('2 m above ground', 103, 2), decimals: 5, values: even(0.0135) },
  ];
}

/** Standard parallel and central meridian of HRRR's grid. */
const PARALLEL_UDEG = 38.5e6;
const MERIDIAN_UDEG = 262.5e6;

/**
 * A GRIB2 message in the form of HRRR's files: grid template 3.30, product template 4.0 or, for maxima of an hour, 4.8,
 * packing 5.3 with second differences. Only the production status differs: 192 marks simulated data.
 */
export function writeModelField(
  grid: LambertSpec,
  run_time: number,
  lead_h: number,
  field: ModelFieldSpec,
): Uint8Array {
  const whole = Array.from(field.values, (value) => Math.round(value * 10 ** field.decimals));
  const reference = whole.reduce((least, value) => Math.min(least, value), Number.POSITIVE_INFINITY);
  const packed = complexPacking(
    whole.map((value) => value - reference),
    { order: 2, group_length: 32, law: { reference, decimal_scale: field.decimals } },
  );
  return message(
    [
      lambertSection(grid),
      field.is_maximum ? hourlyMaximum(field, run_time, lead_h) : section(4, product(field, 0, lead_h)),
      ...[packed.representation, bitmapSection(null), packed.data],
    ],
    { discipline: field.parameter[0], time: clockOf(run_time), production_status: 192, is_forecast: true },
  );
}

function lambertSection({ cols, rows, first_lat_udeg, first_lon_udeg, step_m }: LambertSpec): number[] {
  const winds_follow_grid = 0x08;
  const rows_from_south = 0x40;
  return section(3, [
    ...[0, ...octets(cols * rows, 4), 0, 0, ...octets(30, 2), 6, ...octets(0, 15)],
    ...[...octets(cols, 4), ...octets(rows, 4), ...octets(first_lat_udeg, 4), ...octets(first_lon_udeg, 4)],
    ...[winds_follow_grid, ...octets(PARALLEL_UDEG, 4), ...octets(MERIDIAN_UDEG, 4)],
    ...[...octets(1000 * step_m, 4), ...octets(1000 * step_m, 4), 0, rows_from_south],
    ...[...octets(PARALLEL_UDEG, 4), ...octets(PARALLEL_UDEG, 4), ...signMagnitude(-90e6, 4), ...octets(0, 4)],
  ]);
}

/** Octets 6 to 34 of section 4, shared by both templates; the lead is in hours. */
function product({ parameter, level, second_level }: ModelFieldSpec, template: number, lead_h: number): number[] {
  const surface = (given: SurfaceSpec | undefined) =>
    given === undefined ? octets(0xffffffffffff, 6) : [given.type, 0, ...octets(given.value, 4)];
  return [
    ...[0, 0, ...octets(template, 2), parameter[1], parameter[2], 2, 0, 83, 0, 0, 0, 1, ...octets(lead_h, 4)],
    ...[...surface(level), ...surface(second_level)],
  ];
}

/** Section 4 of the maximum over the hour before: one time range, of successive times of one run. */
function hourlyMaximum(field: ModelFieldSpec, run_time: number, lead_h: number): number[] {
  const [year, ...rest] = clockOf(run_time + lead_h * MS_PER_HOUR);
  return section(4, [
    ...[...product(field, 8, lead_h - 1), ...octets(year, 2), ...rest],
    ...[1, ...octets(0, 4), 2, 2, 1, ...octets(1, 4), 1, ...octets(0, 4)],
  ]);
}
