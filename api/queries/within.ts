import type { PixelRuns } from '../../schemas/geo/fill.ts';
import type { Window } from '../../schemas/geo/lattice.ts';
import type { Parameter } from '../duckdb.ts';

/** Pixels a question is about: those of a window, of which only the runs count when there are any. */
export interface Pixels {
  readonly window: Window;
  readonly runs: PixelRuns | null;
}

/** SQL that keeps the rows of a region, and the values of its parameters in order. */
export interface Within {
  /** Stands after the FROM clause of a relation with the columns `"row"` and `col`. */
  readonly sql: string;
  readonly parameters: readonly Parameter[];
}

/** Filter on lattice rows and columns; its parameters are numbered from `first` on. */
export function within({ window, runs }: Pixels, first: number): Within {
  const { row0, rows, col0, cols } = window;
  const box = `"row" BETWEEN $${first} AND $${first + 1} AND col BETWEEN $${first + 2} AND $${first + 3}`;
  const edges = [row0, row0 + rows - 1, col0, col0 + cols - 1];
  if (runs === null) return { sql: `WHERE ${box}`, parameters: edges };
  const list = (at: number) => `unnest($${first + at}::VARCHAR::INTEGER[])`;
  return {
    sql: `JOIN (SELECT ${list(4)} AS run_row, ${list(5)} AS run_start, ${list(6)} AS run_end)
      ON "row" = run_row AND col >= run_start AND col < run_end WHERE ${box}`,
    parameters: [...edges, listText(runs.row), listText(runs.start), listText(runs.end)],
  };
}

/** Numbers as DuckDB reads a list from text: a list parameter would have to be built value by value. */
function listText(values: Uint16Array): string {
  return `[${values.join(',')}]`;
}
