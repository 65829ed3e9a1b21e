import { type Engine, sqlList } from '../duckdb.ts';
import { tablePaths } from './manifests.ts';
import type { Root } from './root.ts';

/** Counts of the published data of some storm dates, for people. */
export interface DatesSummary {
  readonly scans: number;
  readonly detections: number;
  /** Date with most detections, the later of two; null without any. */
  readonly most_hail: { readonly date: string; readonly detections: number } | null;
  readonly cells: number;
  /** Tracks that were seen in at least two scans. */
  readonly tracks: number;
  /** Swath tiers, as their thresholds in mm. */
  readonly tiers_mm: readonly number[];
  readonly max_size_mm: number | null;
  readonly files: number;
  readonly bytes: number;
}

/** Counts the published data of some storm dates together; their manifests are read one after the other. */
export async function summarize(
  root: Pick<Root, 'engine' | 'path' | 'manifest'>,
  dates: readonly string[],
): Promise<DatesSummary> {
  let [scans, files, bytes] = [0, 0, 0];
  let most_hail: DatesSummary['most_hail'] = null;
  const rowsOf = { detections: 0, cells: 0 };
  const paths = { tracks: [] as string[], swaths: [] as string[], frames: [] as string[] };
  for (const date of dates) {
    const manifest = await root.manifest(date);
    if (manifest === null) continue;
    scans += manifest.scans.length;
    files += manifest.files.length;
    let detections = 0;
    for (const file of manifest.files) {
      bytes += file.bytes;
      if (file.table === 'detections') detections += file.rows;
      if (file.table === 'cells') rowsOf.cells += file.rows;
    }
    rowsOf.detections += detections;
    if (detections > 0 && detections >= (most_hail?.detections ?? 0)) most_hail = { date, detections };
    for (const table of ['tracks', 'swaths', 'frames'] as const)
      paths[table].push(...tablePaths(root.path, manifest, table));
  }
  const { engine } = root;
  const [tracks] = await ask<{ tracks: number }>(
    engine,
    paths.tracks,
    "SELECT count(DISTINCT track_id) AS tracks FROM TABLE WHERE scan_count > 1 AND state = 'tracked'",
  );
  const distinct_tiers = 'SELECT DISTINCT threshold_mm AS mm FROM TABLE ORDER BY mm';
  const tiers = await ask<{ mm: number }>(engine, paths.swaths, distinct_tiers);
  const largest = 'SELECT max(max_size_mm) AS size FROM TABLE';
  const [frames] = await ask<{ size: number | null }>(engine, paths.frames, largest);
  return {
    scans,
    ...rowsOf,
    most_hail,
    tracks: tracks?.tracks ?? 0,
    tiers_mm: tiers.map((tier) => tier.mm),
    max_size_mm: frames?.size ?? null,
    files,
    bytes,
  };
}

/** Rows of a query in which TABLE stands for some files; none without files. */
async function ask<Row>(engine: Engine, paths: readonly string[], sql: string): Promise<Row[]> {
  if (paths.length === 0) return [];
  return engine.rows<Row>(sql.replace('TABLE', `read_parquet(${sqlList(paths)}, hive_partitioning = false)`));
}
