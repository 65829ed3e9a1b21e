import type { Table } from '../../schemas/columns.ts';
import type { Manifest } from '../../schemas/manifest.ts';
import type { MixedProvenance } from '../../schemas/provenance.ts';
import { blockage, swaths } from '../../schemas/tables/derived.ts';
import { COVERAGE_BLOCK_PX, cells, dayMax, detections, frames, uncovered } from '../../schemas/tables/radar.ts';
import type { Engine } from '../duckdb.ts';
import { tablePaths } from './manifests.ts';
import { allRows } from './merge.ts';

/** SQL of the rows of a table, in parentheses. */
type RowsOf = (table: Table) => string;

/** A rule for the rows of one partition. */
interface TableRule {
  /** Tables without which the rule does not apply. */
  readonly tables: readonly Table[];
  /** Fault of the rows that break the rule, printed after their number. */
  readonly broken: string;
  /** SQL of the number of rows that break the rule. */
  readonly count: (rowsOf: RowsOf) => string;
}

/** SQL of the number of blocks of a row of `uncovered`; the last block of a grid may be cut. */
const BLOCKS = `(u.col_last::INTEGER - u.col_first::INTEGER + ${COVERAGE_BLOCK_PX}) // ${COVERAGE_BLOCK_PX}`;

const NO_UNCOVERED =
  '(SELECT NULL::TIMESTAMPTZ AS first_scan, NULL::TIMESTAMPTZ AS last_scan, 0 AS col_first, 0 AS col_last WHERE false)';

function rulesOf(provenance: MixedProvenance): readonly TableRule[] {
  return [
    {
      tables: [frames],
      broken: `frames are not of ${provenance} data, which the list is of`,
      count: (rowsOf) => `SELECT count(*) FROM ${rowsOf(frames)} WHERE simulated <> ${provenance === 'simulated'}`,
    },
    {
      tables: [frames],
      broken: 'scans are not uncovered in as many blocks as their frames say',
      count: (rowsOf) =>
        `SELECT count(*) FROM (
           SELECT f.uncovered_blocks AS stated, coalesce(sum(${BLOCKS}), 0) AS listed FROM ${rowsOf(frames)} f
           LEFT JOIN ${rowsOf(uncovered)} u ON f.scan_time BETWEEN u.first_scan AND u.last_scan
           GROUP BY f.scan_id, f.uncovered_blocks)
         WHERE stated IS NOT NULL AND stated <> listed`,
    },
    {
      tables: [swaths],
      broken: 'swath tiers are larger than the tier below them',
      count: (rowsOf) =>
        `SELECT count(*) FROM (SELECT area_km2, lag(area_km2) OVER (ORDER BY threshold_mm) AS below FROM ${rowsOf(swaths)})
         WHERE area_km2 > below + 1e-6`,
    },
    {
      tables: [blockage],
      broken: 'shares that terrain blocks do not rise along their ray',
      count: (rowsOf) =>
        `SELECT count(*) FROM (SELECT blocked, lag(blocked) OVER (PARTITION BY radar_id, tilt_deg, azimuth_deg ORDER BY distance_km) AS nearer
         FROM ${rowsOf(blockage)}) WHERE blocked <= nearer OR blocked > 1`,
    },
    {
      tables: [detections, cells],
      broken: 'detections of a cell have no such cell',
      count: (rowsOf) =>
        `SELECT count(*) FROM ${rowsOf(detections)} d ANTI JOIN ${rowsOf(cells)} c USING (scan_time, cell_index) WHERE d.cell_index IS NOT NULL`,
    },
    {
      tables: [detections, dayMax],
      broken: 'detections exceed the day maximum of their pixel',
      count: (rowsOf) =>
        `SELECT count(*) FROM (SELECT "row", col, max(estimated_size_mm) AS size FROM ${rowsOf(detections)} GROUP BY ALL) d
         LEFT JOIN (SELECT "row", col, max(max_mm) AS size FROM ${rowsOf(dayMax)} GROUP BY ALL) m USING ("row", col) WHERE m.size IS NULL OR m.size < d.size`,
    },
  ];
}

/** Contradictions between the tables of one partition, as reasons; none for a month, whose rows are those of its dates. */
export async function verifyTables(engine: Engine, dataRoot: string, manifest: Manifest): Promise<string[]> {
  if (manifest.dates !== null) return [];
  const reasons: string[] = [];
  const pathsOf = (table: Table) => tablePaths(dataRoot, manifest, table.name);
  const rowsOf: RowsOf = (table) => {
    const paths = pathsOf(table);
    return paths.length === 0 && table === uncovered ? NO_UNCOVERED : `(${allRows(paths)})`;
  };
  try {
    const scan_ids = `SELECT scan_id FROM ${rowsOf(frames)} ORDER BY scan_id`;
    const published = pathsOf(frames).length === 0 ? [] : await engine.rows<{ scan_id: string }>(scan_ids);
    const listed = manifest.scans.map((scan) => scan.scan_id);
    if (listed.length > 0 && published.map((row) => row.scan_id).join() !== listed.join())
      reasons.push(`frames name ${published.length} scans, expected the ${listed.length} scans of the list`);
    for (const { tables, broken, count } of rulesOf(manifest.source)) {
      if (tables.some((table) => pathsOf(table).length === 0)) continue;
      const [row] = await engine.rows<{ wrong: number }>(`SELECT (${count(rowsOf)}) AS wrong`);
      if ((row?.wrong ?? 0) > 0) reasons.push(`${row?.wrong} ${broken}`);
    }
  } catch (error) {
    reasons.push(`its tables cannot be compared: ${(error as Error).message}`);
  }
  return reasons;
}
