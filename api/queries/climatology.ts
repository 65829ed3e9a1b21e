import { type ClimatologyCell, climatology } from '../../schemas/tables/derived.ts';
import type { Catalog } from '../published/catalog.ts';
import type { Engine } from '../published/duckdb.ts';
import { openStaticTable } from '../published/terrain.ts';
import { readTable } from './sql.ts';

export type Climatology = Awaited<ReturnType<typeof openClimatology>>;
/** The published climatology. */
export type ClimatologyTable = NonNullable<ReturnType<Climatology['table']>>;

/** Keeps the climatology in memory. */
export async function openClimatology({ priority }: Engine, catalog: Catalog) {
  const table = await openStaticTable(catalog, [climatology], async ([paths], version) => {
    const rows = await readTable(priority, climatology, paths, '', []);
    const cells = new Map(rows.map((row) => [row.geohash4, row]));
    const [first] = rows;
    if (first === undefined) throw new RangeError('the table is empty');
    const { data_source: provenance, data_as_of } = first;
    return {
      /** The row of a geohash4 cell; null for a cell outside of the 48 states. */
      cell: (geohash4: string): ClimatologyCell | null => cells.get(geohash4) ?? null,
      /** Provenance of everything that was counted, and publication time of the newest of it, epoch milliseconds. */
      ...{ provenance, data_as_of, version },
    };
  });
  /** The table in force, the same object until it changes; null while none is published. */
  return { table };
}
