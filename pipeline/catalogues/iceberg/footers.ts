import { type Engine, openEngine, sqlList } from '../../duckdb.ts';
import type { ColumnFacts } from './bounds.ts';

/** Files whose footers are read in one query: a day file of a stormy date has hundreds of parts of columns. */
const FILES_AT_A_TIME = 64;

/** Facts of the columns of files by path, then by name of column. */
export type Footers = ReadonlyMap<string, ReadonlyMap<string, ColumnFacts>>;

/** Opened for a query and closed after it: commits are minutes apart. */
async function withEngine<T>(work: (engine: Engine) => Promise<T>): Promise<T> {
  const engine = await openEngine();
  try {
    return await work(engine);
  } finally {
    engine.close();
  }
}

/** What the footers of Parquet files say of their columns; the rows are not read. `paths` are absolute. */
export async function readFooters(paths: readonly string[]): Promise<Footers> {
  if (paths.length === 0) return new Map();
  return withEngine(async (engine) => {
    const footers = new Map<string, Map<string, ColumnFacts>>();
    for (let first = 0; first < paths.length; first += FILES_AT_A_TIME) {
      const rows = await engine.rows<ColumnFacts & { file: string; name: string }>(
        footersSql(paths.slice(first, first + FILES_AT_A_TIME)),
      );
      for (const { file, name, ...facts } of rows) {
        const columns = footers.get(file) ?? new Map<string, ColumnFacts>();
        footers.set(file, columns.set(name, facts));
      }
    }
    return footers;
  });
}

/**
 * A bound counts only where every part of a file that has values has one. The text of a bound is a number, a time or a flag;
 * bounds of texts and geometries are left out.
 */
function footersSql(paths: readonly string[]): string {
  const number = (text: string) =>
    `coalesce(try_cast(${text} AS DOUBLE), epoch_us(try_cast(${text} AS TIMESTAMP)), try_cast(${text} AS BOOLEAN)::INTEGER)`;
  const bound = (kind: 'min' | 'max') => {
    const value = number(`stats_${kind}_value`);
    return `CASE WHEN bool_and(${value} IS NOT NULL OR coalesce(stats_null_count = num_values, false)) THEN ${kind}(${value}) END`;
  };
  return `SELECT file_name AS file, path_in_schema AS name, sum(num_values)::DOUBLE AS values,
      CASE WHEN bool_and(stats_null_count IS NOT NULL) THEN sum(stats_null_count)::DOUBLE END AS nulls,
      ${bound('min')} AS least, ${bound('max')} AS most
    FROM parquet_metadata(${sqlList(paths)}) GROUP BY ALL`;
}
