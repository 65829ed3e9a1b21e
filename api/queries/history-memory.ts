import { setTimeout as pause } from 'node:timers/promises';
import { LRUCache } from 'lru-cache';
import { LATTICE } from '../../schemas/geo/lattice.ts';
import { DETECTION_MIN_MM } from '../../schemas/size.ts';
import { companionFields } from '../../schemas/tables/radar.ts';
import type { Engine, Queries } from '../published/duckdb.ts';
import type { PixelWindow } from '../rules/pixel-distance.ts';
import { lowerBound } from '../rules/radar-coverage.ts';
import { FILES } from './sql.ts';

/** Facts of a pixel's geohash5 place on a date: neighbours share them. */
export const PLACE_COLUMNS = [
  'place_first_detected',
  'place_last_detected',
  'place_scans',
  'place_duration_min',
] as const;
const OWN_COLUMNS = ['day', 'max_mm', 'max_time', 'confidence'] as const;
export type DayMaxColumn = (typeof PLACE_COLUMNS | typeof OWN_COLUMNS)[number] | keyof typeof companionFields;
const DAY_MAX_COLUMNS = [...PLACE_COLUMNS, ...OWN_COLUMNS, ...Object.keys(companionFields)] as readonly DayMaxColumn[];

/** `at`: the value of a row. */
type Column = { readonly at: (index: number) => number };

/**
 * Rows of day maxima in columns of numbers, NaN for null: `day` counts from 1970-01-01, instants are epoch milliseconds. Either
 * a whole file in memory, or the rows of a box that DuckDB read from files.
 */
export interface DayMaxRows {
  readonly columns: Readonly<Record<DayMaxColumn, Column>>;
  /** Calls `visit` for every row whose pixel lies in a window; rows without a pixel in it are skipped. */
  readonly inWindow: (window: PixelWindow, visit: (index: number, row: number, col: number) => void) => void;
}

export const columnsBy = (make: (name: DayMaxColumn, index: number) => Column) =>
  Object.fromEntries(DAY_MAX_COLUMNS.map((name, index) => [name, make(name, index)])) as DayMaxRows['columns'];

const EXPRESSIONS: Partial<Record<DayMaxColumn, string>> = {
  day: `storm_date - DATE '1970-01-01'`,
  max_time: 'epoch_ms(max_time)',
  place_first_detected: 'epoch_ms(place_first_detected)',
  place_last_detected: 'epoch_ms(place_last_detected)',
};
/** Select list of the columns of `DayMaxRows`. */
export const DAY_MAX_SELECT = DAY_MAX_COLUMNS.map((name) => `(${EXPRESSIONS[name] ?? name})::DOUBLE AS "${name}"`).join(
  ', ',
);

/** A file of day maxima in memory. */
type FileRows = DayMaxRows & { readonly bytes: number };

/** Twice what a usual year of CONUS takes: 2.4 million pixels, 60 MB. */
const BYTES_MAX = 128_000_000;
/** Files that wait to be read; further ones wait to be asked for again. */
const WAITING_MAX = 1024;
/** Pause after each file, in times of its reading: questions that need more than fits must not keep a core busy. */
const PAUSE_SHARE = 2;

export type HistoryMemory = ReturnType<typeof openHistoryMemory>;

/**
 * Opens an empty memory for the files of day maxima that history reads: a question about a year then runs no statement and takes a
 * sixth of the time. Published files never change under their name; the least recently used goes first. `failed` hears of a file
 * that could not be read; its questions read it themselves, and fail then.
 */
export function openHistoryMemory(engine: Engine, failed: (path: string, error: unknown) => void) {
  const files = new LRUCache<string, FileRows>({ maxSize: BYTES_MAX, sizeCalculation: ({ bytes }) => bytes + 1 });
  const wanted = new Set<string>();
  let isClosed = false;
  let reading = Promise.resolve();

  const read = async (path: string) => {
    if (isClosed) return;
    const since = performance.now();
    try {
      files.set(path, await readFile(engine.priority, path));
    } catch (error) {
      if (!isClosed) failed(path, error);
    }
    wanted.delete(path);
    await pause(PAUSE_SHARE * (performance.now() - since));
  };
  return {
    /** The files that are in memory, and the paths of the others: those are read afterwards, for later questions. */
    split: (paths: readonly string[]): { inMemory: DayMaxRows[]; unread: string[] } => {
      const unread = paths.filter((path) => !files.has(path));
      for (const path of unread.filter((each) => !wanted.has(each)).slice(0, WAITING_MAX - wanted.size)) {
        wanted.add(path);
        reading = reading.then(() => read(path));
      }
      return { inMemory: paths.flatMap((path) => files.get(path) ?? []), unread };
    },
    /** Resolves once every file that was asked for is read. */
    settled: (): Promise<void> => reading,
    /** Stops reading, after the file that is being read. */
    close: async (): Promise<void> => {
      isClosed = true;
      await reading;
    },
  };
}

