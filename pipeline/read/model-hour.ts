import type { Position } from '../../schemas/geo/position.ts';
import { MS_PER_HOUR, timestamp } from '../../schemas/time.ts';
import { BadInput } from '../error.ts';
import {
  type Decoded,
  decodeField,
  type Field,
  type GridDefinition,
  parseGrib2,
  placeOf,
  type Surface,
  stepsAt,
} from '../grib2/index.ts';
import { isSimulated } from './mrms.ts';
import { badFile, type RejectedItem, rejectHtml } from './rejected-item.ts';

/** Grid of a forecast model: rows x columns in file order, and where positions lie on it. */
export interface ModelGrid {
  readonly rows: number;
  readonly cols: number;
  /** Row and column of a position with their fractions; beyond the grid they run on. */
  readonly locate: (at: Position) => { readonly row: number; readonly col: number };
  /** Distance on the ground between neighbouring rows and neighbouring columns at a position. */
  readonly stepsAt: (at: Position) => { readonly row_km: number; readonly col_km: number };
}

/** One field on the grid, row by row in file order; NaN where the model gives nothing. */
export type ModelValues = Float32Array;

/** Fields of a model at one time. Maxima are of the hour that ends at `valid_time`, all others of that instant. */
export interface ModelHour {
  readonly run_time: number;
  readonly valid_time: number;
  readonly simulated: boolean;
  readonly grid: ModelGrid;
  /** Fields that the files hold. */
  readonly fields: Readonly<Partial<Record<ModelFieldName, ModelValues>>>;
}

/** A level, or a layer between two bounds in either order; no values where the type says it all. */
interface Level {
  readonly type: number;
  readonly values: readonly number[];
}

/** Place of a field in a file, its conversion to our unit (value x factor + offset), and its bounds. */
interface Wanted {
  /** Discipline, category and number (code table 4.2). */
  readonly parameter: readonly [discipline: number, category: number, number: number];
  /** Levels in order of preference. */
  readonly levels: readonly Level[];
  /** True for the largest value of the hour before the valid time. */
  readonly is_maximum?: true;
  readonly factor?: number;
  readonly offset?: number;
  readonly low: number;
  readonly high: number;
}

const SURFACE: Level = { type: 1, values: [] };
const ISOTHERM_0C: Level = { type: 4, values: [] };
const WHOLE_ATMOSPHERE: readonly Level[] = [
  { type: 10, values: [] },
  { type: 200, values: [] },
];
const pressure = (hpa: number): Level => ({ type: 100, values: [100 * hpa] });
const aboveGround = (...metres: number[]): Level => ({ type: 103, values: metres });
const lowest = (hpa: number): Level => ({ type: 108, values: [100 * hpa, 0] });

const ZERO_C_K = 273.15;
const celsius = { offset: -ZERO_C_K, low: -100, high: 60 } as const;
const wind = { low: -200, high: 200 } as const;

/**
 * Fields that hail forecasts use of a model, each in the unit its name ends with.
 *
 * The deepest layer a model searches for its most unstable parcel comes first: 255 hPa in HRRR, 180 hPa in RRFS and NAM.
 * Shear of 0-6 km is written as a difference in m/s, although its parameter's unit is 1/s.
 * Sources: WMO code tables 4.2 and 4.5, NCEP local tables, inventories of the operational files.
 */
