import { MS_PER_HOUR } from '../../../schemas/time.ts';

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

function fieldsOf(run_time: number, lead_h: number): ModelFieldSpec[] {
  const { cols, rows } = MODEL_GRID;
  const grid = (value: (col: number, row: number) => number) =>
    Float32Array.from({ length: cols * rows }, (_, k) => value(k % cols, Math.floor(k / cols)));
  const hours = run_time / MS_PER_HOUR + lead_h;
  const storm = (low: number, high: number) =>
    grid((col, row) => low + (high - low) * Math.exp(-(Math.hypot(col - (5 + ((2 * hours) % 30)), row - 18) / 2)));
  const even = (value: number) => grid(() => value);
  const level = (level_words: string, type: number, value: number, second?: number) => ({
    level_words,
    level: { type, value },
    ...(second === undefined ? {} : { second_level: { type, value: second } }),
  });
  const [surface, deep] = [level('surface', 1, 0), level('0-6000 m above ground', 103, 0, 6000)];
  const at = (hpa: number) => level(`${hpa} mb`, 100, 100 * hpa);
  const [temperature, height] = [
    { name: 'TMP', parameter: [0, 0, 0] },
    { name: 'HGT', parameter: [0, 3, 5] },
  ] as const;
  const most = { is_maximum: true } as const;
  return [
    {
      name: 'REFC',
      parameter: [0, 16, 196],
      ...level('entire atmosphere', 10, 0),
      decimals: 1,
      values: storm(-20, 68),
    },
    {
      name: 'MXUPHL',
      parameter: [0, 7, 199],
      ...level('5000-2000 m above ground', 103, 5000, 2000),
      ...most,
      decimals: 1,
      values: storm(0, 200),
    },
    { name: 'HAIL', parameter: [0, 1, 31], ...surface, ...most, decimals: 4, values: storm(0, 0.045) },
    {
      name: 'CAPE',
      parameter: [0, 7, 6],
      ...level('255-0 mb above ground', 108, 25_500, 0),
      decimals: 0,
      values: grid((col) => 1000 + 50 * col),
    },
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
    identification(run_time),
    lambert(grid),
    field.is_maximum ? hourlyMaximum(field, run_time, lead_h) : section(4, product(field, 0, lead_h)),
    representation,
    section(6, Buffer.from([255])),
    data,
  ];
  const indicator = Buffer.alloc(16);
  indicator.write('GRIB', 0, 'latin1');
  indicator[6] = field.parameter[0];
  indicator[7] = 2;
  indicator.writeBigUInt64BE(BigInt(20 + sections.reduce((sum, part) => sum + part.length, 0)), 8);
  return Buffer.concat([indicator, ...sections, Buffer.from('7777', 'latin1')]);
}

function section(number: number, content: Uint8Array): Buffer {
  const head = Buffer.alloc(5);
  head.writeUInt32BE(5 + content.length, 0);
  head[4] = number;
  return Buffer.concat([head, content]);
}

/** US National Weather Service; master tables 2; time of the start of a forecast; status 192; forecast. */
function identification(run_time: number): Buffer {
  const content = Buffer.from([0, 7, 0, 0, 2, 1, 1, 0, 0, 0, 0, 0, 0, 0, 192, 1]);
  writeTime(content, 7, run_time);
  return section(1, content);
}

function writeTime(bytes: Buffer, at: number, time_ms: number): void {
  const time = new Date(time_ms);
  bytes.writeUInt16BE(time.getUTCFullYear(), at);
  bytes.set([time.getUTCMonth() + 1, time.getUTCDate(), time.getUTCHours(), 0, 0], at + 2);
}

function lambert({ cols, rows, first_lat_udeg, first_lon_udeg, step_m }: LambertSpec): Buffer {
  const content = Buffer.alloc(76);
  content.writeUInt32BE(cols * rows, 1);
  content[8] = 30;
  content[9] = 6;
  content.writeUInt32BE(cols, 25);
  content.writeUInt32BE(rows, 29);
  content.writeUInt32BE(first_lat_udeg, 33);
  content.writeUInt32BE(first_lon_udeg, 37);
  content[41] = 0x08; // winds follow the grid
  content.writeUInt32BE(PARALLEL_UDEG, 42);
  content.writeUInt32BE(MERIDIAN_UDEG, 46);
  content.writeUInt32BE(1000 * step_m, 50);
  content.writeUInt32BE(1000 * step_m, 54);
  content[59] = 0x40; // rows from the south
  content.writeUInt32BE(PARALLEL_UDEG, 60);
  content.writeUInt32BE(PARALLEL_UDEG, 64);
  content.writeUInt32BE(0x80000000 + 90e6, 68);
  return section(3, content);
}

/** Octets 6 to 34 of section 4, shared by both templates. */
function product({ parameter, level, second_level }: ModelFieldSpec, template: number, lead_h: number): Buffer {
  const content = Buffer.alloc(29);
  content.writeUInt16BE(template, 2);
  content[4] = parameter[1];
  content[5] = parameter[2];
  content[6] = 2; // generating process: forecast
  content[8] = 83;
  content[12] = 1; // the lead is in hours
  content.writeUInt32BE(lead_h, 13);
  writeSurface(content, 17, level);
  writeSurface(content, 23, second_level);
  return content;
}

function writeSurface(bytes: Buffer, at: number, surface: SurfaceSpec | undefined): void {
  bytes[at] = surface?.type ?? 255;
  bytes[at + 1] = surface === undefined ? 255 : 0;
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
  return section(4, Buffer.concat([product(field, 8, lead_h - 1), interval]));
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
  representation.writeUInt16BE(3, 4);
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
    representation: section(5, representation),
    data: section(7, Buffer.concat([head, references.bytes, widths.bytes, offsets.bytes])),
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
