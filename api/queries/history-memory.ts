import { setTimeout as pause } from 'node:timers/promises';
import { LRUCache } from 'lru-cache';
import { LATTICE } from '../../schemas/geo/lattice.ts';
import { DETECTION_MIN_MM } from '../../schemas/size.ts';
import type { Engine, Queries } from '../published/duckdb.ts';
import { lowerBound } from '../rules/lower-bound.ts';
import type { PixelWindow } from '../rules/pixel-distance.ts';
import { columnsBy, DAY_MAX_COLUMNS, type DayMaxRows, numbersList } from './day-max-rows.ts';
import { FILES } from './sql.ts';

/** A value with its size in memory. */
interface Sized {
  readonly bytes: number;
}

/** Makes a value from a published file, once: published files never change under their name. */
interface FileView<Made extends Sized> {
  readonly name: string;
  readonly read: (queries: Queries, path: string) => Promise<Made>;
}

/**
 * What history reads of published files, in memory up to a bound: a question about a year then runs no statement and takes a sixth
 * of the time. The least recently used file goes first.
 */
export interface HistoryMemory {
  /** Values of the files that are in memory, and the paths of the others: those are read afterwards, for later questions. */
  readonly split: <Made extends Sized>(
    view: FileView<Made>,
    paths: readonly string[],
  ) => { readonly inMemory: Made[]; readonly unread: string[] };
  readonly bytes: () => number;
  /** Resolves once no file is being read and none waits. */
  readonly settled: () => Promise<void>;
  /** Stops reading, after the file that is being read. */
  readonly close: () => Promise<void>;
}

/** Twice what a usual year of CONUS takes: 2.4 million pixels, 60 MB. */
const BYTES_MAX = 128_000_000;
/** Files that wait to be read; of more the oldest is dropped until it is asked for again. */
const WAITING_MAX = 1024;
/** Pause after each file, in times of its reading: questions that need more than fits must not keep a core busy. */
const PAUSE_SHARE = 2;

/** Opens an empty memory. `failed` hears of a file that could not be read; its questions read it themselves, and fail then. */
export function openHistoryMemory(engine: Engine, failed: (path: string, error: unknown) => void): HistoryMemory {
  const values = new LRUCache<string, Sized>({ maxSize: BYTES_MAX, sizeCalculation: ({ bytes }) => bytes + 1 });
  const wanted = new Map<string, { readonly view: FileView<Sized>; readonly path: string }>();
  let reading: Promise<void> | null = null;
  let isClosed = false;

  const readWanted = async () => {
    while (!isClosed) {
      // The file that was asked for last is the one that other questions need now.
      const next = [...wanted].at(-1);
      if (next === undefined) return;
      const [key, { view, path }] = next;
      const since = performance.now();
      try {
        values.set(key, await view.read(engine.priority, path));
      } catch (error) {
        if (!isClosed) failed(path, error);
      }
      wanted.delete(key);
      await pause(PAUSE_SHARE * (performance.now() - since));
    }
  };
  const want = (key: string, view: FileView<Sized>, path: string) => {
    if (isClosed || wanted.has(key)) return;
    wanted.set(key, { view, path });
    if (wanted.size > WAITING_MAX) wanted.delete(wanted.keys().next().value as string);
    reading ??= readWanted().finally(() => {
      reading = null;
    });
  };
  return {
    split: <Made extends Sized>(view: FileView<Made>, paths: readonly string[]) => {
      const inMemory: Made[] = [];
      const unread: string[] = [];
      for (const path of paths) {
        const key = `${view.name} ${path}`;
        const made = values.get(key);
        if (made !== undefined) inMemory.push(made as Made);
        else {
          unread.push(path);
          want(key, view, path);
        }
      }
      return { inMemory, unread };
    },
    bytes: () => values.calculatedSize,
    settled: async () => {
      while (reading !== null) await reading;
    },
    close: async () => {
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
    ("row" % ${SQUARE_PX} * ${SQUARE_PX} + col % ${SQUARE_PX})::DOUBLE AS place, ${numbersList(DAY_MAX_COLUMNS)}
  FROM ${FILES} WHERE max_mm >= ${DETECTION_MIN_MM} AND NOT interpolated`;

/** The detections of a whole file of day maxima, pixels >= 10 mm that a scan saw: about 20 bytes each. */
export const DAY_MAX_FILE: FileView<DayMaxRows & Sized> = {
  name: 'day-max',
  read: async (queries, path) => {
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
    const bytes = [places, ...columns].reduce((sum, column) => sum + column.bytes, 8 * squares.length);
    return {
      bytes,
      columns: columnsBy((_, index) => columns[index] as NumberColumn),
      inWindow: (window, visit) => visitSquares(inFile, window, visit),
    };
  },
};

/** `places`: number of each pixel in its square, row by row. */
function visitSquares(
  { squares, starts, places }: Readonly<Record<'squares' | 'starts', Uint32Array>> & { readonly places: NumberColumn },
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
interface NumberColumn extends Sized {
  /** Value of a row. */
  readonly at: (index: number) => number;
}

/** Encodes a column that arrives in pieces. */
function columnEncoder() {
  const codeOf = new Map<number, number>();
  let codes = new Uint32Array(4096);
  let length = 0;
  return {
    add: (piece: Float64Array): void => {
      if (length + piece.length > codes.length) {
        const larger = new Uint32Array(2 * (length + piece.length));
        larger.set(codes);
        codes = larger;
      }
      let [last, code] = [Number.NaN, -1];
      for (const value of piece) {
        // Neighbours are often equal.
        if (code < 0 || !Object.is(value, last)) {
          last = value;
          code = codeOf.get(value) ?? codeOf.size;
          if (code === codeOf.size) codeOf.set(value, code);
        }
        codes[length++] = code;
      }
    },
    done: (): NumberColumn => numberColumn(Float64Array.from(codeOf.keys()), codes.subarray(0, length)),
  };
}

/** Stands outside the encoder, whose buffers a column must not keep. */
function numberColumn(values: Float64Array, codes: Uint32Array): NumberColumn {
  if (values.length <= 1) return { bytes: values.byteLength, at: () => values[0] };
  const narrow =
    values.length <= 0x100
      ? new Uint8Array(codes)
      : values.length <= 0x10000
        ? new Uint16Array(codes)
        : new Uint32Array(codes);
  return { bytes: values.byteLength + narrow.byteLength, at: (index) => values[narrow[index]] };
}

/** Scans with a detection in each geohash5 place, of one file of detections. */
interface PlaceScans extends Sized {
  /** Epoch milliseconds, each once, in no order. */
  readonly scansOf: (geohash5: string) => readonly number[];
}

const PLACE_SCANS_SQL = `
  SELECT geohash5, string_agg(DISTINCT epoch_ms(scan_time)::VARCHAR, ' ') AS scans FROM ${FILES} GROUP BY geohash5`;
/** Memory of a place in addition to the text of its scans: its name and its map entry. */
const PLACE_BYTES = 120;

export const PLACE_SCANS_FILE: FileView<PlaceScans> = {
  name: 'detections',
  read: async (queries, path) => {
    const rows = await queries.rows<{ geohash5: string; scans: string }>(PLACE_SCANS_SQL, [[path]]);
    // As text: an array for each place would take several times the memory.
    const scans = new Map(rows.map((row) => [row.geohash5, row.scans]));
    return {
      bytes: rows.reduce((sum, row) => sum + row.scans.length + PLACE_BYTES, 0),
      scansOf: (geohash5) => scans.get(geohash5)?.split(' ').map(Number) ?? [],
    };
  },
};
