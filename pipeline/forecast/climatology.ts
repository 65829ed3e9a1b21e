import { rowsSql } from '../../schemas/columns.ts';
import type { Head } from '../../schemas/head.ts';
import { layout } from '../../schemas/layout.ts';
import type { PublishedFile } from '../../schemas/manifest.ts';
import type { Provenance } from '../../schemas/provenance.ts';
import { WSR88D } from '../../schemas/reference/wsr88d.ts';
import { MONTHS, type Month, riskTier, TIER_PRIOR_SHARE_MAX } from '../../schemas/risk.ts';
import { type ClimatologyCell, climatology } from '../../schemas/tables/derived.ts';
import { dayMax } from '../../schemas/tables/radar.ts';
import { addDays, MS_PER_DAY, monthOf } from '../../schemas/time.ts';
import { type Engine, sqlList } from '../duckdb.ts';
import { isDiskRefusal, PipelineError } from '../error.ts';
import type { Log } from '../log.ts';
import { readInputVersions, readOutdated } from '../publish/inputs.ts';
import { publishedPaths, tablePaths } from '../publish/manifests.ts';
import type { Root } from '../publish/root.ts';
import { readBlockage } from '../publish/tables.ts';
import { publishUndated } from '../publish/undated.ts';
import { ANY, CLASS_MIN_MM, countHail, dayOfYear, GIANT, SEVERE, SIGNIFICANT, YEAR_DAYS } from './hail-counts.ts';
import { type HailRates, hailRates } from './hail-rates.ts';
import { availableCells, CELL_COL_SQL, CENTRE_LON_SQL, cellReaches, conusCells, type RiskGrid } from './risk-grid.ts';

/** Storm dates closed or removed since the last climatology from which a new one is due. */
const DUE_AFTER_DATES = 7;

/**
 * Publishes the climatology when it is due: when none is published, when a week of storm dates was closed or removed since, when it
 * counts simulated dates and observed ones exist, or when the blockage changed. Null when it is not due.
 */
