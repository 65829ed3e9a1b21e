import { rowsSql } from '../../schemas/columns.ts';
import type { Head } from '../../schemas/head.ts';
import type { Provenance } from '../../schemas/provenance.ts';
import { dayMax } from '../../schemas/tables/radar.ts';
import { MS_PER_DAY, monthOf } from '../../schemas/time.ts';
import { type Engine, sqlList } from '../duckdb.ts';
import { isDiskRefusal, PipelineError } from '../error.ts';
import { tablePaths } from '../publish/manifests.ts';
import type { Root } from '../publish/root.ts';
import { ANY, CLASS_MIN_MM } from './hail-counts.ts';
import { CELL_COL_SQL, CENTRE_LON_SQL, cellReaches } from './risk-grid.ts';
import { YEAR_DAYS } from './smoothing.ts';

/** Scans of a whole day, one every two minutes. */
const SCANS_A_DAY = 720;
/** Share of its scans from which a year counts as a year of data. */
const YEAR_SHARE_MIN = 0.9;

/** Storm dates whose hail is counted, ascending, all of one provenance. */
export interface HailDates {
  readonly provenance: Provenance;
  readonly first_date: string;
  readonly last_date: string;
  readonly heads: readonly Head[];
}

/** The closed observed dates if any, else the closed simulated ones; null when no date is closed. */
export function datesToCount(root: Pick<Root, 'heads'>): HailDates | null {
  const published = [...root.heads.values()]
    .filter(({ closed }) => closed)
    .sort((a, b) => (a.partition < b.partition ? -1 : 1));
  for (const provenance of ['observed', 'simulated'] as const) {
    const heads = published.filter((head) => head.source === provenance);
    const [first, last] = [heads[0], heads.at(-1)];
    if (first && last) return { provenance, first_date: first.partition, last_date: last.partition, heads };
  }
  return null;
}

/** Share of a date's scans that were published, 0..1. A date without scans holds the maxima of a whole day. */
export function observedShare({ scans: { count } }: Pick<Head, 'scans'>): number {
  return count === 0 ? 1 : Math.min(1, count / SCANS_A_DAY);
}

/** Years of 365 days, counted back from the last date, of which at least 90 % of the scans were published. */
export function yearsOfData(heads: readonly Head[]): number {
  const last = heads.at(-1);
  if (last === undefined) return 0;
  const shares = new Map<number, number>();
  for (const head of heads) {
    const days_ago = (Date.parse(last.partition) - Date.parse(head.partition)) / MS_PER_DAY;
    const year = Math.floor(days_ago / YEAR_DAYS);
    shares.set(year, (shares.get(year) ?? 0) + observedShare(head));
  }
  return [...shares.values()].filter((days) => days >= YEAR_SHARE_MIN * YEAR_DAYS).length;
}

/** The largest MESH of a storm date within 10 km of the centre of a geohash4 cell, by row and column of the grid. */
interface CellMaximum {
  readonly storm_date: string;
  readonly cell_row: number;
  readonly cell_col: number;
  readonly mm: number;
}

/**
 * Maxima of dates from their published tables, a month at a time so that memory does not grow with the years, with the commit time
 * of the newest manifest of the month.
 */
export async function* readHail(root: Pick<Root, 'engine' | 'path'>, heads: readonly Head[]) {
  const reaches = cellReaches().map(({ row, cell_row, reach_deg }) => `(${row}, ${cell_row}, ${reach_deg})`);
  await root.engine.connection.run(
    `CREATE OR REPLACE TEMP TABLE ${REACHES} AS SELECT * FROM (VALUES ${reaches.join(', ')}) AS reach(pixel_row, cell_row, reach_deg)`,
  );
  for (const month of Map.groupBy(heads, ({ partition }) => monthOf(partition)).values()) {
    const paths: string[] = [];
    let committed_ms = 0;
    for (const head of month) {
      paths.push(...tablePaths(root.path, head, dayMax.name));
      committed_ms = Math.max(committed_ms, Date.parse(head.committed_at));
    }
    yield { maxima: paths.length === 0 ? [] : await maximaOf(root.engine, paths), committed_ms };
  }
  await root.engine.connection.run(`DROP TABLE ${REACHES}`);
}

const REACHES = 'climatology_reaches';

async function maximaOf(engine: Engine, paths: readonly string[]): Promise<CellMaximum[]> {
  const sql = `SELECT storm_date::VARCHAR AS storm_date, cell_row, ${CELL_COL_SQL} AS cell_col, max(max_mm) AS mm
     FROM (${rowsSql(sqlList(paths))}) JOIN ${REACHES} ON pixel_row = "row"
     WHERE NOT interpolated AND max_mm >= ${CLASS_MIN_MM[ANY]} AND abs(lon - (${CENTRE_LON_SQL})) <= reach_deg
     GROUP BY ALL ORDER BY ALL`;
  try {
    return await engine.rows<CellMaximum>(sql);
  } catch (error) {
    if (isDiskRefusal(error)) throw error;
    const [found] = (error instanceof Error ? error.message : String(error)).split('\n');
    // If they were skipped, these dates would count as days without hail.
    const reason = `cannot be read (${found}), expected what its list names; see hail-pipeline verify`;
    throw new PipelineError('derive', 'published hail', reason, { cause: error });
  }
}
