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
        // Neighbours are often equal, and null is not equal to itself.
        if (last_code < 0 || (value !== last && !(Number.isNaN(value) && Number.isNaN(last)))) {
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
