import { findDetections } from '../../pipeline/detect/detections.ts';
import { emptyDetectionHistory } from '../../pipeline/detect/history.ts';
import { labelHail } from '../../pipeline/detect/label.ts';
import { detectionRows } from '../../pipeline/detect/table-rows.ts';
import type { HailField } from '../../pipeline/grid.ts';
import { compactMonth } from '../../pipeline/publish/compact.ts';
import type { StagedFile } from '../../pipeline/publish/edit.ts';
import { allRows, mergedDayMaxSql } from '../../pipeline/publish/merge.ts';
import type { Root } from '../../pipeline/publish/root.ts';
import { type SegmentSpan, stageTable } from '../../pipeline/publish/stage.ts';
import { MAX_TENTHS } from '../../pipeline/simulate/column.ts';
import { scanTimes } from '../../pipeline/simulate/evening.ts';
import { uniformOf } from '../../pipeline/simulate/random.ts';
import {
  boxAround,
  coreFall,
  coreReach,
  coverageOf,
  distanceFrom,
  SKEW,
  type StormCore,
  seenCoresOf,
} from '../../pipeline/simulate/storm-core.ts';
import { stormAt, stormsBetween } from '../../pipeline/simulate/storms.ts';
import { climateScenario, type Scenario } from '../../pipeline/simulate/weather.ts';
import { dayMaxRows, emptyDayMaximum, updateDayMaximum } from '../../pipeline/swath/accumulate.ts';
import type { Table } from '../../schemas/columns.ts';
import { KM_PER_DEG, KM_PER_DEG_EQUATOR } from '../../schemas/geo/constants.ts';
import { colLon, rowLat, type Window } from '../../schemas/geo/lattice.ts';
import { layout } from '../../schemas/layout.ts';
import { WSR88D } from '../../schemas/reference/wsr88d.ts';
import { CELL_GROW_MM } from '../../schemas/size.ts';
import { type Detection, dayMax, detections } from '../../schemas/tables/radar.ts';
import { addDays, MS_PER_DAY, monthOf, stormDateStart } from '../../schemas/time.ts';
import { scanOfMesh } from '../support/data/draw.ts';
import { publishFiles } from '../support/data/published-days.ts';

/** Amplitude of the pixel noise of hail, as a share of the core's value. */
const GRAIN = 0.15;

/**
 * MESH field >= `min_mm` of the storms of a scenario: their cores with pixel noise, without the echo and
 * the texture of a full scan, which makes whole years feasible. Where storms overlap the larger value counts.
 */
function climateField(scenario: Scenario, time_ms: number, min_mm: number): HailField {
  const { window } = scenario;
  const covered = coverageOf(scenario);
  const tenths = new Map<number, number>();
  for (const storm of stormsBetween(scenario, time_ms, time_ms)) {
    const state = stormAt(storm, time_ms);
    for (const core of seenCoresOf(scenario, state, time_ms))
      if (core.peak_mm * (1 + GRAIN) >= min_mm) paintCore(tenths, covered, window, core, storm.key, min_mm);
  }
  const pixels = Uint32Array.from(tenths.keys()).sort();
  const rowStart = new Uint32Array(window.rows + 1);
  for (const pixel of pixels) rowStart[Math.floor(pixel / window.cols) + 1]++;
  for (let row = 0; row < window.rows; row++) rowStart[row + 1] += rowStart[row];
  return {
    window,
    rowStart,
    col: Uint16Array.from(pixels, (pixel) => window.col0 + (pixel % window.cols)),
    tenths: Uint16Array.from(pixels, (pixel) => tenths.get(pixel) as number),
    covered_px: window.rows * window.cols,
    uncovered_px: 0,
  };
}

/** Raises the pixels of a core; keys are row x cols + col in the window. */
function paintCore(
  tenths: Map<number, number>,
  covered: Uint8Array,
  window: Window,
  core: StormCore,
  key: number,
  min_mm: number,
): void {
  const reach = coreReach(core.peak_mm * (1 + GRAIN), min_mm);
  const box = boxAround(core, (1 + SKEW) * core.along_km * reach, window);
  if (box === null) return;
  const { top, bottom, left, right } = box;
  for (let r = top; r <= bottom; r++) {
    const lat = rowLat(window.row0 + r);
    const north_km = (lat - core.lat) * KM_PER_DEG;
    const km_per_degree = KM_PER_DEG_EQUATOR * Math.cos((lat * Math.PI) / 180);
    for (let c = left; c <= right; c++) {
      const east_km = (colLon(window.col0 + c) - core.lon) * km_per_degree;
      const smooth_mm = core.peak_mm * coreFall(distanceFrom(core, east_km, north_km));
      if (smooth_mm * (1 + GRAIN) < min_mm) continue;
      const pixel = r * window.cols + c;
      const grain = 1 + GRAIN * (2 * uniformOf(key, pixel) - 1);
      const value = Math.min(MAX_TENTHS, Math.round(10 * smooth_mm * grain));
      if (value >= 10 * min_mm && covered[pixel] === 1 && value > (tenths.get(pixel) ?? 0)) tenths.set(pixel, value);
    }
  }
}

/** Segment of a date that the climate wrote: no scans, only their sum. */
const COVERAGE: SegmentSpan = { segment: 'climate', first_scan: null, last_scan: null };
/** The history of detections reaches back this far: a date begins with the scans of so long before it. */
const WARM_UP_MS = 30 * 60_000;
/** Detections in memory before they are put down. */
const PART_ROWS = 100_000;

type Values = Readonly<Record<string, unknown>>;
type TableContent = Parameters<typeof stageTable>[3];

/** Which simulated dates to publish. */
interface Climate {
  readonly seed: number;
  readonly first_date: string;
  readonly dates: number;
}

/**
 * Publishes years of simulated daily hail straight into the tables: detections and day maxima of every date, tiers, event
 * days, and the months joined, for tests at scale. The fields are the simulator's cores without the echo around them; what
 * is made of them is what the stages make of any scan without companions. No cells, tracks or tiles are made.
 * Yields the number of detections of each date once it is published.
 */
export async function* publishClimate(root: Root, { seed, first_date, dates }: Climate, now_ms: number) {
  const all = Array.from({ length: dates }, (_, index) => addDays(first_date, index));
  const scenario = climateScenario(seed, WSR88D);
  for (const storm_date of all) {
    const files = await stageDate(root, scenario, storm_date);
    await publishFiles(root, storm_date, 'simulated', files, now_ms);
    yield { detections: files.find(({ entry }) => entry.table === detections.name)?.entry.rows ?? 0 };
  }
  for (const month of new Set(all.map(monthOf))) await compactMonth(root, month, now_ms);
}

/** Makes the detections and the day maximum of a date, as a closed date has them; tables without rows are left out. */
async function stageDate(root: Root, scenario: Scenario, storm_date: string): Promise<StagedFile[]> {
  const from_ms = stormDateStart(storm_date, 0);
  const maximum = emptyDayMaximum();
  const parts: StagedFile[] = [];
  let waiting: Detection[] = [];
  const putDown = async () => {
    parts.push(await stagePart(root, storm_date, detections, waiting, parts.length));
    waiting = [];
  };
  let history = emptyDetectionHistory;
  for (const time_ms of scanTimes(scenario.seed, from_ms - WARM_UP_MS, from_ms + MS_PER_DAY)) {
    const input = scanOfMesh(time_ms, climateField(scenario, time_ms, CELL_GROW_MM), true);
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
