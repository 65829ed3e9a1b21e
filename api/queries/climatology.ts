import type { Provenance } from '../../schemas/provenance.ts';
import { type ClimatologyCell, climatology } from '../../schemas/tables/derived.ts';
import type { Catalog } from '../published/catalog.ts';
import type { Engine } from '../published/duckdb.ts';
import { openStaticTable } from '../published/terrain.ts';
import { FILES, selectList } from './sql.ts';

/** The published climatology. */
export interface ClimatologyTable {
  /** The row of a geohash4 cell; null for a cell outside of the 48 states. */
  readonly cell: (geohash4: string) => ClimatologyCell | null;
  /** Provenance of everything that was counted. */
  readonly provenance: Provenance;
  /** Publication time of the newest data that were counted, epoch milliseconds. */
  readonly data_as_of: number;
  /** Changes with the table. */
  readonly version: string;
}

export interface Climatology {
  /** The table in force, the same object until it changes; null while none is published. */
  readonly table: () => ClimatologyTable | null;
}

/** Keeps the climatology in memory. */
export async function openClimatology({ priority }: Engine, catalog: Catalog): Promise<Climatology> {
  const table = await openStaticTable(catalog, climatology, async (paths, version): Promise<ClimatologyTable> => {
    const columns = await priority.columns<keyof ClimatologyCell>(`SELECT ${selectList(climatology)} FROM ${FILES}`, [
      paths,
    ]);
    const cells = new Map((columns.geohash4 as readonly string[]).map((geohash4, index) => [geohash4, index]));
    const rowAt = (index: number) =>
      Object.fromEntries(Object.entries(columns).map(([name, values]) => [name, values[index]])) as ClimatologyCell;
    if (cells.size === 0) throw new RangeError('the table is empty');
    const { data_source, data_as_of } = rowAt(0);
    const cell = (geohash4: string) => {
      const index = cells.get(geohash4);
      return index === undefined ? null : rowAt(index);
    };
    return { cell, provenance: data_source, data_as_of, version };
  });
  return { table };
}
