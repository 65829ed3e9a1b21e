/** A column of numbers as codes: most columns of published tables hold few distinct values. Exact; NaN stands for null. */
export interface Coded {
  readonly bytes: number;
  readonly length: number;
  /** Distinct values, in the order in which they came first. */
  readonly values: Float64Array;
  /** Code of a row: the place of its value in `values`. */
  readonly codeOf: (index: number) => number;
}

/** Makes a coded column of what comes piece by piece. */
export interface Coder {
  readonly add: (piece: Float64Array) => void;
  readonly done: () => Coded;
}

/** Makes coded columns whose values come in the same company: a row of them has one code, and each column is coded over these. */
export interface TupleCoder {
  /** As many rows of each column. */
  readonly add: (pieces: readonly Float64Array[]) => void;
  /** The columns, in their order; the codes that they share count with the first. */
  readonly done: () => Coded[];
}

const FIRST_ROOM = 4096;

/** A coder of a new column. */
export function coder(): Coder {
  const codeOf = new Map<number, number>();
  let codes = new Uint32Array(FIRST_ROOM);
  let length = 0;
  let [last, last_code] = [Number.NaN, -1];
  return {
    add: (piece) => {
      if (length + piece.length > codes.length) codes = grown(codes, 2 * (length + piece.length));
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
    done: () => coded(Float64Array.from(codeOf.keys()), codes.subarray(0, length)),
  };
}

/** A coder of so many new columns. */
export function tupleCoder(width: number): TupleCoder {
  /** Each tuple once, one after the other. */
  const tuples: number[] = [];
  /** The newest code whose values have a sum, and for each code the one before it with that sum; -1: none. */
  const newest = new Map<number, number>();
  const before: number[] = [];
  let codes = new Uint32Array(FIRST_ROOM);
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
      if (length + rows > codes.length) codes = grown(codes, 2 * (length + rows));
      for (let row = 0; row < rows; row++) codes[length++] = codeOf(pieces, row);
    },
    done: () => codedTuples(tuples, width, codes.subarray(0, length)),
  };
}

/** Outside the coder, like `coded`. */
function codedTuples(tuples: readonly number[], width: number, codes: Uint32Array): Coded[] {
  const distinct = tuples.length / width;
  const shared = distinct <= 1 ? null : narrow(codes, distinct);
  const { length } = codes;
  return Array.from({ length: width }, (_, at) => {
    const made = coder();
    made.add(Float64Array.from({ length: distinct }, (__, row) => tuples[width * row + at]));
    const { bytes, values, codeOf } = made.done();
    return {
      bytes: bytes + (at === 0 ? (shared?.byteLength ?? 0) : 0),
      length,
      values,
      codeOf: shared === null ? () => codeOf(0) : (index) => codeOf(shared[index]),
    };
  });
}

/** Null, which is NaN here, is the same as null. */
function isSame(a: number, b: number): boolean {
  return a === b || (Number.isNaN(a) && Number.isNaN(b));
}

/** Outside the coder: what it returns must not hold on to the room that the coder worked in. */
function coded(values: Float64Array, codes: Uint32Array): Coded {
  const kept = values.length <= 1 ? null : narrow(codes, values.length);
  return columnOf(values, kept, codes.length);
}

function columnOf(values: Float64Array, codes: Uint8Array | Uint16Array | Uint32Array | null, length: number): Coded {
  return {
    bytes: values.byteLength + (codes?.byteLength ?? 0),
    length,
    values,
    codeOf: codes === null ? () => 0 : (index) => codes[index],
  };
}

function grown(codes: Uint32Array, room: number): Uint32Array<ArrayBuffer> {
  const larger = new Uint32Array(room);
  larger.set(codes);
  return larger;
}

/** A copy of the smallest type that holds so many codes. */
function narrow(codes: Uint32Array, distinct: number): Uint8Array | Uint16Array | Uint32Array {
  if (distinct <= 0x100) return new Uint8Array(codes);
  return distinct <= 0x10000 ? new Uint16Array(codes) : new Uint32Array(codes);
}
