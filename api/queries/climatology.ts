import type { Provenance } from '../../schemas/provenance.ts';
import { type ClimatologyCell, climatology } from '../../schemas/tables/derived.ts';
import type { Catalog } from '../published/catalog.ts';
import type { Engine } from '../published/duckdb.ts';
import { openStaticTable } from '../published/terrain.ts';
import { readTable } from './sql.ts';

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
    const rows = await readTable(priority, climatology, paths, '', []);
    const cells = new Map(rows.map((row) => [row.geohash4, row]));
    const [first] = rows;
    if (first === undefined) throw new RangeError('the table is empty');
    const { data_source: provenance, data_as_of } = first;
    return { cell: (geohash4) => cells.get(geohash4) ?? null, provenance, data_as_of, version };
  });
  return { table };
}
