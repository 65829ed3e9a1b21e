import { boxAround } from '../../schemas/geo/around.ts';
import { LATTICE } from '../../schemas/geo/lattice.ts';
import { DETECTION_MIN_MM } from '../../schemas/size.ts';
import { companionFields, type DayMax, dayMax } from '../../schemas/tables/radar.ts';
import type { Edition } from '../published/catalog.ts';
import type { Queries, SqlParameter } from '../published/duckdb.ts';
import type { PixelQuestion, PixelRows } from '../rules/largest-hail.ts';
import { lowerBound } from '../rules/lower-bound.ts';
import { type PixelWindow, pixelsAround, pixelsInside } from '../rules/pixel-distance.ts';
import type { PixelDay } from '../rules/verification.ts';
import { columnEncoder, type NumberColumn, tupleEncoder } from './dictionary-columns.ts';
import type { FileView } from './file-memory.ts';
import { FILES, selectList } from './sql.ts';

/** Facts of a pixel's geohash5 place on a date: neighbours share them. */
const PLACE_COLUMNS = [
  'place_first_detected',
  'place_last_detected',
  'place_scans',
  'place_duration_min',
] as const satisfies readonly (keyof DayMax)[];
export const COMPANION_COLUMNS = Object.keys(companionFields) as (keyof typeof companionFields)[];
const HAIL_COLUMNS = ['day', 'max_mm', 'max_time', 'confidence'] as const;
const PIXEL_COLUMNS = [...HAIL_COLUMNS, ...COMPANION_COLUMNS];
const COLUMNS = [...PLACE_COLUMNS, ...PIXEL_COLUMNS] as const satisfies readonly (keyof DayMax | 'day')[];
export type DayMaxColumn = (typeof COLUMNS)[number];

/**
 * Rows of day maxima in columns of numbers, NaN for null: `day` counts from 1970-01-01, instants are epoch milliseconds. Either
 * a whole file in memory, or the rows of a box that DuckDB read from files.
 */
export interface DayMaxRows extends PixelRows {
  readonly columns: Readonly<Record<DayMaxColumn, Pick<NumberColumn, 'at'>>>;
}

const columnsBy = (make: (name: DayMaxColumn, index: number) => Pick<NumberColumn, 'at'>) =>
  Object.fromEntries(COLUMNS.map((name, index) => [name, make(name, index)])) as DayMaxRows['columns'];

const EXPRESSIONS: Partial<Record<DayMaxColumn, string>> = {
  day: `storm_date - DATE '1970-01-01'`,
  max_time: 'epoch_ms(max_time)',
  place_first_detected: 'epoch_ms(place_first_detected)',
  place_last_detected: 'epoch_ms(place_last_detected)',
};
const numbersList = (names: readonly DayMaxColumn[]) =>
  names.map((name) => `(${EXPRESSIONS[name] ?? name})::DOUBLE AS "${name}"`).join(', ');

/** Rows that a scan saw in a box; the parameters are those of `boxParameters`. */
const boxSql = (select: string) => `
  SELECT ${select} FROM ${FILES}
  WHERE "row" BETWEEN $2::USMALLINT AND $3::USMALLINT AND col BETWEEN $4::USMALLINT AND $5::USMALLINT
    AND max_mm >= $6 AND NOT interpolated AND storm_date BETWEEN $7::DATE AND $8::DATE`;

function boxParameters(paths: readonly string[], question: PixelQuestion): readonly SqlParameter[] {
  const { row0, row1, col0, col1 } = pixelsAround(question, 1000 * question.radius_km);
  return [paths, row0, row1, col0, col1, question.min_size_mm, question.first, question.last];
}

/** Files of day maxima that may hold rows of a question. */
export function dayMaxFiles(edition: Edition, question: PixelQuestion): string[] {
  const { first, last, radius_km, min_size_mm } = question;
  const { row0, row1, col0, col1 } = pixelsAround(question, 1000 * radius_km);
  if (row0 > row1 || col0 > col1) return [];
  return edition.dayMaxPaths(first, last, { bbox: boxAround(question, radius_km), min_size_mm });
}

/**
 * Rows of a box that may be the largest of their date: a row that is smaller than one certainly in the circle cannot, and would
 * only be copied. $9 to $12 bound the pixels that certainly are.
 */
const candidatesSql = (names: readonly DayMaxColumn[]) => `
  WITH box AS MATERIALIZED (${boxSql(`"row"::DOUBLE AS "row", col::DOUBLE AS col, ${numbersList(names)}`)}),
  inside AS (
    SELECT day, max(max_mm) AS inside_mm FROM box WHERE "row" BETWEEN $9 AND $10 AND col BETWEEN $11 AND $12 GROUP BY day)
  SELECT box.* FROM box LEFT JOIN inside USING (day) WHERE max_mm >= coalesce(inside_mm, 0)`;
const CANDIDATES_SQL = candidatesSql([...PLACE_COLUMNS, ...HAIL_COLUMNS]);
/** With the radar products, which take as long again to read. */
const CANDIDATES_WITH_PRODUCTS_SQL = candidatesSql(COLUMNS);

