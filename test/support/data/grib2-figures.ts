import { readFileSync } from 'node:fs';
import type { ExecutionContext } from 'ava';
import {
  type Decoded,
  decodeField,
  type Field,
  parseGrib2,
  positionOf,
  valueReader,
} from '../../../pipeline/grib2/index.ts';
import { gunzip } from '../../../pipeline/raw-file.ts';
import { sharedData } from './shared-data.ts';

export interface Point {
  readonly row?: number;
  readonly col?: number;
  readonly j?: number;
  readonly i?: number;
  readonly lat?: number;
  readonly lon?: number;
  readonly value: number | null;
  readonly at?: string;
}

interface MrmsFigures {
  readonly valid_time: string;
  readonly category: number;
  readonly number: number;
  readonly grid: { ni: number; nj: number; la1: number; lo1: number };
  readonly packing: { bits: number; reference_value: number; binary_scale: number; decimal_scale: number };
  readonly sentinels: { missing: number; no_coverage: number; counts: Record<string, number> };
  readonly min: number;
  readonly valid: {
    count: number;
    min: number;
    max: number;
    sum: number;
    zeros: number;
    positive: number;
    negative: number;
  };
  readonly max_at: { row: number; col: number; value: number; pixels_with_max: number };
  readonly count_ge: Record<string, number>;
  readonly points: readonly Point[];
}

export interface ModelFigures {
  readonly fields_total: number;
  readonly fields: readonly {
    readonly message: number;
    readonly field: number;
    readonly discipline: number;
    readonly category: number;
    readonly number: number;
    readonly reference_time: string;
    readonly packing: { template: number };
    readonly missing: number;
    readonly min: number;
    readonly max: number;
    readonly mean: number;
    readonly points: readonly Point[];
  }[];
}

interface SequenceFigures {
  readonly per_frame: readonly {
    readonly file: string;
    readonly valid_time: string;
    readonly max_at: { row: number; col: number; value: number; pixels_with_max: number };
    readonly no_coverage: number;
    readonly zeros: number;
    readonly positive: number;
    readonly sum_valid: number;
    readonly count_ge: Record<string, number>;
  }[];
}

/** What ecCodes and GDAL found in the real files. */
export function figures(): {
  mrms: Record<string, MrmsFigures>;
  forecast: Record<string, ModelFigures>;
  mrms_sequence: SequenceFigures;
} {
  return JSON.parse(readFileSync(sharedData('expected.json'), 'utf8'));
}

/** The fields of a real file. */
export function fieldsOf(...path: string[]): Field[] {
  const name = path.at(-1) as string;
  return parseGrib2(gunzip(readFileSync(sharedData(...path)), name), name);
}

/** How often each value occurs, in units of 10^-D, which all MRMS values are whole multiples of. */
export function countValues({ packed, reference }: Decoded): Map<number, number> {
  let largest = 0;
  for (let i = 0; i < packed.length; i++) largest = Math.max(largest, packed[i]);
  const tally = new Uint32Array(largest + 1);
  for (let i = 0; i < packed.length; i++) tally[packed[i]] = tally[packed[i]] + 1;
  return new Map(Array.from(tally, (count, x) => [reference + x, count] as const).filter(([, count]) => count > 0));
}

/** Index of the first point with a value in units of 10^-D. */
export function firstOf({ packed, reference }: Decoded, value: number): number {
  return packed.indexOf(value - reference);
}

/** A real MRMS file decodes to the figures of ecCodes: header, sentinels, counts, sum, extremes, points. */
export function sameAsEcCodes(t: ExecutionContext, name: string): void {
  const expected = figures().mrms[name] as MrmsFigures;
  const fields = fieldsOf('mrms', name);
  t.is(fields.length, 1);
  const field = fields[0] as Field;
  t.is(field.reference_time, Date.parse(expected.valid_time));
  t.deepEqual([field.discipline, field.category, field.number], [209, expected.category, expected.number]);
  t.deepEqual([field.grid.columns, field.grid.rows], [expected.grid.ni, expected.grid.nj]);
  const decoded = decodeField(field);
  const { packing } = expected;
  t.deepEqual(
    [decoded.reference, decoded.binary_scale, decoded.decimal_scale],
    [packing.reference_value, packing.binary_scale, packing.decimal_scale],
  );
  t.is('bits' in field.packing ? field.packing.bits : null, packing.bits);
  const units = 10 ** decoded.decimal_scale;
  const counts = countValues(decoded);
  for (const [sentinel, count] of Object.entries(expected.sentinels.counts))
    t.is(counts.get(Math.round(Number(sentinel) * units)) ?? 0, count, `sentinel ${sentinel}`);
  const sentinels = [expected.sentinels.missing, expected.sentinels.no_coverage].map((x) => Math.round(x * units));
  const real = [...counts].filter(([x]) => !sentinels.includes(x));
  const countWhere = (isWanted: (x: number) => boolean) =>
    real.reduce((sum, [x, count]) => (isWanted(x) ? sum + count : sum), 0);
  t.is(
    countWhere(() => true),
    expected.valid.count,
  );
  t.is(
    countWhere((x) => x === 0),
    expected.valid.zeros,
  );
  t.is(
    countWhere((x) => x > 0),
    expected.valid.positive,
  );
  t.is(
    countWhere((x) => x < 0),
    expected.valid.negative,
  );
  const sum = real.reduce((total, [x, count]) => total + x * count, 0);
  t.is(sum, Math.round(expected.valid.sum * units));
  const largest = Math.max(...counts.keys());
  t.is(largest, Math.round(expected.max_at.value * units));
  t.is(firstOf(decoded, largest), expected.max_at.row * expected.grid.ni + expected.max_at.col);
  t.is(counts.get(largest), expected.max_at.pixels_with_max);
  for (const [threshold, count] of Object.entries(expected.count_ge))
    t.is(
      countWhere((x) => x >= Math.round(Number(threshold) * units)),
      count,
      `>= ${threshold}`,
    );
  for (const point of expected.points) {
    t.is(valueReader(decoded)((point.row as number) * expected.grid.ni + (point.col as number)), point.value as number);
    const at = positionOf(field.grid, point.row as number, point.col as number);
    t.true(Math.abs(at.lat - (point.lat as number)) < 1.1e-5 && Math.abs(at.lon - (point.lon as number)) < 1.1e-5);
  }
}
