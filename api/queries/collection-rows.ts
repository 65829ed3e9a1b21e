import { LRUCache } from 'lru-cache';
import type { Table } from '../../schemas/columns.ts';
import type { Engine } from '../published/duckdb.ts';
import { memoize } from '../published/memoize.ts';
import { FILES, selectList } from './sql.ts';

/** Columns that an endpoint needs of a collection, and the value it makes of their rows. */
export interface CollectionView<Row, Made> {
  readonly table: Table;
  readonly columns: readonly (keyof Row & string)[];
  /** Column of the instant by which older rows are left out; null: none are. */
  readonly time: (keyof Row & string) | null;
  /** Gets the rows of some files in the order of the table; pure. */
  readonly make: (rows: readonly Row[]) => Made;
}

/** Rows of collections in memory, so that a question about a point runs no statement. */
export interface CollectionRows {
  /**
   * The value of a view over some files, or over their rows from an instant on. A file is read once for each instant, of which
   * there are few: published files never change under their name.
   */
  readonly of: <Row, Made>(
    view: CollectionView<Row, Made>,
    paths: readonly string[],
    from_ms?: number,
  ) => Promise<Made>;
}

/** Files of a view in memory: thirty days reach into three months, the last days into two, and every message replaces the newest month. */
const FILES_MAX = 6;
/** Values of a view in memory: the months that hold all in force now, those of a look-back, and one of each that was just replaced. */
const VALUES_MAX = 4;

/** Keeps the months of each view that questions used last; a failed read is tried again. */
export function openCollectionRows(engine: Engine): CollectionRows {
  const caches = new Map<unknown, ReturnType<typeof newCaches>>();
  const newCaches = () => ({
    files: new LRUCache<string, Promise<readonly unknown[]>>({ max: FILES_MAX }),
    values: new LRUCache<string, Promise<unknown>>({ max: VALUES_MAX }),
  });
  return {
    of: <Row, Made>(view: CollectionView<Row, Made>, paths: readonly string[], from_ms = Number.NEGATIVE_INFINITY) => {
      const { files, values } = caches.get(view) ?? newCaches();
      caches.set(view, { files, values });
      const read = (path: string) => memoize(files, `${path} ${from_ms}`, () => rowsOf(engine, view, path, from_ms));
      const make = async () => view.make((await Promise.all(paths.map(read))).flat() as Row[]);
      return memoize(values, `${paths.join('\n')} ${from_ms}`, make) as Promise<Made>;
    },
  };
}

function rowsOf<Row, Made>(
  engine: Engine,
  { table, columns, time }: CollectionView<Row, Made>,
  path: string,
  from_ms: number,
): Promise<Row[]> {
  const select = `SELECT ${selectList(table, columns)} FROM ${FILES}`;
  if (time === null || from_ms === Number.NEGATIVE_INFINITY)
    return engine.rows<Row>(`${select} ORDER BY ${table.order}`, [[path]]);
  return engine.rows<Row>(`${select} WHERE "${time}" >= epoch_ms($2::BIGINT) ORDER BY ${table.order}`, [
    [path],
    from_ms,
  ]);
}
