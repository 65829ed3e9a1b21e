import { layout } from '../../schemas/layout.ts';
import type { Provenance } from '../../schemas/provenance.ts';
import { WSR88D } from '../../schemas/reference/wsr88d.ts';
import { type ClimatologyCell, climatology } from '../../schemas/tables/climatology.ts';
import { addDays } from '../../schemas/time.ts';
import { sqlList } from '../duckdb.ts';
import type { Log } from '../log.ts';
import { tablePaths } from '../publish/compact.ts';
import type { DateHead } from '../publish/dates.ts';
import { DERIVED_CLIMATOLOGY, readInputVersions, readOutdated } from '../publish/derived.ts';
import { readHead } from '../publish/manifests.ts';
import type { Root } from '../publish/root.ts';
import { readBlockage } from '../publish/terrain.ts';
import { availableCells } from './availability.ts';
import { climatologyRows } from './climatology-rows.ts';
import { countHail } from './hail-counts.ts';
import { datesToCount, type HailDates, observedShare, readHail } from './hail-dates.ts';
import { hailRates } from './hail-rates.ts';
import { conusCells } from './risk-cells.ts';
import { dayOfYear } from './smoothing.ts';

/** A year counts as data when so much of its scans is there. */
const YEAR_SHARE_MIN = 0.9;
const YEAR_DAYS = 365;
/** The climatology is made again once so many storm dates were published or taken away since. */
const DUE_AFTER_DATES = 7;

/** What a climatology was made of; `derive climatology --json` prints it as it is. */
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
 * Publishes the climatology when none is there yet, when a week of storm dates came or went since it was made, when it was made
 * of simulated dates and there are observed ones, or from another table of blockage. Null when nothing was due.
 */
export async function refreshClimatology(root: Root, now_ms: number, log: Log): Promise<ClimatologyReport | null> {
  const dates = datesToCount(root);
  if (dates === null) return null;
  const is_outdated = (await readOutdated(root.path, DERIVED_CLIMATOLOGY)) !== null;
  if (!is_outdated && !isDue(dates, await madeOf(root))) return null;
  return publishClimatology(root, dates, now_ms, log);
}

type MadeOf = Pick<ClimatologyCell, 'storm_dates' | 'last_date' | 'data_source'>;

/** What the published climatology was made of; null when none is published. */
async function madeOf(root: Pick<Root, 'engine' | 'path'>): Promise<MadeOf | null> {
  const head = await readHead(root.path, layout.staticPartition);
  const paths = head === null ? [] : tablePaths(root.path, head, climatology.name);
  if (paths.length === 0) return null;
  const [made] = await root.engine.rows<MadeOf>(
    `SELECT storm_dates, last_date::VARCHAR AS last_date, data_source FROM read_parquet(${sqlList(paths)}) LIMIT 1`,
  );
  return made ?? null;
}

function isDue({ provenance, heads }: HailDates, made: MadeOf | null): boolean {
  if (made === null || made.data_source !== provenance) return true;
  const last = heads.at(-1)?.partition ?? '';
  return (
    Math.abs(heads.length - made.storm_dates) >= DUE_AFTER_DATES || last >= addDays(made.last_date, DUE_AFTER_DATES)
  );
}

/** Publishes the climatology of these storm dates in place of the one before. */
export async function publishClimatology(
  root: Root,
  dates: HailDates,
  now_ms: number,
  log: Log,
): Promise<ClimatologyReport> {
  const started = performance.now();
  const made_from = await readInputVersions(root.path, DERIVED_CLIMATOLOGY);
  const { provenance, heads } = dates;
  const grid = conusCells();
  const available = availableCells(grid.cells, WSR88D, await readBlockage(root.engine, root.path));
  const counts = countHail(grid, available);
  for (const head of heads) counts.observe({ day_of_year: dayOfYear(head.partition), share: observedShare(head) });
  let [data_as_of, event_days, done] = [0, 0, 0];
  const months = new Set(heads.map(({ partition }) => partition.slice(0, 7))).size;
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
  const facts = {
    years_of_data: yearsOfData(heads),
    storm_dates: heads.length,
    first_date: heads[0]?.partition ?? '',
    last_date: heads.at(-1)?.partition ?? '',
    data_as_of,
    data_source: provenance,
  };
  const rows = climatologyRows(grid, hailRates(grid, counts, available), facts);
  const { file, changed } = await root.publishStatic(climatology, { rows, provenance, made_from }, now_ms);
  const { storm_dates, first_date, last_date, years_of_data } = facts;
  return {
    source: provenance,
    storm_dates,
    first_date,
    last_date,
    years_of_data,
    event_days,
    cells: rows.length,
    path: file.path,
    bytes: file.bytes,
    changed,
    seconds: Math.round((performance.now() - started) / 100) / 10,
  };
}

/** Years of 365 days, counted back from the last date, of which at least 90 % of the scans are there. */
export function yearsOfData(heads: readonly DateHead[]): number {
  const last = heads.at(-1)?.partition;
  if (last === undefined) return 0;
  const last_ms = Date.parse(last);
  const shares = new Map<number, number>();
  for (const head of heads) {
    const year = Math.floor((last_ms - Date.parse(head.partition)) / (YEAR_DAYS * 86_400_000));
    shares.set(year, (shares.get(year) ?? 0) + observedShare(head));
  }
  return [...shares.values()].filter((days) => days >= YEAR_SHARE_MIN * YEAR_DAYS).length;
}
