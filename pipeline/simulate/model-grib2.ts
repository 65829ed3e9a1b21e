import { MS_PER_HOUR } from '../../schemas/time.ts';
import { grib2Message, grib2Section, identification, MISSING_OCTET, writeTime } from './grib2-writer.ts';

/** Lambert conformal grid with one standard parallel, rows from the south, columns from the west. */
export interface LambertSpec {
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

/** Standard parallel and central meridian of HRRR's grid, and its earth radius (code table 3.2, shape 6). */
export const HRRR_MAP = { parallel_deg: 38.5, meridian_deg: 262.5, earth_m: 6_371_229 } as const;

/** US National Weather Service; master tables 2; time of the start of a forecast; forecast. */
const HRRR = { centre: 7, master_tables: 2, time_meaning: 1, data_type: 1 };
const HRRR_PROCESS = 83;
const COMPLEX_PACKING = 3;
const GROUP = 32;
const DESCRIPTOR_OCTETS = 4;

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
  const { representation, data } = complexPacking(field.values, field.decimals);
  const sections = [
    identification(run_time, HRRR),
    lambert(grid),
    field.is_maximum ? hourlyMaximum(field, run_time, lead_h) : grib2Section(4, product(field, 0, lead_h)),
    representation,
    grib2Section(6, Buffer.from([MISSING_OCTET])),
    data,
  ];
  return grib2Message(field.parameter[0], sections);
}

function lambert({ cols, rows, first_lat_udeg, first_lon_udeg, step_m }: LambertSpec): Buffer {
  const content = Buffer.alloc(76);
  const parallel_udeg = HRRR_MAP.parallel_deg * 1e6;
  content.writeUInt32BE(cols * rows, 1);
  content[8] = 30;
  content[9] = 6;
  content.writeUInt32BE(cols, 25);
  content.writeUInt32BE(rows, 29);
  content.writeUInt32BE(first_lat_udeg, 33);
  content.writeUInt32BE(first_lon_udeg, 37);
  content[41] = 0x08; // winds follow the grid
  content.writeUInt32BE(parallel_udeg, 42);
  content.writeUInt32BE(HRRR_MAP.meridian_deg * 1e6, 46);
  content.writeUInt32BE(1000 * step_m, 50);
  content.writeUInt32BE(1000 * step_m, 54);
  content[59] = 0x40; // rows from the south
  content.writeUInt32BE(parallel_udeg, 60);
  content.writeUInt32BE(parallel_udeg, 64);
  content.writeUInt32BE(0x80000000 + 90e6, 68);
  return grib2Section(3, content);
}

/** Octets 6 to 34 of section 4, shared by both templates. */
function product({ parameter, level, second_level }: ModelFieldSpec, template: number, lead_h: number): Buffer {
  const content = Buffer.alloc(29);
  content.writeUInt16BE(template, 2);
  content[4] = parameter[1];
  content[5] = parameter[2];
  content[6] = 2; // generating process: forecast
  content[8] = HRRR_PROCESS;
  content[12] = 1; // the lead is in hours
  content.writeUInt32BE(lead_h, 13);
  writeSurface(content, 17, level);
  writeSurface(content, 23, second_level);
  return content;
}

function writeSurface(bytes: Buffer, at: number, surface: SurfaceSpec | undefined): void {
  bytes[at] = surface?.type ?? MISSING_OCTET;
  bytes[at + 1] = surface === undefined ? MISSING_OCTET : 0;
  bytes.writeUInt32BE(surface?.value ?? 0xffffffff, at + 2);
}

function hourlyMaximum(field: ModelFieldSpec, run_time: number, lead_h: number): Buffer {
  const interval = Buffer.alloc(24);
  writeTime(interval, 0, run_time + lead_h * MS_PER_HOUR);
  interval[7] = 1; // one time range
  interval[12] = 2; // maximum
  interval[13] = 2; // successive times of one run
  interval[14] = 1; // of hours
  interval.writeUInt32BE(1, 15);
  interval[19] = 1;
  return grib2Section(4, Buffer.concat([product(field, 8, lead_h - 1), interval]));
}

