import type { Table } from '../../schemas/columns.ts';
import { layout } from '../../schemas/layout.ts';
import type { Manifest } from '../../schemas/manifest.ts';
import type { MixedProvenance } from '../../schemas/provenance.ts';
import { blockage, swaths } from '../../schemas/tables/derived.ts';
import { forecast, outlook } from '../../schemas/tables/forecast.ts';
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

/**
 * The fault of hours and days of the forecast that contradict each other: no hour is likelier than its day, and a day whose 24
 * hours are known is no likelier than all of them if they were independent.
 */
export async function verifyHours(
  engine: Engine,
  dataRoot: string,
  manifests: readonly Manifest[],
): Promise<{ readonly path: string; readonly reason: string }[]> {
  const pathsOf = ({ name }: Table, partition: string) =>
    manifests.filter((one) => one.partition === partition).flatMap((one) => tablePaths(dataRoot, one, name));
  const partition = layout.collectionPartition('forecast');
  const hours = pathsOf(forecast, partition);
  const days = pathsOf(outlook, layout.collectionPartition('outlook'));
  if (hours.length === 0 || days.length === 0) return [];
  const path = layout.head(partition);
  try {
    // The hour that ends at 13 UTC is the first of its day.
    const [{ wrong, first }] = await engine.rows<{ wrong: number; first: string | null }>(
      `SELECT count(*) AS wrong, min(geohash4 || ' on ' || forecast_date) AS first FROM (
         SELECT geohash4, forecast_date FROM (SELECT *, hail_probability_pct / 100 AS day_p FROM (${allRows(days)}))
         JOIN (SELECT geohash4, (valid_time - INTERVAL 13 HOUR)::DATE AS forecast_date, hail_probability AS p
           FROM (${allRows(hours)}) WHERE hail_probability IS NOT NULL) USING (geohash4, forecast_date)
         GROUP BY geohash4, forecast_date, day_p
         HAVING max(p) > day_p + 1e-9 OR (count(*) = 24 AND day_p > 1 - product(1 - p) + 1e-9))`,
    );
    const reason = `${wrong} days of cells are less likely than one of their hours, or likelier than all (${first} first)`;
    return wrong === 0 ? [] : [{ path, reason }];
  } catch (error) {
    return [{ path, reason: `its hours cannot be compared with their days: ${(error as Error).message}` }];
  }
}
