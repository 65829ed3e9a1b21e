import { layout } from '../../schemas/layout.ts';
import type { Provenance } from '../../schemas/provenance.ts';
import { type ClimatologyCell, climatology } from '../../schemas/tables/derived.ts';
import type { Catalog } from '../published/catalog.ts';
import { DataUnavailable } from '../published/data-root.ts';
import type { Engine, Queries } from '../published/duckdb.ts';
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

type ColumnName = keyof ClimatologyCell & string;

/** Keeps the climatology in memory: read when it is new, before an edition that lists it is handed out. */
export async function openClimatology(engine: Engine, catalog: Catalog): Promise<Climatology> {
  let table: ClimatologyTable | null = null;
  await catalog.beforeEdition(async (edition) => {
    const version = edition.version([climatology.name], [layout.staticPartition]);
    if (table?.version === version) return;
    const paths = edition.paths(climatology.name, [layout.staticPartition]);
    table = paths.length === 0 ? null : await loadTable(engine.priority, paths, version);
  });
  return { table: () => table };
}

async function loadTable(queries: Queries, paths: readonly string[], version: string): Promise<ClimatologyTable> {
  try {
    const columns = await queries.columns<ColumnName>(`SELECT ${selectList(climatology)} FROM ${FILES}`, [paths]);
    const cells = new Map((columns.geohash4 as readonly string[]).map((geohash4, index) => [geohash4, index]));
    const rowAt = (index: number) =>
      Object.fromEntries(Object.entries(columns).map(([name, values]) => [name, values[index]])) as ClimatologyCell;
    if (cells.size === 0) throw new RangeError('the table is empty');
    const { data_source, data_as_of } = rowAt(0);
    return {
      cell: (geohash4) => {
        const index = cells.get(geohash4);
        return index === undefined ? null : rowAt(index);
      },
      provenance: data_source,
      data_as_of,
      version,
    };
  } catch (cause) {
    throw new DataUnavailable(paths.join(), 'is listed and cannot be read', { cause });
  }
}
