import { columns } from '../../schemas/columns.ts';
import type { MixedProvenance } from '../../schemas/provenance.ts';
import type { Dataset } from '../../schemas/resources/export-job.ts';
import { EXPORT_TABLES } from '../../schemas/resources/export-rows.ts';
import { SIZE_BANDS } from '../../schemas/size.ts';
import type { Edition } from '../published/catalog.ts';
import type { Queries, SqlParameter } from '../published/duckdb.ts';
import type { Region } from '../rules/region.ts';

/** What rows are asked for, of one edition. */
export interface RowsQuestion {
  readonly edition: Edition;
  /** Storm dates, both included. */
  readonly first: string;
  readonly last: string;
  readonly region: Region;
}

/** Rows of a file, counted before they are written. */
export interface ExportRows {
  /** A query with the columns of the dataset in any order, points left out; a hull is its text. */
  readonly sql: string;
  readonly parameters: readonly SqlParameter[];
  /** So many rows of the query go into the file, the first in its order. */
  readonly row_count: number;
  readonly truncated: boolean;
  /** Provenance of the rows; if there are none, of the files searched; null if no file was searched. */
  readonly data_source: MixedProvenance | null;
  /** Epoch milliseconds. */
  readonly data_as_of_ms: number | null;
  /** Why having no rows does not mean that there was nothing; null where it does. */
  readonly note: string | null;
}

/** How the rows of a dataset are found. */
export interface RowsOf {
  /** Every file that is read. */
  readonly files: (question: RowsQuestion) => readonly string[];
  /** Counts the rows; beyond `cap` the latest are left out. */
  readonly rows: (queries: Queries, question: RowsQuestion, cap: number) => Promise<ExportRows>;
  /** Storm dates asked for of which nothing was taken in, ascending: that there are no rows of them says nothing. */
  readonly datesWithoutData: (queries: Queries, question: RowsQuestion) => Promise<readonly string[]>;
}

/** Storm dates of a question that are published. */
export function datesOf({ edition, first, last }: RowsQuestion): readonly string[] {
  return edition.datesBetween(first, last);
}

/** Facts about rows from radar that a file states with the rows. */
export function observedOn(
  edition: Edition,
  dates: readonly string[],
): Pick<ExportRows, 'data_source' | 'data_as_of_ms' | 'note'> {
  const data_source = edition.provenanceOf(dates);
  const note = data_source === null ? 'no scan of these dates was taken in: no rows does not mean no hail' : null;
  return { data_source, data_as_of_ms: edition.dataAsOf(dates), note };
}

/** A query of the columns of a dataset without a row. */
export function noRows(dataset: Dataset): Pick<ExportRows, 'sql' | 'parameters' | 'row_count' | 'truncated'> {
  const nulls = columns(EXPORT_TABLES[dataset]).map(({ name, type }) => `NULL::${type} AS "${name}"`);
  return { sql: `SELECT ${nulls.join(', ')} WHERE false`, parameters: [], row_count: 0, truncated: false };
}

/** Select list of the columns of a dataset: the expressions given, and the others as they are; points are left out. */
export function selected(dataset: Dataset, expressions: Readonly<Record<string, string>>): string {
  return columns(EXPORT_TABLES[dataset])
    .filter(({ type }) => type !== 'GEOMETRY')
    .map(({ name }) => `${expressions[name] ?? `"${name}"`} AS "${name}"`)
    .join(', ');
}

/** SQL of the size category of a size column; null below the smallest. */
export function sizeCategorySql(column: string): string {
  const cases = SIZE_BANDS.toReversed().map(
    ({ threshold_mm, category }) => `WHEN ${column} >= ${threshold_mm} THEN '${category}'`,
  );
  return `CASE ${cases.join(' ')} END`;
}
