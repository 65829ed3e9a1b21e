import type { Table } from '../../schemas/columns.ts';
import { type Blockage, blockageOf } from '../../schemas/geo/blockage.ts';
import { layout } from '../../schemas/layout.ts';
import { blockage, type GroundCell, ground } from '../../schemas/tables/derived.ts';
import type { Catalog } from './catalog.ts';
import { DataUnavailable } from './data-root.ts';
import type { Engine } from './duckdb.ts';

/**
 * Terrain that blocks beams around radars, and the ground of places, by the terrain model that the pipeline worked in: its file,
 * and the spacing of its heights from north to south, arc-seconds. `version`: changes with the tables.
 */
export type TerrainModel = Blockage & Readonly<Record<'file' | 'version', string>> & { readonly step_arcsec: number };

export type Terrain = Awaited<ReturnType<typeof openTerrain>>;

/** Keeps tables without a date in memory: `load` reads new ones before an edition that lists the first is handed out. */
export async function openStaticTable<Made extends { readonly version: string }>(
  catalog: Catalog,
  tables: readonly Table[],
  load: (paths: readonly (readonly string[])[], version: string) => Promise<Made>,
): Promise<() => Made | null> {
  const names = tables.map(({ name }) => name);
  let made: Made | null = null;
  await catalog.beforeEdition(async (edition) => {
    const version = edition.version(names, [layout.staticPartition]);
    if (made?.version === version) return;
    const paths = names.map((name) => edition.paths(name, [layout.staticPartition]));
    try {
      made = paths[0].length === 0 ? null : await load(paths, version);
    } catch (cause) {
      throw new DataUnavailable(paths.flat().join(), 'is listed and cannot be read', { cause });
    }
  });
  return () => made;
}

/** Keeps the tables `blockage` and `ground` in memory; the second may be missing. */
export async function openTerrain({ priority }: Engine, catalog: Catalog) {
  const model = await openStaticTable(catalog, [blockage, ground], async ([paths, cellPaths], version) => {
    const rays = await priority.columns<'radar_id' | 'tilt_deg' | 'azimuth_deg' | 'distance_km' | 'blocked'>(
      `SELECT radar_id, tilt_deg, azimuth_deg, distance_km, blocked FROM read_parquet($1::VARCHAR[]) ORDER BY ${blockage.order}`,
      [paths],
    );
    const [about] = await priority.rows<{ file: string; step_arcsec: number }>(
      'SELECT terrain_file AS file, terrain_step_arcsec AS step_arcsec FROM read_parquet($1::VARCHAR[]) LIMIT 1',
      [paths],
    );
    if (about === undefined) throw new RangeError('the table is empty');
    const select = 'SELECT row, col, ground_m FROM read_parquet($1::VARCHAR[])';
    const cells = cellPaths.length === 0 ? [] : await priority.rows<GroundCell>(select, [cellPaths]);
    return { ...blockageOf(rays as Parameters<typeof blockageOf>[0], cells), ...about, version };
  });
  /** The model in force, the same object until the table changes; null while none is published. */
  return { model };
}
