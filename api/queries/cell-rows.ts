import type { CollectionName } from '../../schemas/collections.ts';
import { CONUS_CELLS } from '../../schemas/geo/geohash4.ts';
import type { CollectionEdition } from '../catalog.ts';
import type { Engine } from '../duckdb.ts';
import { memoize } from './memoize.ts';

/** What is read of an edition: the files of a collection; null where it was never fed. */
export interface CollectionPaths {
  readonly collection: (name: CollectionName) => Pick<CollectionEdition, 'paths'> | null;
}

/** What an endpoint needs of a collection of geohash4 cells, and what it makes of that once and for all. */
export interface CellView<Row, Made> {
  readonly collection: CollectionName;
  /** Brings rows of some files; `IN_PART` has to be among its conditions. */
  readonly statement: string;
  /** Pure. */
  readonly make: (rows: readonly Row[]) => Made;
}

/** Collections of cells that are replaced as a whole, in memory, so that a question about a point asks no database. */
export interface CellRows {
  /** What a view makes of the newest files. They are read once: published files never change under their name. */
  readonly of: <Row, Made>(view: CellView<Row, Made>, paths: readonly string[]) => Promise<Made>;
  /** Reads what an edition has of every view that was asked for before, so that no question has to wait for it. */
  readonly renew: (edition: CollectionPaths) => Promise<void>;
}

/** Condition for the cells of a part: what one statement brings must fit into the memory of the engine, beside its questions. */
export const IN_PART = 'geohash4 >= $2 AND geohash4 < $3';
/** Every cell by its first two characters: from a text on, and before another. */
const PARTS = [...new Set(CONUS_CELLS.map(({ geohash4 }) => geohash4.slice(0, 2)))]
  .sort()
  .map((prefix) => [prefix, `${prefix}~`] as const);

/** Of a view: the newest. A call that pinned the edition before may have to read its own again: rare, and it costs a second. */
const MADE_KEPT = 1;

/** Keeps what is newest of each view, once somebody has asked for it; what failed is tried again. */
export function openCellRows(engine: Pick<Engine, 'rows'>): CellRows {
  const shelves = new Map<unknown, Map<string, Promise<unknown>>>();
  const asked = new Map<unknown, (edition: CollectionPaths) => Promise<unknown>>();
  const of = <Row, Made>(view: CellView<Row, Made>, paths: readonly string[]) => {
    const shelf = shelves.get(view) ?? new Map<string, Promise<unknown>>();
    shelves.set(view, shelf);
    asked.set(view, (edition) => of(view, edition.collection(view.collection)?.paths() ?? []));
    const make = async () => view.make(await rowsOf(engine, view, paths));
    return memoize(shelf, MADE_KEPT, paths.join('\n'), make) as Promise<Made>;
  };
  return {
    of,
    renew: async (edition) => {
      // One after the other: they share the engine with the questions that are asked meanwhile.
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
