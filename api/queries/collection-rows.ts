import type { Table } from '../../schemas/columns.ts';
import type { Engine } from '../duckdb.ts';
import { FILES, selectList } from './select.ts';

/** What an endpoint needs of a collection: some columns of its rows, and what it makes of the rows once and for all. */
export interface CollectionView<Row, Made> {
  readonly table: Table;
  readonly columns: readonly (keyof Row & string)[];
  /** Of the rows of some files, in their order; pure. */
  readonly make: (rows: readonly Row[]) => Made;
}

/** Rows of collections in memory, so that a question about a point asks no database. */
export interface CollectionRows {
  /** What a view makes of some files. A file is read once: published files never change under their name. */
  readonly of: <Row, Made>(view: CollectionView<Row, Made>, paths: readonly string[]) => Promise<Made>;
}

/** Of a view: thirty days reach into three months, and the newest month is replaced with every message that comes. */
const FILES_KEPT = 4;
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
    of: <Row, Made>(view: CollectionView<Row, Made>, paths: readonly string[]) => {
      const shelf = shelves.get(view) ?? { files: new Map(), made: new Map() };
      shelves.set(view, shelf);
      const read = (path: string) =>
        kept(shelf.files, FILES_KEPT, path, () =>
          engine.rows<Row>(
            `SELECT ${selectList(view.table, view.columns)} FROM ${FILES} ORDER BY ${view.table.order}`,
            [[path]],
          ),
        );
      const make = async () => view.make((await Promise.all(paths.map(read))).flat() as Row[]);
      return kept(shelf.made, MADE_KEPT, paths.join('\n'), make) as Promise<Made>;
    },
  };
}

/** The value of a key, made when it is not there; of more than `most` the one asked for longest ago goes. */
function kept<Value>(
  values: Map<string, Promise<Value>>,
  most: number,
  key: string,
  make: () => Promise<Value>,
): Promise<Value> {
  const value = values.get(key) ?? make();
  values.delete(key);
  values.set(key, value);
  if (values.size > most) values.delete(values.keys().next().value as string);
  value.catch(() => {
    if (values.get(key) === value) values.delete(key);
  });
  return value;
}
