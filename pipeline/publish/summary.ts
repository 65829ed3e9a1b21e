import type { Manifest } from '../../schemas/manifest.ts';
import { type Engine, sqlList } from '../duckdb.ts';
import { tablePaths } from './compact.ts';

/** What some storm dates hold, in numbers for people. */
export interface DatesSummary {
  readonly scans: number;
  readonly detections: number;
  readonly cells: number;
  /** Tracks that were seen in at least two scans. */
  readonly tracks: number;
  /** Swath tiers, as their thresholds in mm. */
  readonly tiers_mm: readonly number[];
  readonly max_size_mm: number | null;
  readonly files: number;
  readonly bytes: number;
}

/** Counts what the given manifests publish together. */
export async function summarize(engine: Engine, dataRoot: string, heads: readonly Manifest[]): Promise<DatesSummary> {
  const paths = (table: string) => heads.flatMap((head) => tablePaths(dataRoot, head, table));
  const rowsOf = (table: string) =>
    heads
      .flatMap((head) => head.files.filter((file) => file.table === table))
      .reduce((sum, file) => sum + file.rows, 0);
  const ask = async <Row>(table: string, sql: string): Promise<Row[]> =>
    paths(table).length === 0
      ? []
      : engine.rows<Row>(sql.replace('TABLE', `read_parquet(${sqlList(paths(table))}, hive_partitioning = false)`));
  const [tracks] = await ask<{ tracks: number }>(
    'tracks',
    "SELECT count(DISTINCT track_id) AS tracks FROM TABLE WHERE scan_count > 1 AND state = 'tracked'",
  );
  const tiers = await ask<{ mm: number }>('swaths', 'SELECT DISTINCT threshold_mm AS mm FROM TABLE ORDER BY mm');
  const [frames] = await ask<{ size: number | null }>('frames', 'SELECT max(max_size_mm) AS size FROM TABLE');
  return {
    scans: heads.reduce((sum, head) => sum + head.scans.length, 0),
    detections: rowsOf('detections'),
    cells: rowsOf('cells'),
    tracks: tracks?.tracks ?? 0,
    tiers_mm: tiers.map((tier) => tier.mm),
    max_size_mm: frames?.size ?? null,
    files: heads.reduce((sum, head) => sum + head.files.length, 0),
    bytes: heads.flatMap((head) => head.files).reduce((sum, file) => sum + file.bytes, 0),
  };
}
