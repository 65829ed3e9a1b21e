import { findDetections } from '../../pipeline/detect/detections.ts';
import { emptyDetectionHistory } from '../../pipeline/detect/history.ts';
import { labelHail } from '../../pipeline/detect/label.ts';
import { detectionRows } from '../../pipeline/detect/table-rows.ts';
import type { ScanInput } from '../../pipeline/grid.ts';
import { compactMonth } from '../../pipeline/publish/compact.ts';
import type { StagedFile } from '../../pipeline/publish/edit.ts';
import { allRows, mergedDayMaxSql } from '../../pipeline/publish/merge.ts';
import type { Root } from '../../pipeline/publish/root.ts';
import { type SegmentSpan, stageTable } from '../../pipeline/publish/stage.ts';
import { scanTimes } from '../../pipeline/simulate/evening.ts';
import { climateScenario, type Scenario } from '../../pipeline/simulate/weather.ts';
import { dayMaxRows, emptyDayMaximum, updateDayMaximum } from '../../pipeline/swath/accumulate.ts';
import type { Table } from '../../schemas/columns.ts';
import { layout } from '../../schemas/layout.ts';
import { WSR88D } from '../../schemas/reference/wsr88d.ts';
import { CELL_GROW_MM } from '../../schemas/size.ts';
import { type Detection, dayMax, detections } from '../../schemas/tables/radar.ts';
import { addDays, MS_PER_DAY, monthOf, stormDateStart } from '../../schemas/time.ts';
import { scanOfMesh } from '../support/data/hail-mask.ts';
import { publishFiles } from '../support/data/published-days.ts';
import { climateField } from './climate-field.ts';

/** Segment of a date that the climate wrote: no scans, only their sum. */
const COVERAGE: SegmentSpan = { segment: 'climate', first_scan: null, last_scan: null };
/** The history of detections reaches back this far: a date begins with the scans of so long before it. */
const WARM_UP_MS = 30 * 60_000;
/** Any odd number: keeps the further weathers of one seed apart from those of its neighbours. */
const SEED_STEP = 0x9e3779b1;
/** Detections in memory before they are put down. */
const PART_ROWS = 100_000;

type Values = Readonly<Record<string, unknown>>;
type TableContent = Parameters<typeof stageTable>[3];

/** Which simulated years to publish. */
export interface Climate {
  readonly seed: number;
  /** So many independent weathers fall on every date: 1 is a usual year, more fill a place as many years would. */
  readonly density: number;
  readonly first_date: string;
  readonly dates: number;
  readonly storm_day_start_hour: number;
}

export interface ClimateProgress {
  readonly storm_date: string;
  readonly number: number;
  readonly of: number;
  readonly detections: number;
}

/**
 * Publishes years of simulated daily hail straight into the tables: detections and day maxima of every date, tiers, event
 * days, and the months joined, for tests at scale. The fields are the simulator's cores without the echo around them; what
 * is made of them is what the stages make of any scan without companions. No cells, tracks or tiles are made.
 * Dates that hold scans are left alone. Yields each date once it is published.
 */
export async function* publishClimate(root: Root, climate: Climate, now_ms: number): AsyncGenerator<ClimateProgress> {
  const { first_date, dates } = climate;
  const all = Array.from({ length: dates }, (_, index) => addDays(first_date, index));
  const scenarios = scenariosOf(climate);
  for (const [index, storm_date] of all.entries()) {
    if (root.heads.has(storm_date)) continue;
    const from_ms = stormDateStart(storm_date, climate.storm_day_start_hour);
    const rows = await publishDate(root, scenarios, storm_date, from_ms, now_ms);
    yield { storm_date, number: index + 1, of: dates, detections: rows };
  }
  for (const month of new Set(all.map(monthOf))) await compactMonth(root, month, now_ms);
}

/** The weathers of a climate: its own first. */
function scenariosOf({ seed, density }: Climate): [Scenario, ...Scenario[]] {
  const scenario = (index: number) => climateScenario((seed + index * SEED_STEP) % 2 ** 32, WSR88D);
  return [scenario(0), ...Array.from({ length: density - 1 }, (_, index) => scenario(index + 1))];
}

async function publishDate(
  root: Root,
  scenarios: readonly [Scenario, ...Scenario[]],
  storm_date: string,
  from_ms: number,
  now_ms: number,
): Promise<number> {
  const files = await stageDate(root, scenarios, storm_date, from_ms);
  await publishFiles(root, storm_date, 'simulated', files, now_ms);
  return files.find(({ entry }) => entry.table === detections.name)?.entry.rows ?? 0;
}

/** Makes the detections and the day maximum of a date, as a closed date has them; tables without rows are left out. */
async function stageDate(
  root: Root,
  scenarios: readonly [Scenario, ...Scenario[]],
  storm_date: string,
  from_ms: number,
): Promise<StagedFile[]> {
  const maximum = emptyDayMaximum();
  const parts: StagedFile[] = [];
  let waiting: Detection[] = [];
  const putDown = async () => {
    parts.push(await stagePart(root, storm_date, detections, waiting, parts.length));
    waiting = [];
  };
  let history = emptyDetectionHistory;
  for (const time_ms of scanTimes(scenarios[0].seed, from_ms - WARM_UP_MS, from_ms + MS_PER_DAY)) {
    const input = climateScan(scenarios, time_ms);
    // Cells are not published: every detection stands for itself.
    const found = findDetections(input, { labels: labelHail(input.mesh), cells: [], matches: [] }, history, null);
    history = found.history;
    if (time_ms < from_ms) continue;
    updateDayMaximum(maximum, { ...input, detections: found.detections, filled: [] });
    waiting.push(...detectionRows(found, [], storm_date));
    if (waiting.length >= PART_ROWS) await putDown();
  }
  if (waiting.length > 0) await putDown();
  const days = dayMaxRows(maximum, storm_date);
  if (days.length === 0) return [];
  const paths = parts.map(({ staged }) => staged);
  const dayPart = await stagePart(root, storm_date, dayMax, days, 0);
  const whole = await stageWhole(root, storm_date, dayMax, mergedDayMaxSql([dayPart.staged], paths));
  if (parts.length < 2) return [...parts, whole];
  return [await stageWhole(root, storm_date, detections, allRows(paths)), whole];
}

/** One scan of the weathers, without any product but MESH. */
function climateScan(scenarios: readonly [Scenario, ...Scenario[]], scan_time: number): ScanInput {
  return scanOfMesh(scan_time, climateField(scenarios, scan_time, CELL_GROW_MM), true);
}

/** Rows of a part of a date as a file: all of it where there is no other part. */
function stagePart(root: Root, storm_date: string, table: Table, rows: readonly Values[], part: number) {
  return stage(root, storm_date, table, { rows }, `day-${part}`);
}

function stageWhole(root: Root, storm_date: string, table: Table, query: string) {
  return stage(root, storm_date, table, { query }, 'day');
}

function stage(root: Root, storm_date: string, table: Table, content: TableContent, stem: string): Promise<StagedFile> {
  const destination = { folder: layout.table(table.name, storm_date), stem };
  return stageTable(root.engine, root.staging, table, content, 'simulated', destination, COVERAGE);
}
