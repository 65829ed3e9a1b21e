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

/** How values of a field are spread; counts by threshold are of values from it on. */
interface ValueFigures {
  readonly zeros: number;
  readonly positive: number;
  readonly negative: number;
  readonly sum: number;
  readonly max_at: {
    readonly row: number;
    readonly col: number;
    readonly value: number;
    readonly pixels_with_max: number;
  };
  readonly count_ge: Readonly<Record<string, number>>;
}

interface MrmsFigures extends Pick<ValueFigures, 'max_at' | 'count_ge'> {
  readonly valid_time: string;
  readonly category: number;
  readonly number: number;
  readonly grid: { ni: number; nj: number };
  readonly packing: { bits: number; reference_value: number; binary_scale: number; decimal_scale: number };
  readonly sentinels: { counts: Record<string, number> };
  readonly valid: Omit<ValueFigures, 'max_at' | 'count_ge'>;
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
  readonly per_frame: readonly (Pick<ValueFigures, 'max_at' | 'count_ge' | 'zeros' | 'positive'> & {
    readonly file: string;
    readonly valid_time: string;
    readonly no_coverage: number;
    readonly sum_valid: number;
  })[];
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
function countValues({ packed, reference }: Decoded): Map<number, number> {
  let largest = 0;
  for (const x of packed) largest = Math.max(largest, x);
  const tally = new Uint32Array(largest + 1);
  for (const x of packed) tally[x] = tally[x] + 1;
  return new Map(Array.from(tally, (count, x) => [reference + x, count] as const).filter(([, count]) => count > 0));
}

/** The values of a decoded field are spread as the figures say; `sentinels` are values that stand for none, with their counts. */
export function sameValues(
  t: ExecutionContext,
  decoded: Decoded,
  sentinels: Readonly<Record<string, number>>,
  expected: ValueFigures,
): void {
  const inUnits = (value: number | string) => Math.round(Number(value) * 10 ** decoded.decimal_scale);
  const counts = countValues(decoded);
  for (const [sentinel, count] of Object.entries(sentinels)) {
    t.is(counts.get(inUnits(sentinel)) ?? 0, count, `sentinel ${sentinel}`);
    counts.delete(inUnits(sentinel));
  }
  const countWhere = (isWanted: (x: number) => boolean) =>
    counts.entries().reduce((sum, [x, count]) => (isWanted(x) ? sum + count : sum), 0);
  t.deepEqual(
    [countWhere((x) => x === 0), countWhere((x) => x > 0), countWhere((x) => x < 0)],
    [expected.zeros, expected.positive, expected.negative],
  );
  t.is(
    counts.entries().reduce((sum, [x, count]) => sum + x * count, 0),
    inUnits(expected.sum),
  );
  const { row, col, value, pixels_with_max } = expected.max_at;
  const largest = Math.max(...counts.keys());
  t.is(largest, inUnits(value));
  t.is(decoded.packed.indexOf(largest - decoded.reference), row * decoded.columns + col);
  t.is(counts.get(largest), pixels_with_max);
  for (const [threshold, count] of Object.entries(expected.count_ge))
    t.is(
      countWhere((x) => x >= inUnits(threshold)),
      count,
      `>= ${threshold}`,
    );
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
  const { packing, max_at, count_ge } = expected;
  t.deepEqual(
    [decoded.reference, decoded.binary_scale, decoded.decimal_scale],
    [packing.reference_value, packing.binary_scale, packing.decimal_scale],
  );
  t.is('bits' in field.packing ? field.packing.bits : null, packing.bits);
  sameValues(t, decoded, expected.sentinels.counts, { ...expected.valid, max_at, count_ge });
  for (const { row = 0, col = 0, lat = 0, lon = 0, value } of expected.points) {
    t.is(valueReader(decoded)(row * expected.grid.ni + col), value as number);
    const at = positionOf(field.grid, row, col);
    t.true(Math.abs(at.lat - lat) < 1.1e-5 && Math.abs(at.lon - lon) < 1.1e-5);
  }
}