export async function refreshClimatology(root: Root, now_ms: number, log: Log) {
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

/** A published climatology; the output of `derive climatology --json`. */
export type ClimatologyReport = Awaited<ReturnType<typeof publishClimatology>>;

/** Publishes the climatology of the storm dates in place of the previous one. */
export async function publishClimatology(
  root: Root,
  { provenance, heads, first_date, last_date }: HailDates,
  now_ms: number,
  log: Log,
) {
  const started = performance.now();
  const made_from = await readInputVersions(root.path, 'climatology');
  const grid = conusCells();
  const available = availableCells(grid.cells, WSR88D, await readBlockage(root.engine, root.path));
  const counts = countHail(grid, available);
  for (const head of heads) counts.observe(dayOfYear(head.partition), observedShare(head));
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
  return {
    source: provenance,
    ...dates,
    /** Days with hail of at least 19 mm within 10 km of a cell, summed over the cells. */
    event_days,
    cells: rows.length,
    path,
    bytes,
    /** False when the same table was published before. */
    changed,
    seconds,
  };
}

/** Scans of a whole day, one every two minutes. */
const SCANS_A_DAY = 720;
/** Share of its scans from which a year counts as a year of data. */
const YEAR_SHARE_MIN = 0.9;

/** Storm dates whose hail is counted, ascending, all of one provenance. */
interface HailDates {
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
function observedShare({ scans: { count } }: Pick<Head, 'scans'>): number {
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
    const paths = month.flatMap((head) => tablePaths(root.path, head, dayMax.name));
    const committed_ms = Math.max(...month.map(({ committed_at }) => Date.parse(committed_at)));
    yield { maxima: paths.length === 0 ? [] : await maximaOf(root.engine, paths), committed_ms };
  }
  await root.engine.connection.run(`DROP TABLE ${REACHES}`);
}

const REACHES = 'climatology_reaches';

/** The largest MESH of a storm date within 10 km of the centre of a geohash4 cell, by row and column of the grid. */
async function maximaOf(engine: Engine, paths: readonly string[]) {
  const sql = `SELECT storm_date::VARCHAR AS storm_date, cell_row, ${CELL_COL_SQL} AS cell_col, max(max_mm) AS mm
     FROM (${rowsSql(sqlList(paths))}) JOIN ${REACHES} ON pixel_row = "row"
     WHERE NOT interpolated AND max_mm >= ${CLASS_MIN_MM[ANY]} AND abs(lon - (${CENTRE_LON_SQL})) <= reach_deg
     GROUP BY ALL ORDER BY ALL`;
  try {
    return await engine.rows<{ storm_date: string; cell_row: number; cell_col: number; mm: number }>(sql);
  } catch (error) {
    if (isDiskRefusal(error)) throw error;
    const [found] = (error instanceof Error ? error.message : String(error)).split('\n');
    // If they were skipped, these dates would count as days without hail.
    const reason = `cannot be read (${found}), expected what its list names; see hail-pipeline verify`;
    throw new PipelineError('derive', 'published hail', reason, { cause: error });
  }
}

/** Weights of the classes of hail in the score: any, severe, significant, giant. */
const SCORE_WEIGHTS = [0.35, 0.4, 0.2, 0.05];

/** Largest published probability: no climatology is certain. */
const MOST_PROBABLE = 0.995;
/** Yearly rate of that probability. */
const MOST_DAYS = -Math.log1p(-MOST_PROBABLE);

type Fact = 'years_of_data' | 'storm_dates' | 'first_date' | 'last_date' | 'data_as_of' | 'data_source';

/**
 * Rows of the climatology in the order of the cells: probabilities of at least one day with hail, scores and risk tiers. `facts` are
 * about the counted storm dates, the same in every row.
 */
export function climatologyRows(
  { cells }: RiskGrid,
  { rates, prior_share }: HailRates,
  facts: Pick<ClimatologyCell, Fact>,
): ClimatologyCell[] {
  const yearScores = scores(rates.map(yearlyRates));
  // The interface does not say which values a monthly score is ranked among; all cells and months are used, so that it shows the
  // season.
  const monthScores = scores(rates.map((byMonth) => Float64Array.from(byMonth.flatMap((rate) => [...rate]))));
  const bounded = boundedRates(rates);
  const yearly = bounded.map(yearlyRates);
  return cells.map(({ geohash4, lat, lon }, cell) => {
    const annual_score = yearScores[cell];
    return {
      geohash4,
      lat,
      lon,
      annual_any: atLeastOnce(yearly[ANY][cell]),
      annual_severe: atLeastOnce(yearly[SEVERE][cell]),
      annual_significant: atLeastOnce(yearly[SIGNIFICANT][cell]),
      annual_giant: atLeastOnce(yearly[GIANT][cell]),
      annual_score,
      risk_tier: prior_share[cell] > TIER_PRIOR_SHARE_MAX ? null : riskTier(annual_score),
      peak_month: peakMonth(rates, cell),
      prior_share: prior_share[cell],
      ...facts,
      ...monthly('any', (month) => atLeastOnce(bounded[ANY][month][cell])),
      ...monthly('severe', (month) => atLeastOnce(bounded[SEVERE][month][cell])),
      ...monthly('score', (month) => monthScores[month * cells.length + cell]),
    };
  });
}

/** Yearly rates of a class by cell: the sum of its months. */
function yearlyRates(byMonth: readonly Float64Array[]): Float64Array {
  const [first = new Float64Array()] = byMonth;
  return first.map((_, cell) => byMonth.reduce((sum, rate) => sum + rate[cell], 0));
}

/**
 * Rates with probabilities of at most `MOST_PROBABLE`. The months of a class shrink by one factor, so that they still add up to
 * its year; no class is more frequent than the one before it in any month.
 */
function boundedRates(rates: readonly (readonly Float64Array[])[]): readonly (readonly Float64Array[])[] {
  const bounded: Float64Array[][] = [];
  for (const [k, byMonth] of rates.entries()) {
    const share = yearlyRates(byMonth).map((days) => Math.min(1, MOST_DAYS / days));
    const larger = bounded[k - 1];
    bounded.push(
      byMonth.map((month, m) =>
        month.map((rate, cell) => Math.min(rate * share[cell], larger?.[m]?.[cell] ?? Number.POSITIVE_INFINITY)),
      ),
    );
  }
  return bounded;
}

function monthly<Name extends string>(name: Name, valueAt: (month: number) => number) {
  const values = MONTHS.map((month, at) => [`${name}_${month}`, valueAt(at)]);
  return Object.fromEntries(values) as Record<`${Name}_${Month}`, number>;
}

/** Probability of at least one day at an expected number of days. */
function atLeastOnce(rate: number): number {
  return -Math.expm1(-rate);
}

/** Month, 1 to 12, with the largest rate of severe hail; of equal ones that with more hail of any size, then the first. */
function peakMonth(rates: HailRates['rates'], cell: number): number {
  const more = (k: number, a: number, b: number) => rates[k][b][cell] - rates[k][a][cell];
  const [first] = [...MONTHS.keys()].sort((a, b) => more(SEVERE, a, b) || more(ANY, a, b) || a - b);
  return first + 1;
}

/** Scores 0 to 100: weighted percentile ranks of the rates of every class. */
function scores(rates: readonly Float64Array[]): Uint8Array {
  const ranks = rates.map(percentileRanks);
  return Uint8Array.from(ranks[0], (_, at) =>
    Math.round(100 * ranks.reduce((sum, rank, k) => sum + SCORE_WEIGHTS[k] * rank[at], 0)),
  );
}

/** Percentile rank of each value among all of them, 0..1; equal values share the middle of their ranks. */
function percentileRanks(values: Float64Array): Float64Array {
  const sorted = values.toSorted();
  const first = new Map<number, number>();
  const end = new Map<number, number>();
  for (const [rank, value] of sorted.entries()) {
    if (!first.has(value)) first.set(value, rank);
    end.set(value, rank + 1);
  }
  return values.map((value) => ((first.get(value) ?? 0) + (end.get(value) ?? 0)) / 2 / sorted.length);
}