const WANTED = {
  reflectivity_dbz: { parameter: [0, 16, 196], levels: WHOLE_ATMOSPHERE, low: -100, high: 100 },
  updraft_helicity_m2_s2: {
    parameter: [0, 7, 199],
    levels: [aboveGround(5000, 2000)],
    is_maximum: true,
    low: -5000,
    high: 5000,
  },
  hail_mm: { parameter: [0, 1, 31], levels: [SURFACE], is_maximum: true, factor: 1000, low: 0, high: 300 },
  cape_j_kg: {
    parameter: [0, 7, 6],
    levels: [lowest(255), lowest(180), lowest(90), SURFACE],
    low: -1000,
    high: 20_000,
  },
  temperature_700_c: { parameter: [0, 0, 0], levels: [pressure(700)], ...celsius },
  temperature_500_c: { parameter: [0, 0, 0], levels: [pressure(500)], ...celsius },
  height_700_m: { parameter: [0, 3, 5], levels: [pressure(700)], low: 1500, high: 4500 },
  height_500_m: { parameter: [0, 3, 5], levels: [pressure(500)], low: 4000, high: 7000 },
  freezing_level_m: { parameter: [0, 3, 5], levels: [ISOTHERM_0C], low: -1000, high: 10_000 },
  terrain_m: { parameter: [0, 3, 5], levels: [SURFACE], low: -1000, high: 9000 },
  shear_u_ms: { parameter: [0, 2, 15], levels: [aboveGround(0, 6000)], ...wind },
  shear_v_ms: { parameter: [0, 2, 16], levels: [aboveGround(0, 6000)], ...wind },
  wind_500_u_ms: { parameter: [0, 2, 2], levels: [pressure(500)], ...wind },
  wind_500_v_ms: { parameter: [0, 2, 3], levels: [pressure(500)], ...wind },
  wind_10m_u_ms: { parameter: [0, 2, 2], levels: [aboveGround(10)], ...wind },
  wind_10m_v_ms: { parameter: [0, 2, 3], levels: [aboveGround(10)], ...wind },
  specific_humidity_g_kg: { parameter: [0, 1, 0], levels: [aboveGround(2)], factor: 1000, low: 0, high: 60 },
  dew_point_c: { parameter: [0, 0, 6], levels: [aboveGround(2)], ...celsius },
  relative_humidity_pct: { parameter: [0, 1, 1], levels: [aboveGround(2)], low: 0, high: 130 },
  temperature_2m_c: { parameter: [0, 0, 0], levels: [aboveGround(2)], ...celsius },
  surface_pressure_hpa: { parameter: [0, 3, 0], levels: [SURFACE], factor: 0.01, low: 300, high: 1100 },
} as const satisfies Readonly<Record<string, Wanted>>;
export type ModelFieldName = keyof typeof WANTED;
const MODEL_FIELDS = Object.keys(WANTED) as ModelFieldName[];

/** Models by the number that the US National Weather Service (centre 7) gives them. */
const NWS = 7;
const PROCESSES: Readonly<Record<number, string>> = { 83: 'hrrr', 84: 'nam', 96: 'gfs', 105: 'rap' };

/** Bytes of a model file and its name in errors. */
export interface ModelFile {
  readonly bytes: Uint8Array;
  readonly subject: string;
}

/** Model, run and time of files by their names. */
export interface ModelClaim {
  readonly model: string;
  readonly run_time: number;
  readonly valid_time: number;
}

/**
 * The fields we use of one hour of a model run, from one file or several that make it up. Fields that cannot be used are
 * rejected; the other fields are used.
 *
 * Winds stay along the grid or the compass as the file has them: only the length of their differences is used, and all
 * winds of an hour share one grid definition, which states their direction.
 * Throws BadInput when a file cannot be parsed, when it is another model, run or hour than claimed, when its fields are
 * partly simulated or lie on different grids, or when it holds none of our fields.
 */
export function readModelHour(
  files: readonly ModelFile[],
  claim: ModelClaim,
): { hour: ModelHour; set_aside: RejectedItem[] } {
  const fields = files.flatMap(({ bytes, subject }) => {
    rejectHtml(bytes, subject, 'GRIB2');
    return parseGrib2(bytes, subject);
  });
  const found = MODEL_FIELDS.flatMap((name) => {
    const field = findField(fields, WANTED[name]);
    return field === null ? [] : [{ name, field }];
  });
  const [first] = found;
  if (first === undefined)
    throw badFile(
      files.map(({ subject }) => subject).join(', '),
      `none of ${fields.length} fields is of use, expected at least one of ${MODEL_FIELDS.length}`,
    );
  for (const { field } of found) rejectOther(field, first.field, claim);
  const set_aside: RejectedItem[] = [];
  const values: Partial<Record<ModelFieldName, ModelValues>> = {};
  for (const { name, field } of found) {
    const made = valuesOf(field, WANTED[name]);
    if (typeof made === 'string')
      set_aside.push({ item: `${field.subject} message ${field.message}, ${name}`, reason: made });
    else values[name] = made;
  }
  const { run_time, valid_time } = claim;
  const simulated = isSimulated(first.field);
  return { hour: { run_time, valid_time, simulated, grid: modelGrid(first.field.grid), fields: values }, set_aside };
}