/** Sections 5 and 7: whole numbers of 10^-decimals above the smallest, second differences, groups of 32. */
function complexPacking(values: ArrayLike<number>, decimals: number) {
  const whole = Int32Array.from(values, (value) => Math.round(value * 10 ** decimals));
  const smallest = whole.reduce((least, value) => Math.min(least, value), 0x7fffffff);
  const steps = new Int32Array(whole.length);
  let least = 0;
  for (let i = 2; i < whole.length; i += 1) {
    steps[i] = whole[i] - 2 * whole[i - 1] + whole[i - 2];
    if (steps[i] < least) least = steps[i];
  }
  for (let i = 2; i < steps.length; i += 1) steps[i] -= least;
  const groups = groupsOf(steps);
  const reference_bits = bitsOf(groups.reduce((most, { reference }) => Math.max(most, reference), 0));
  const width_bits = bitsOf(groups.reduce((most, { width }) => Math.max(most, width), 0));
  const head = Buffer.alloc(3 * DESCRIPTOR_OCTETS);
  [whole[0] - smallest, (whole[1] ?? smallest) - smallest, least].forEach((value, k) => {
    head.writeUInt32BE(value < 0 ? 0x80000000 - value : value, k * DESCRIPTOR_OCTETS);
  });
  const references = bitCursor(groups.length * reference_bits);
  const widths = bitCursor(groups.length * width_bits);
  const offsets = bitCursor(groups.reduce((bits, group) => bits + group.width * group.part.length, 0));
  for (const group of groups) {
    put(references, group.reference, reference_bits);
    put(widths, group.width, width_bits);
    for (const step of group.part) put(offsets, step - group.reference, group.width);
  }
  const representation = Buffer.alloc(44);
  representation.writeUInt32BE(whole.length, 0);
  representation.writeUInt16BE(COMPLEX_PACKING, 4);
  representation.writeFloatBE(smallest, 6);
  representation.writeUInt16BE(decimals, 12);
  representation[14] = reference_bits;
  representation[16] = 1; // general group splitting
  representation.writeUInt32BE(groups.length, 26);
  representation[31] = width_bits;
  representation.writeUInt32BE(GROUP, 32);
  representation[36] = 1;
  representation.writeUInt32BE(whole.length - GROUP * (groups.length - 1), 37);
  representation[42] = 2; // order of the differences
  representation[43] = DESCRIPTOR_OCTETS;
  return {
    representation: grib2Section(5, representation),
    data: grib2Section(7, Buffer.concat([head, references.bytes, widths.bytes, offsets.bytes])),
  };
}

function groupsOf(steps: Int32Array) {
  return Array.from({ length: Math.ceil(steps.length / GROUP) }, (_, k) => {
    const part = steps.subarray(k * GROUP, (k + 1) * GROUP);
    const reference = Math.min(...part);
    return { part, reference, width: bitsOf(Math.max(...part) - reference) };
  });
}

function bitsOf(value: number): number {
  return 32 - Math.clz32(value);
}

/** Bit writer, most significant bit first. */
interface BitCursor {
  readonly bytes: Uint8Array;
  bit: number;
}

function bitCursor(bits: number): BitCursor {
  return { bytes: new Uint8Array(Math.ceil(bits / 8)), bit: 0 };
}

/** Appends the lowest `width` bits of a number. */
function put(cursor: BitCursor, value: number, width: number): void {
  for (let left = width; left > 0; ) {
    const room = 8 - (cursor.bit & 7);
    const taken = Math.min(room, left);
    const part = (value >>> (left - taken)) & ((1 << taken) - 1);
    cursor.bytes[cursor.bit >> 3] |= part << (room - taken);
    cursor.bit += taken;
    left -= taken;
  }
}
