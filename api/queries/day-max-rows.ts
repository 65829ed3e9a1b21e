import { boxAround } from '../../schemas/geo/around.ts';
import { companionFields, type DayMax, dayMax } from '../../schemas/tables/radar.ts';
import type { Edition } from '../published/catalog.ts';
import type { Queries, SqlParameter } from '../published/duckdb.ts';
import type { PixelQuestion, PixelRows } from '../rules/largest-hail.ts';
import { pixelsAround, pixelsInside } from '../rules/pixel-distance.ts';
import { PIXEL_DAY_COLUMNS, type PixelDay } from '../rules/verification.ts';
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
export const DAY_MAX_COLUMNS = [...PLACE_COLUMNS, ...PIXEL_COLUMNS] as const satisfies readonly (
  | keyof DayMax
  | 'day'
)[];
export type DayMaxColumn = (typeof DAY_MAX_COLUMNS)[number];

interface Column {
  /** Value of a row. */
  readonly at: (index: number) => number;
}

/**
 * Rows of day maxima in columns of numbers, NaN for null: `day` counts from 1970-01-01, instants are epoch milliseconds. Either
 * a whole file in memory, or the rows of a box that DuckDB read from files.
 */
export interface DayMaxRows extends PixelRows {
  readonly columns: Readonly<Record<DayMaxColumn, Column>>;
}

export const columnsBy = (make: (name: DayMaxColumn, index: number) => Column) =>
  Object.fromEntries(DAY_MAX_COLUMNS.map((name, index) => [name, make(name, index)])) as DayMaxRows['columns'];

const EXPRESSIONS: Partial<Record<DayMaxColumn, string>> = {
  day: `storm_date - DATE '1970-01-01'`,
  max_time: 'epoch_ms(max_time)',
  place_first_detected: 'epoch_ms(place_first_detected)',
  place_last_detected: 'epoch_ms(place_last_detected)',
};
export const numbersList = (names: readonly DayMaxColumn[]) =>
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
const CANDIDATES_WITH_PRODUCTS_SQL = candidatesSql(DAY_MAX_COLUMNS);

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

const PIXEL_DAY_SQL = boxSql(selectList(dayMax, PIXEL_DAY_COLUMNS));

/**
 * Pixel days in the box around a question's circle, in no order: all within the radius, and others in the corners. A pixel of a
 * running date may have several rows, which add up.
 */
export async function readPixelDays(queries: Queries, edition: Edition, question: PixelQuestion): Promise<PixelDay[]> {
  const paths = dayMaxFiles(edition, question);
  return paths.length === 0 ? [] : queries.rows<PixelDay>(PIXEL_DAY_SQL, boxParameters(paths, question));
}
