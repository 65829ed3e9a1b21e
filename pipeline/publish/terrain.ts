import { type Blockage, blockageOf } from '../../schemas/geo/blockage.ts';
import { layout } from '../../schemas/layout.ts';
import { blockage } from '../../schemas/tables/derived.ts';
import { type Engine, sqlList } from '../duckdb.ts';
import { publishedPaths } from './manifests.ts';

/** The published table of beam blockage by terrain; null when none is published. */
export async function readBlockage(engine: Engine, dataRoot: string): Promise<Blockage | null> {
  const paths = await publishedPaths(dataRoot, layout.staticPartition, blockage);
  if (paths.length === 0) return null;
  const reader = await engine.connection.runAndReadAll(
    `SELECT radar_id, tilt_deg, azimuth_deg, distance_km, blocked FROM read_parquet(${sqlList(paths)}) ORDER BY ${blockage.order}`,
  );
  const columns = reader.getColumnsObjectJS();
  const numbers = (name: string) => (columns[name] ?? []) as number[];
  return blockageOf({
    radar_id: (columns.radar_id ?? []) as string[],
    tilt_deg: numbers('tilt_deg'),
    azimuth_deg: numbers('azimuth_deg'),
    distance_km: numbers('distance_km'),
    blocked: numbers('blocked'),
  });
}