/** Side of a square, pixels: that of the table's sort order, so that rows are taken in the order of the file. */
const SQUARE_PX = 50;
const SQUARES_ACROSS = LATTICE.cols / SQUARE_PX;

const DAY_MAX_SQL = `
  SELECT ("row" // ${SQUARE_PX} * ${SQUARES_ACROSS} + col // ${SQUARE_PX})::DOUBLE AS square,
    ("row" % ${SQUARE_PX} * ${SQUARE_PX} + col % ${SQUARE_PX})::DOUBLE AS place, ${DAY_MAX_SELECT}
  FROM ${FILES} WHERE max_mm >= ${DETECTION_MIN_MM} AND NOT interpolated`;

/** The detections of a whole file, pixels >= 10 mm that a scan saw: about 20 bytes each. */
async function readFile(queries: Queries, path: string): Promise<FileRows> {
  const squares: number[] = [];
  /** First row of each square. */
  const starts: number[] = [];
  const encoders = Array.from({ length: 1 + DAY_MAX_COLUMNS.length }, columnEncoder);
  let count = 0;
  await queries.stream(DAY_MAX_SQL, [[path]], ([square, ...values]) => {
    for (let index = 0; index < square.length; index++) {
      const [name, last] = [square[index], squares.at(-1) ?? -1];
      if (name === last) continue;
      // The table has this order; sorting takes as much time as reading.
      if (name < last)
        throw new Error(`${path} has square ${name} after square ${last}, expected the order of its table`);
      squares.push(name);
      starts.push(count + index);
    }
    for (const [index, encoder] of encoders.entries()) encoder.add(values[index]);
    count += square.length;
  });
  const [places, ...columns] = encoders.map((encoder) => encoder.done()) as [NumberColumn, ...NumberColumn[]];
  const inFile = { squares: Uint32Array.from(squares), starts: Uint32Array.from([...starts, count]), places };
  return {
    bytes: [places, ...columns].reduce((sum, column) => sum + column.bytes, 8 * squares.length),
    columns: columnsBy((_, index) => columns[index] as NumberColumn),
    inWindow: (window, visit) => visitSquares(inFile, window, visit),
  };
}

/** `places`: number of each pixel in its square, row by row. */
function visitSquares(
  { squares, starts, places }: Readonly<Record<'squares' | 'starts', Uint32Array>> & { readonly places: Column },
  { row0, row1, col0, col1 }: PixelWindow,
  visit: Parameters<DayMaxRows['inWindow']>[1],
): void {
  const [north, south, west, east] = [row0, row1, col0, col1].map((edge) => Math.floor(edge / SQUARE_PX));
  for (let down = north; down <= south; down++) {
    const last = down * SQUARES_ACROSS + east;
    const first = lowerBound(squares, down * SQUARES_ACROSS + west);
    for (let at = first; at < squares.length && squares[at] <= last; at++) {
      const first_row = down * SQUARE_PX;
      const first_col = (squares[at] % SQUARES_ACROSS) * SQUARE_PX;
      for (let index = starts[at], end = starts[at + 1]; index < end; index++) {
        const place = places.at(index);
        const row = first_row + Math.floor(place / SQUARE_PX);
        const col = first_col + (place % SQUARE_PX);
        if (row >= row0 && row <= row1 && col >= col0 && col <= col1) visit(index, row, col);
      }
    }
  }
}

/** A dictionary-encoded column: each row holds the code of its value, since most columns have few distinct ones. Exact; NaN is null. */
type NumberColumn = Column & { readonly bytes: number };

/** Encodes a column that arrives in pieces. */
function columnEncoder() {
  const codeOf = new Map<number, number>();
  const pieces: Uint32Array[] = [];
  const codeFor = (value: number) => {
    const code = codeOf.get(value) ?? codeOf.size;
    if (code === codeOf.size) codeOf.set(value, code);
    return code;
  };
  return {
    add: (piece: Float64Array) => pieces.push(Uint32Array.from(piece, codeFor)),
    done: (): NumberColumn => numberColumn(Float64Array.from(codeOf.keys()), pieces),
  };
}

/** Stands outside the encoder, whose buffers a column must not keep. */
function numberColumn(values: Float64Array, pieces: readonly Uint32Array[]): NumberColumn {
  const Narrow = values.length <= 0x100 ? Uint8Array : values.length <= 0x10000 ? Uint16Array : Uint32Array;
  const codes = new Narrow(pieces.reduce((sum, { length }) => sum + length, 0));
  let length = 0;
  for (const piece of pieces) {
    codes.set(piece, length);
    length += piece.length;
  }
  return { bytes: values.byteLength + codes.byteLength, at: (index) => values[codes[index]] };
}
