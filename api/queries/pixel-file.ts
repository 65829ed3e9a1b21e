import { LATTICE } from '../../schemas/geo/lattice.ts';
import { DETECTION_MIN_MM } from '../../schemas/size.ts';
import { type DayMax, dayMax } from '../../schemas/tables/day-max.ts';
import { companionFields } from '../../schemas/tables/detections.ts';
import type { Queries } from '../duckdb.ts';
import { type Coded, coder, tupleCoder } from './coded.ts';
import type { FileView } from './file-memory.ts';
import { filesOfAnyVersion } from './select.ts';

/** Rows and columns of the lattice, first and last of each, both included. */
export type PixelWindow = readonly [first_row: number, last_row: number, first_col: number, last_col: number];

/** What is known of the place of a pixel on a date: the same for its neighbours. */
const PLACE_COLUMNS = [
  'place_first_detected',
  'place_last_detected',
  'place_scans',
  'place_duration_min',
] as const satisfies readonly (keyof DayMax)[];
const COMPANION_COLUMNS = Object.keys(companionFields) as (keyof typeof companionFields)[];
const OWN_COLUMNS = ['day', 'max_mm', 'max_time', 'confidence', ...COMPANION_COLUMNS] as const;
/** What is known of each pixel, NaN for null: the day since 1970, instants in epoch milliseconds. */
export const PIXEL_COLUMNS = [...PLACE_COLUMNS, ...OWN_COLUMNS] as const satisfies readonly (keyof DayMax | 'day')[];
export type PixelColumn = (typeof PIXEL_COLUMNS)[number];

/**
 * The detections of one file of day maxima: pixels >= 10 mm that a scan saw, in squares, as columns of codes. About 14 bytes
 * each, and no SQL stands between a question and them.
 */
export interface PixelFile {
  readonly bytes: number;
  readonly columns: Readonly<Record<PixelColumn, Coded>>;
  /** Calls `visit` for every pixel of a window, square by square. */
  readonly inWindow: (window: PixelWindow, visit: (index: number, row: number, col: number) => void) => void;
}

/** Side of a square, pixels: that of the order of the table, so that a file is read as it lies. */
const SQUARE_PX = 50;
const SQUARES_ACROSS = LATTICE.cols / SQUARE_PX;

const EXPRESSIONS: Partial<Record<PixelColumn, string>> = {
  day: `storm_date - DATE '1970-01-01'`,
  max_time: 'epoch_ms(max_time)',
  place_first_detected: 'epoch_ms(place_first_detected)',
  place_last_detected: 'epoch_ms(place_last_detected)',
};
const PIXELS_SQL = `
  SELECT ("row" // ${SQUARE_PX} * ${SQUARES_ACROSS} + col // ${SQUARE_PX})::DOUBLE AS square,
    ("row" % ${SQUARE_PX} * ${SQUARE_PX} + col % ${SQUARE_PX})::DOUBLE AS place,
    ${PIXEL_COLUMNS.map((name) => `(${EXPRESSIONS[name] ?? name})::DOUBLE AS "${name}"`).join(', ')}
  FROM ${filesOfAnyVersion(dayMax)} WHERE max_mm >= ${DETECTION_MIN_MM} AND NOT interpolated`;

/** The detections of a file of day maxima, as a memory of files keeps them. */
export const PIXEL_FILE: FileView<PixelFile> = {
  name: dayMax.name,
  read: async (queries: Queries, path: string) => {
    /** Name and first pixel of each square. */
    const squares: { name: number; start: number }[] = [];
    const places: Uint16Array[] = [];
    const ofPlace = tupleCoder(PLACE_COLUMNS.length);
    const coders = OWN_COLUMNS.map(() => coder());
    let count = 0;
    let last = -1;
    await queries.stream(PIXELS_SQL, [[path]], ([square, place, ...values]) => {
      for (let index = 0; index < square.length; index++) {
        const name = square[index];
        if (name === last) continue;
        // The table has this order: to sort a file again would take as long as to read it.
        if (name < last)
          throw new Error(`${path} has square ${name} after square ${last}, expected the order of its table`);
        squares.push({ name, start: count + index });
        last = name;
      }
      places.push(new Uint16Array(place));
      ofPlace.add(values.slice(0, PLACE_COLUMNS.length));
      for (const [index, { add }] of coders.entries()) add(values[PLACE_COLUMNS.length + index]);
      count += square.length;
    });
    const made = [...ofPlace.done(), ...coders.map(({ done }) => done())];
    const columns = Object.fromEntries(PIXEL_COLUMNS.map((name, index) => [name, made[index]]));
    return pixelFile(squares, joined(places, count), columns as PixelFile['columns']);
  },
};

function joined(pieces: readonly Uint16Array[], length: number): Uint16Array {
  const all = new Uint16Array(length);
  let at = 0;
  for (const piece of pieces) {
    all.set(piece, at);
    at += piece.length;
  }
  return all;
}

/** `places`: of each pixel in its square, row by row. */
function pixelFile(
  squares: readonly { readonly name: number; readonly start: number }[],
  places: Uint16Array,
  columns: PixelFile['columns'],
): PixelFile {
  const names = Uint32Array.from(squares, ({ name }) => name);
  const starts = Uint32Array.from([...squares.map(({ start }) => start), places.length]);
  const sizes = [...Object.values(columns).map(({ bytes }) => bytes), names.byteLength, starts.byteLength];
  return {
    bytes: sizes.reduce((sum, size) => sum + size, places.byteLength),
    columns,
    inWindow: ([first_row, last_row, first_col, last_col], visit) => {
      const [north, south] = [squareOf(first_row), squareOf(last_row)];
      const [west, east] = [squareOf(first_col), squareOf(last_col)];
      for (let down = north; down <= south; down++) {
        const last = down * SQUARES_ACROSS + east;
        for (let at = lowerBound(names, down * SQUARES_ACROSS + west); at < names.length && names[at] <= last; at++) {
          const row0 = down * SQUARE_PX;
          const col0 = (names[at] % SQUARES_ACROSS) * SQUARE_PX;
          const end = starts[at + 1];
          for (let index = starts[at]; index < end; index++) {
            const row = row0 + Math.floor(places[index] / SQUARE_PX);
            const col = col0 + (places[index] % SQUARE_PX);
            if (row >= first_row && row <= last_row && col >= first_col && col <= last_col) visit(index, row, col);
          }
        }
      }
    },
  };
}

function squareOf(row_or_col: number): number {
  return Math.floor(row_or_col / SQUARE_PX);
}

/** Place of the first value that is not below one; the values ascend. */
function lowerBound(values: Uint32Array, value: number): number {
  let [low, high] = [0, values.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (values[middle] < value) low = middle + 1;
    else high = middle;
  }
  return low;
}
