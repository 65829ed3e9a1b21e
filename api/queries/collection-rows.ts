import type { Table } from '../../schemas/columns.ts';
import type { Engine } from '../duckdb.ts';
import { memoize } from './memoize.ts';
import { FILES, selectList } from './select.ts';

/** What an endpoint needs of a collection: some columns of its rows, and what it makes of the rows once and for all. */
export interface CollectionView<Row, Made> {
  readonly table: Table;
  readonly columns: readonly (keyof Row & string)[];
  /** Column of the instant by which rows that are too old are left out; null: none are. */
  readonly time: (keyof Row & string) | null;
  /** Of the rows of some files, in their order; pure. */
  readonly make: (rows: readonly Row[]) => Made;
}

/** Rows of collections in memory, so that a question about a point asks no database. */
export interface CollectionRows {
  /**
   * What a view makes of some files, of their rows from an instant on where one is given: of a few instants, for each of
   * which a file is read once. Published files never change under their name.
   */
  readonly of: <Row, Made>(
    view: CollectionView<Row, Made>,
    paths: readonly string[],
    from_ms?: number,
  ) => Promise<Made>;
}

/** Of a view: thirty days reach into three months, the last days into two, and the newest month is replaced with every message. */
const FILES_KEPT = 6;
/** Of a view: the months of what is in force now, those of a look-back, and one of each that was just replaced. */
const MADE_KEPT = 4;

interface Shelf {
  readonly files: Map<string, Promise<readonly unknown[]>>;
  readonly made: Map<string, Promise<unknown>>;
}

/** Keeps what questions asked for last, a few months of each view; what failed is tried again. */
export function openCollectionRows(engine: Engine): CollectionRows {
  const shelves = new Map<unknown, Shelf>();
  return {
    of: <Row, Made>(view: CollectionView<Row, Made>, paths: readonly string[], from_ms = Number.NEGATIVE_INFINITY) => {
      const shelf = shelves.get(view) ?? { files: new Map(), made: new Map() };
      shelves.set(view, shelf);
      const read = (path: string) =>
        memoize(shelf.files, FILES_KEPT, `${path} ${from_ms}`, () => rowsOf(engine, view, path, from_ms));
      const make = async () => view.make((await Promise.all(paths.map(read))).flat() as Row[]);
      return memoize(shelf.made, MADE_KEPT, `${paths.join('\n')} ${from_ms}`, make) as Promise<Made>;
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
