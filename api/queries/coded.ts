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

/** A coder of a new column. */
export function coder(): Coder {
  const codeOf = new Map<number, number>();
  const pieces: Uint32Array[] = [];
  return {
    add: (piece) => {
      const codes = new Uint32Array(piece.length);
      for (let index = 0; index < piece.length; index++) {
        const value = piece[index];
        let code = codeOf.get(value);
        if (code === undefined) {
          code = codeOf.size;
          codeOf.set(value, code);
        }
        codes[index] = code;
      }
      pieces.push(codes);
    },
    done: () => {
      const values = Float64Array.from(codeOf.keys());
      const length = pieces.reduce((sum, piece) => sum + piece.length, 0);
      const codes = values.length <= 1 ? null : narrow(pieces, length, values.length);
      return {
        bytes: values.byteLength + (codes?.byteLength ?? 0),
        length,
        values,
        codeOf: codes === null ? () => 0 : (index) => codes[index],
      };
    },
  };
}

/** The pieces as one array of the smallest type that holds so many codes. */
function narrow(
  pieces: readonly Uint32Array[],
  length: number,
  distinct: number,
): Uint8Array | Uint16Array | Uint32Array {
  const codes =
    distinct <= 0x100
      ? new Uint8Array(length)
      : distinct <= 0x10000
        ? new Uint16Array(length)
        : new Uint32Array(length);
  let at = 0;
  for (const piece of pieces) {
    codes.set(piece, at);
    at += piece.length;
  }
  return codes;
}