/** The first field of the best level; null when the files have none. */
function findField(fields: readonly Field[], { parameter, levels, is_maximum }: Wanted): Field | null {
  const candidates = fields.filter(
    (field) =>
      field.discipline === parameter[0] &&
      field.category === parameter[1] &&
      field.number === parameter[2] &&
      field.statistic === (is_maximum ? MAXIMUM : null),
  );
  for (const level of levels) {
    const field = candidates.find((candidate) => isOn(candidate, level));
    if (field !== undefined) return field;
  }
  return null;
}

/** Code table 4.10. */
const MAXIMUM = 2;

function isOn({ surface, second_surface }: Field, { type, values }: Level): boolean {
  const given = [surface, second_surface].filter((bound): bound is Surface => bound !== null);
  if (given.some((bound) => bound.type !== type)) return false;
  if (values.length === 0) return given.length === 1;
  const ascending = (bounds: readonly (number | null)[]) => bounds.toSorted((a, b) => (a ?? 0) - (b ?? 0)).join(' to ');
  return ascending(given.map(({ value }) => value)) === ascending(values);
}

/** Throws BadInput for a field that contradicts the claim, or does not belong with the first one. */
function rejectOther(field: Field, first: Field, { model, run_time, valid_time }: ModelClaim): void {
  const contradiction = (reason: string) => badFile(field.subject, `message ${field.message}: ${reason}`);
  const made_by = field.centre === NWS ? PROCESSES[field.generating_process] : undefined;
  if (made_by !== undefined && made_by !== model) throw contradiction(`is made by ${made_by}, expected ${model}`);
  if (field.reference_time !== run_time)
    throw contradiction(`run is of ${timestamp(field.reference_time)}, expected ${timestamp(run_time)}`);
  if (field.valid_time !== valid_time) {
    const found = field.valid_time === null ? 'no time we read' : timestamp(field.valid_time);
    throw contradiction(`valid at ${found}, expected ${timestamp(valid_time)}`);
  }
  if (isSimulated(field) !== isSimulated(first))
    throw contradiction('simulated and observed fields in one hour, expected one kind');
  if (field.grid.projection === null)
    throw contradiction(`positions of grid template 3.${field.grid.template} are not supported, expected 3.0 or 3.30`);
  if (Buffer.compare(field.grid.section.bytes, first.grid.section.bytes) !== 0)
    throw contradiction(`lies on another grid than message ${first.message} of ${first.subject}, expected the same`);
}

/** Values in our unit, NaN where missing; a reason instead when the field cannot be decoded or used. */
function valuesOf(field: Field, { is_maximum, factor = 1, offset = 0, low, high }: Wanted): ModelValues | string {
  if (is_maximum && field.valid_from !== null && (field.valid_time ?? 0) - field.valid_from !== MS_PER_HOUR)
    return `a maximum of ${((field.valid_time ?? 0) - field.valid_from) / MS_PER_HOUR} hours, expected 1`;
  let decoded: Decoded;
  try {
    decoded = decodeField(field);
  } catch (error) {
    if (error instanceof BadInput) return error.reason;
    throw error;
  }
  const { packed, missing } = decoded;
  const scale = 2 ** decoded.binary_scale;
  const divisor = 10 ** decoded.decimal_scale;
  const values = new Float32Array(packed.length);
  let least = Number.POSITIVE_INFINITY;
  let most = Number.NEGATIVE_INFINITY;
  for (let i = 0; i < packed.length; i++) {
    const value = ((decoded.reference + packed[i] * scale) / divisor) * factor + offset;
    if (missing !== null && missing[i] === 1) values[i] = Number.NaN;
    else {
      values[i] = value;
      if (value < least) least = value;
      if (value > most) most = value;
    }
  }
  // An undefined number of a float packing counts as missing, an infinite one is out of bounds.
  const possible = least === Number.POSITIVE_INFINITY || (least >= low && most <= high);
  return possible ? values : `values from ${least} to ${most}, expected ${low} to ${high}`;
}

function modelGrid(grid: GridDefinition): ModelGrid {
  return {
    rows: grid.rows,
    cols: grid.columns,
    locate: (at) => {
      const { j, i } = placeOf(grid, at);
      return { row: j, col: i };
    },
    stepsAt: (at) => {
      const { row_km, column_km } = stepsAt(grid, at);
      return { row_km, col_km: column_km };
    },
  };
}