/**
 * Rows of some files around a question's point, all that may be the largest of their date, read as two statements at the same time: one statement over small
 * files keeps one core busy, whatever the number of threads. Without `products` the columns of the radar products hold nulls.
 */
export async function readCandidates(
  queries: Queries,
  paths: readonly string[],
  question: PixelQuestion & { readonly products: boolean },
): Promise<DayMaxRows[]> {
  const sql = question.products ? CANDIDATES_WITH_PRODUCTS_SQL : CANDIDATES_SQL;
  const inside = pixelsInside(question, 1000 * question.radius_km);
  const halves = [0, 1]
    .map((half) => paths.filter((_, index) => index % 2 === half))
    .filter(({ length }) => length > 0);
  return Promise.all(
    halves.map(async (half) => {
      const { row, col, ...values } = await queries.numbers<DayMaxColumn | 'row' | 'col'>(sql, [
        ...boxParameters(half, question),
        inside.row0,
        inside.row1,
        inside.col0,
        inside.col1,
      ]);
      const column = (read: Float64Array | undefined) => ({ at: (index: number) => read?.[index] ?? Number.NaN });
      return {
        columns: columnsBy((name) => column(values[name])),
        inWindow: ({ row0, row1, col0, col1 }, visit) => {
          for (let index = 0; index < row.length; index++) {
            const [r, c] = [row[index], col[index]];
            if (r >= row0 && r <= row1 && c >= col0 && c <= col1) visit(index, r, c);
          }
        },
      } satisfies DayMaxRows;
    }),
  );
}

const PIXEL_DAY_SQL = boxSql(
  selectList(dayMax, [
    'storm_date',
    'row',
    'col',
    'max_mm',
    'max_time',
    'first_detected',
    'last_detected',
    'detection_scans',
  ] satisfies (keyof PixelDay)[]),
);

/**
 * Pixel days in the box around a question's circle, in no order: all within the radius, and others in the corners. A pixel of a
 * running date may have several rows, which add up.
 */
export async function readPixelDays(queries: Queries, edition: Edition, question: PixelQuestion): Promise<PixelDay[]> {
  const paths = dayMaxFiles(edition, question);
  return paths.length === 0 ? [] : queries.rows<PixelDay>(PIXEL_DAY_SQL, boxParameters(paths, question));
}

/** Side of a square, pixels: that of the table's sort order, so that rows are taken in the order of the file. */
const SQUARE_PX = 50;
const SQUARES_ACROSS = LATTICE.cols / SQUARE_PX;

const FILE_SQL = `
  SELECT ("row" // ${SQUARE_PX} * ${SQUARES_ACROSS} + col // ${SQUARE_PX})::DOUBLE AS square,
    ("row" % ${SQUARE_PX} * ${SQUARE_PX} + col % ${SQUARE_PX})::DOUBLE AS place, ${numbersList(COLUMNS)}
  FROM ${FILES} WHERE max_mm >= ${DETECTION_MIN_MM} AND NOT interpolated`;

/** The detections of a whole file of day maxima, pixels >= 10 mm that a scan saw: about 14 bytes each in memory. */
export const DAY_MAX_FILE: FileView<DayMaxRows & { readonly bytes: number }> = {
  name: dayMax.name,
  read: async (queries: Queries, path: string) => {
    const squares: number[] = [];
    /** First row of each square. */
    const starts: number[] = [];
    const places: Uint16Array[] = [];
    const place = tupleEncoder(PLACE_COLUMNS.length);
    const pixel = PIXEL_COLUMNS.map(() => columnEncoder());
    let count = 0;
    await queries.stream(FILE_SQL, [[path]], ([square, inSquare, ...values]) => {
      for (let index = 0; index < square.length; index++) {
        const [name, last] = [square[index], squares.at(-1) ?? -1];
        if (name === last) continue;
        // The table has this order. To sort a file again would take as long as to read it.
        if (name < last)
          throw new Error(`${path} has square ${name} after square ${last}, expected the order of its table`);
        squares.push(name);
        starts.push(count + index);
      }
      places.push(new Uint16Array(inSquare));
      place.add(values.slice(0, PLACE_COLUMNS.length));
      for (const [index, { add }] of pixel.entries()) add(values[PLACE_COLUMNS.length + index]);
      count += square.length;
    });
    const made = [...place.done(), ...pixel.map(({ done }) => done())];
    const inFile = {
      squares: Uint32Array.from(squares),
      starts: Uint32Array.from([...starts, count]),
      places: joined(places, count),
    };
    const bytes = [...made.map((column) => column.bytes), ...Object.values(inFile).map((array) => array.byteLength)];
    return {
      bytes: bytes.reduce((sum, size) => sum + size, 0),
      columns: columnsBy((_, index) => made[index]),
      inWindow: (window, visit) => visitSquares(inFile, window, visit),
    };
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

/** `places`: number of each pixel in its square, row by row. */
function visitSquares(
  { squares, starts, places }: Readonly<Record<'squares' | 'starts', Uint32Array>> & { readonly places: Uint16Array },
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
        const row = first_row + Math.floor(places[index] / SQUARE_PX);
        const col = first_col + (places[index] % SQUARE_PX);
        if (row >= row0 && row <= row1 && col >= col0 && col <= col1) visit(index, row, col);
      }
    }
  }
}
