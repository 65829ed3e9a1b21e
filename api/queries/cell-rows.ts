import { LRUCache } from 'lru-cache';
import type { CollectionName } from '../../schemas/collections.ts';
import { columns, type Table } from '../../schemas/columns.ts';
import { CONUS_CELLS } from '../../schemas/geo/geohash4.ts';
import type { ColumnType } from '../../schemas/units.ts';
import type { CollectionEdition } from '../published/catalog.ts';
import type { Engine } from '../published/duckdb.ts';
import { memoize } from '../published/memoize.ts';

/** The part of an edition that is read: files of a collection; null where it was never fed. */
interface CollectionPaths {
  readonly collection: (name: CollectionName) => Pick<CollectionEdition, 'paths'> | null;
}

/** Rows that an endpoint needs of a collection of geohash4 cells, and the value it makes of them. */
export interface CellView<Row, Made> {
  readonly collection: CollectionName;
  /** Reads rows of some files; `IN_PART` has to be among its conditions. */
  readonly statement: string;
  /** Pure. */
  readonly make: (rows: readonly Row[]) => Made;
}

/** Collections of cells that are replaced as a whole, in memory, so that a question about a point runs no statement. */
export interface CellRows {
  /** The value of a view over some files. The newest files are read once: published files never change under their name. */
  readonly of: <Row, Made>(view: CellView<Row, Made>, paths: readonly string[]) => Promise<Made>;
  /** Reads the files of an edition for every view that was asked for before, so that no question waits for it. */
  readonly renew: (edition: CollectionPaths) => Promise<void>;
}

/** Condition for the cells of a part: the result of one statement must fit into the engine's memory while it answers questions. */
export const IN_PART = 'geohash4 >= $2 AND geohash4 < $3';
/** Every cell by its first two characters: from a text on, and before another. */
const PARTS = [...new Set(CONUS_CELLS.map(({ geohash4 }) => geohash4.slice(0, 2)))]
  .sort()
  .map((prefix) => [prefix, `${prefix}~`] as const);

/** Values of a view in memory. A call that pinned the edition before may have to read its own again: rare, and it takes a second. */
const VALUES_MAX = 1;

/** Keeps the newest value of each view from its first use on; a failed read is tried again. */
export function openCellRows(engine: Pick<Engine, 'rows'>): CellRows {
  const caches = new Map<unknown, LRUCache<string, Promise<unknown>>>();
  const asked = new Map<unknown, (edition: CollectionPaths) => Promise<unknown>>();
  const of = <Row, Made>(view: CellView<Row, Made>, paths: readonly string[]) => {
    const cache = caches.get(view) ?? new LRUCache<string, Promise<unknown>>({ max: VALUES_MAX });
    caches.set(view, cache);
    asked.set(view, (edition) => of(view, edition.collection(view.collection)?.paths() ?? []));
    const make = async () => view.make(await rowsOf(engine, view, paths));
    return memoize(cache, paths.join('\n'), make) as Promise<Made>;
  };
  return {
    of,
    renew: async (edition) => {
      // One after the other: they share the engine with the questions of the moment.
      for (const read of [...asked.values()]) await read(edition);
    },
  };
}

async function rowsOf<Row, Made>(
  engine: Pick<Engine, 'rows'>,
  { statement }: CellView<Row, Made>,
  paths: readonly string[],
): Promise<Row[]> {
  if (paths.length === 0) return [];
  const parts: Row[][] = [];
  for (const part of PARTS) parts.push(await engine.rows<Row>(statement, [paths, ...part]));
  return parts.flat();
}

/**
 * SQL aggregate of a group's rows, some columns of them, as one JSON text, in any order. A million rows grouped by cell take a
 * tenth of the memory of as many objects, and only the cells that are asked for are parsed.
 */
export function rowsAsJson<Name extends string>(table: Table, names: readonly Name[]): string {
  const types = new Map(columns(table).map(({ name, type }) => [name, type]));
  const values = names.map((name) => plainValue(`"${name}"`, types.get(name))).join(', ');
  return `'[' || string_agg(json_array(${values})::VARCHAR, ',') || ']'`;
}

/** The rows of a text that `rowsAsJson` made of the same columns. */
export function rowsFromJson<Row>(names: readonly (keyof Row & string)[], text: string): Row[] {
  const rows = JSON.parse(text) as unknown[][];
  return rows.map((values) => Object.fromEntries(names.map((name, index) => [name, values[index]])) as Row);
}

/** As in a row of the table's schema: instants in milliseconds, dates as text. */
function plainValue(column: string, type: ColumnType | undefined): string {
  if (type === 'TIMESTAMPTZ') return `epoch_ms(${column})`;
  return type === 'DATE' ? `${column}::VARCHAR` : column;
}
