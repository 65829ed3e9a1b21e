/**
 * A column of numbers in memory, dictionary-encoded: each row holds the code of its value, since most columns of published tables
 * have few distinct values. Exact; NaN stands for null.
 */
export interface NumberColumn {
  readonly bytes: number;
  /** Value of a row. */
  readonly at: (index: number) => number;
}

/** Encodes a column that arrives in pieces. */
interface ColumnEncoder {
  readonly add: (piece: Float64Array) => void;
  readonly done: () => NumberColumn;
}

/** Encodes columns whose values repeat together: a row has one code for all of them, and each column is encoded over these. */
interface TupleEncoder {
  /** Pieces of equal length, one of each column. */
  readonly add: (pieces: readonly Float64Array[]) => void;
  /** The columns, in their order; the shared codes count with the first. */
  readonly done: () => NumberColumn[];
}

type Codes = Uint8Array | Uint16Array | Uint32Array;

const FIRST_CAPACITY = 4096;

/** An encoder of one column. */
export function columnEncoder(): ColumnEncoder {
  const codeOf = new Map<number, number>();
  let codes = new Uint32Array(FIRST_CAPACITY);
  let length = 0;
  let [last, last_code] = [Number.NaN, -1];
  return {
    add: (piece) => {
      codes = withCapacity(codes, length + piece.length);
      for (let index = 0; index < piece.length; index++) {
        const value = piece[index];
        // Neighbours are often equal.
        if (last_code < 0 || !isSame(value, last)) {
          last = value;
          last_code = codeOf.get(value) ?? codeOf.size;
          if (last_code === codeOf.size) codeOf.set(value, last_code);
        }
        codes[length++] = last_code;
      }
    },
    done: () => {
      const values = Float64Array.from(codeOf.keys());
      return columnOver(values, narrowed(codes.subarray(0, length), values.length));
    },
  };
}

/** An encoder of `width` columns. */
export function tupleEncoder(width: number): TupleEncoder {
  /** Each distinct tuple once, one after the other. */
  const tuples: number[] = [];
  /** Newest code of each sum of values, and for each code the one before it with the same sum; -1: none. */
  const newest = new Map<number, number>();
  const before: number[] = [];
  let codes = new Uint32Array(FIRST_CAPACITY);
  let length = 0;

  const isTuple = (code: number, pieces: readonly Float64Array[], row: number) => {
    for (let at = 0; at < width; at++) if (!isSame(tuples[width * code + at], pieces[at][row])) return false;
    return true;
  };
  const codeOf = (pieces: readonly Float64Array[], row: number): number => {
    let sum = 0;
    for (let at = 0; at < width; at++) sum += (at + 1) * pieces[at][row];
    const first = newest.get(sum) ?? -1;
    for (let code = first; code >= 0; code = before[code]) if (isTuple(code, pieces, row)) return code;
    for (let at = 0; at < width; at++) tuples.push(pieces[at][row]);
    newest.set(sum, before.push(first) - 1);
    return before.length - 1;
  };
  return {
    add: (pieces) => {
      const rows = pieces[0].length;
      codes = withCapacity(codes, length + rows);
      for (let row = 0; row < rows; row++) codes[length++] = codeOf(pieces, row);
    },
    done: () => tupleColumns(tuples, width, codes.subarray(0, length)),
  };
}

// The functions below stand outside the encoders: a column must not keep an encoder's buffers alive.

function tupleColumns(tuples: readonly number[], width: number, codes: Uint32Array): NumberColumn[] {
  const distinct = tuples.length / width;
  const shared = narrowed(codes, distinct);
  return Array.from({ length: width }, (_, at) => {
    const encoder = columnEncoder();
    encoder.add(Float64Array.from({ length: distinct }, (__, code) => tuples[width * code + at]));
    const { bytes, at: valueAt } = encoder.done();
    return {
      bytes: bytes + (at === 0 ? (shared?.byteLength ?? 0) : 0),
      at: shared === null ? () => valueAt(0) : (index) => valueAt(shared[index]),
    };
  });
}

function columnOver(values: Float64Array, codes: Codes | null): NumberColumn {
  return {
    bytes: values.byteLength + (codes?.byteLength ?? 0),
    at: codes === null ? () => values[0] : (index) => values[codes[index]],
  };
}

/** NaN, which stands for null, is the same as NaN. */
function isSame(a: number, b: number): boolean {
  return a === b || (Number.isNaN(a) && Number.isNaN(b));
}

function withCapacity(codes: Uint32Array<ArrayBuffer>, needed: number): Uint32Array<ArrayBuffer> {
  if (needed <= codes.length) return codes;
  const larger = new Uint32Array(2 * needed);
  larger.set(codes);
  return larger;
}

/** A copy in the smallest type that holds the codes; null where one value needs no code. */
function narrowed(codes: Uint32Array, distinct: number): Codes | null {
  if (distinct <= 1) return null;
  if (distinct <= 0x100) return new Uint8Array(codes);
  return distinct <= 0x10000 ? new Uint16Array(codes) : new Uint32Array(codes);
}
