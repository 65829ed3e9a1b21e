import { layout } from '../../schemas/layout.ts';
import type { PublishedFile } from '../../schemas/manifest.ts';
import type { Provenance } from '../../schemas/provenance.ts';
import { WSR88D } from '../../schemas/reference/wsr88d.ts';
import { type ClimatologyCell, climatology } from '../../schemas/tables/derived.ts';
import { addDays, monthOf } from '../../schemas/time.ts';
import { sqlList } from '../duckdb.ts';
import type { Log } from '../log.ts';
import { readInputVersions, readOutdated } from '../publish/inputs.ts';
import { publishedPaths } from '../publish/manifests.ts';
import type { Root } from '../publish/root.ts';
import { readBlockage } from '../publish/terrain.ts';
import { publishUndated } from '../publish/undated.ts';
import { climatologyRows } from './climatology-rows.ts';
import { countHail } from './hail-counts.ts';
import { datesToCount, type HailDates, observedShare, readHail, yearsOfData } from './hail-dates.ts';
import { hailRates } from './hail-rates.ts';
import { availableCells, conusCells } from './risk-grid.ts';
import { dayOfYear } from './smoothing.ts';

/** Storm dates closed or removed since the last climatology from which a new one is due. */
const DUE_AFTER_DATES = 7;

/** A published climatology; the output of `derive climatology --json`. */
export interface ClimatologyReport {
  readonly source: Provenance;
  readonly storm_dates: number;
  readonly first_date: string;
  readonly last_date: string;
  readonly years_of_data: number;
  /** Days with hail of at least 19 mm within 10 km of a cell, summed over the cells. */
  readonly event_days: number;
  readonly cells: number;
  readonly path: string;
  readonly bytes: number;
  /** False when the same table was published before. */
  readonly changed: boolean;
  readonly seconds: number;
}

/**
 * Publishes the climatology when it is due: when none is published, when a week of storm dates was closed or removed since, when it
 * counts simulated dates and observed ones exist, or when the blockage changed. Null when it is not due.
 */
export async function refreshClimatology(root: Root, now_ms: number, log: Log): Promise<ClimatologyReport | null> {
  const dates = datesToCount(root);
  if (dates === null) return null;
  const is_outdated = (await readOutdated(root.path)).some(({ table }) => table === 'climatology');
  return is_outdated || (await isDue(root, dates)) ? publishClimatology(root, dates, now_ms, log) : null;
}

async function isDue({ engine, path }: Root, { provenance, heads, last_date }: HailDates): Promise<boolean> {
  const paths = await publishedPaths(path, layout.staticPartition, climatology);
  if (paths.length === 0) return true;
  const [published] = await engine.rows<Pick<ClimatologyCell, 'storm_dates' | 'last_date' | 'data_source'>>(
    `SELECT storm_dates, last_date::VARCHAR AS last_date, data_source FROM read_parquet(${sqlList(paths)}) LIMIT 1`,
  );
  return (
    published?.data_source !== provenance ||
    Math.abs(heads.length - published.storm_dates) >= DUE_AFTER_DATES ||
    last_date >= addDays(published.last_date, DUE_AFTER_DATES)
  );
}

/** Publishes the climatology of the storm dates in place of the previous one. */
export async function publishClimatology(
  root: Root,
  { provenance, heads, first_date, last_date }: HailDates,
  now_ms: number,
  log: Log,
): Promise<ClimatologyReport> {
  const started = performance.now();
  const made_from = await readInputVersions(root.path, 'climatology');
  const grid = conusCells();
  const available = availableCells(grid.cells, WSR88D, await readBlockage(root.engine, root.path));
  const counts = countHail(grid, available);
  for (const head of heads) counts.observe({ day_of_year: dayOfYear(head.partition), share: observedShare(head) });
  let [data_as_of, event_days, done] = [0, 0, 0];
  const months = new Set(heads.map(({ partition }) => monthOf(partition))).size;
  for await (const { maxima, committed_ms } of readHail(root, heads)) {
    data_as_of = Math.max(data_as_of, committed_ms);
    for (const { storm_date, cell_row, cell_col, mm } of maxima) {
      const inside = cell_col >= 0 && cell_col < grid.cols;
      const cell = inside ? grid.index[cell_row * grid.cols + cell_col] : -1;
      if (cell < 0) continue;
      counts.add({ cell, day_of_year: dayOfYear(storm_date), mm });
      event_days += 1;
    }
    done += 1;
    log.progress('months', done, months);
  }
  const dates = { years_of_data: yearsOfData(heads), storm_dates: heads.length, first_date, last_date };
  const facts = { ...dates, data_as_of, data_source: provenance };
  const rows = climatologyRows(grid, hailRates(grid, counts, available), facts);
  const segment = { segment: climatology.name, table: climatology, rows, provenance, made_from };
  const [{ files, changed }] = await publishUndated(root, [{ name: 'static', segments: [segment] }], now_ms);
  const { path, bytes } = files[0] as PublishedFile;
  const seconds = Math.round((performance.now() - started) / 100) / 10;
  return { source: provenance, ...dates, event_days, cells: rows.length, path, bytes, changed, seconds };
}
