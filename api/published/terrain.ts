import { type Blockage, blockageOf } from '../../schemas/geo/blockage.ts';
import { layout } from '../../schemas/layout.ts';
import { blockage } from '../../schemas/tables/derived.ts';
import type { Catalog } from './catalog.ts';
import { DataUnavailable } from './data-root.ts';
import type { Engine, Queries } from './duckdb.ts';

/** What terrain blocks around radars, by the terrain model that the pipeline worked in. */
export interface TerrainModel extends Blockage {
  /** Name of the model's file. */
  readonly file: string;
  /** Spacing of its heights from north to south, arc-seconds. */
  readonly step_arcsec: number;
  /** Changes with the table. */
  readonly version: string;
}

export interface Terrain {
  /** The model in force, the same object until the table changes; null while none is published. */
  readonly model: () => TerrainModel | null;
}

/** Keeps the table `blockage` in memory: read when it is new, before an edition that lists it is handed out. */
export async function openTerrain(engine: Engine, catalog: Catalog): Promise<Terrain> {
  let model: TerrainModel | null = null;
  await catalog.beforeEdition(async (edition) => {
    const version = edition.version([blockage.name], [layout.staticPartition]);
    if (model?.version === version) return;
    const paths = edition.paths(blockage.name, [layout.staticPartition]);
    model = paths.length === 0 ? null : await loadModel(engine.priority, paths, version);
  });
  return { model: () => model };
}

async function loadModel(queries: Queries, paths: readonly string[], version: string): Promise<TerrainModel> {
  try {
    const source = 'FROM read_parquet($1::VARCHAR[], hive_partitioning = false)';
    const columns = await queries.columns<'radar_id' | 'tilt_deg' | 'azimuth_deg' | 'distance_km' | 'blocked'>(
      `SELECT radar_id, tilt_deg, azimuth_deg, distance_km, blocked ${source} ORDER BY ${blockage.order}`,
      [paths],
    );
    const [about] = await queries.rows<{ file: string; step_arcsec: number }>(
      `SELECT terrain_file AS file, terrain_step_arcsec AS step_arcsec ${source} LIMIT 1`,
      [paths],
    );
    if (about === undefined) throw new RangeError('the table is empty');
    const radar_id = columns.radar_id as readonly string[];
    const [tilt_deg, azimuth_deg] = [columns.tilt_deg as readonly number[], columns.azimuth_deg as readonly number[]];
    const [distance_km, blocked] = [columns.distance_km as readonly number[], columns.blocked as readonly number[]];
    return { ...blockageOf({ radar_id, tilt_deg, azimuth_deg, distance_km, blocked }), ...about, version };
  } catch (cause) {
    throw new DataUnavailable(paths.join(), 'is listed and cannot be read', { cause });
  }
}
