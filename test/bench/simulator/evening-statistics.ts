import { type SimulatedScan, simulateScan } from '../../../pipeline/simulate/fields.ts';
import { hailReports } from '../../../pipeline/simulate/reports.ts';
import { scanTimes } from '../../../pipeline/simulate/scan-times.ts';
import type { Scenario } from '../../../pipeline/simulate/scenario.ts';
import { stormAt, stormsBetween } from '../../../pipeline/simulate/storms.ts';
import { LATTICES, latRow, lonCol, type Window } from '../../../schemas/geo/lattice.ts';
import { MS_PER_MIN } from '../../../schemas/time.ts';
import { type FieldStatistics, fieldStatistics, quantileOf } from './field-statistics.ts';
import { type Patch, patchesOf } from './patches.ts';

/** Statistics of an evening of hail: those of its maximum field, of its scans and of its reports. */
export interface EveningStatistics extends FieldStatistics {
  readonly scans: number;
  /** Patches of at least 19 mm in one scan that reach 25 mm around them: median, and 10 and 90 %. */
  readonly core_area_km2: readonly number[];
  /** Minutes with at least 10 mm of the pixels that reach 10 mm, scans x 2 min. */
  readonly duration_median_min: number;
  readonly duration_p95_min: number;
  /** Speed of storms whose core has at least 10 mm, over scans. */
  readonly speed_median_kmh: number;
  /** Correlation of the largest MESH of storms (at least 5 mm) with itself ten minutes later. */
  readonly autocorrelation_10_min: number;
  readonly ordinary_life_mean_min: number;
  /** Hourly maxima of storms that reach 19 mm in the hour: 50 and 95 % quantiles, mm. */
  readonly hourly_peaks_mm: readonly number[];
  /** Severe (25.4 mm) reports of the ground, and significant ones (50.8 mm). */
  readonly severe_reports: number;
  readonly significant_reports: number;
}

/** Statistics of the simulated scans of [from_ms, to_ms); nothing is written. */
export function measureEvening(scenario: Scenario, from_ms: number, to_ms: number): EveningStatistics {
  const tally = emptyTally(scenario.window);
  const times = scanTimes(scenario.seed, from_ms, to_ms);
  for (const time_ms of times) countScan(tally, scenario, simulateScan(scenario, time_ms));
  const storms = stormsBetween(scenario, from_ms, to_ms);
  const reports = hailReports(scenario, from_ms, to_ms, Number.POSITIVE_INFINITY).filter(
    ({ kind }) => kind === 'first',
  );
  const sorted = (values: Iterable<number>) => [...values].sort((a, b) => a - b);
  const cores = sorted(tally.cores.map((core) => core.area_km2));
  const durations = sorted([...tally.scans_10_mm.values()].map((scans) => 2 * scans));
  const lives = storms.filter((storm) => storm.kind === 'ordinary').map((storm) => storm.life_ms / MS_PER_MIN);
  return {
    ...fieldStatistics([{ window: scenario.window, tenths: tally.maximum }]),
    scans: times.length,
    core_area_km2: [0.5, 0.1, 0.9].map((part) => quantileOf(cores, part)),
    duration_median_min: quantileOf(durations, 0.5),
    duration_p95_min: quantileOf(durations, 0.95),
    speed_median_kmh: quantileOf(sorted(tally.speeds_kmh), 0.5),
    autocorrelation_10_min: persistence(tally.peaks.values()),
    ordinary_life_mean_min: lives.reduce((sum, life) => sum + life, 0) / lives.length,
    hourly_peaks_mm: [0.5, 0.95].map((part) => quantileOf(sorted(hourlyPeaks(tally.peaks.values())), part)),
    severe_reports: reports.filter(({ size_in }) => size_in >= 1).length,
    significant_reports: reports.filter(({ size_in }) => size_in >= 2).length,
  };
}

interface Tally {
  /** Largest MESH of each pixel in tenths, and scans with at least 10 mm. */
  readonly maximum: Map<number, number>;
  readonly scans_10_mm: Map<number, number>;
  readonly cores: Patch[];
  readonly speeds_kmh: number[];
  /** Largest MESH of each storm by time. */
  readonly peaks: Map<string, Map<number, number>>;
  /** MESH of the current scan as a dense array. */
  readonly dense: Int16Array;
}

function emptyTally(window: Window): Tally {
  return {
    maximum: new Map(),
    scans_10_mm: new Map(),
    cores: [],
    speeds_kmh: [],
    peaks: new Map(),
    dense: new Int16Array(window.rows * window.cols),
  };
}

function countScan(tally: Tally, scenario: Scenario, scan: SimulatedScan): void {
  const mesh = scan.values.MESH;
  const strong: number[] = [];
  for (let i = 0; i < mesh.length; i += 1) {
    const tenths = mesh[i];
    if (tenths <= 0) continue;
    const pixel = scan.index[i];
    tally.dense[pixel] = tenths;
    if (tenths > (tally.maximum.get(pixel) ?? 0)) tally.maximum.set(pixel, tenths);
    if (tenths >= 100) tally.scans_10_mm.set(pixel, (tally.scans_10_mm.get(pixel) ?? 0) + 1);
    if (tenths >= 190) strong.push(pixel);
  }
  const cores = patchesOf(strong, scan.window);
  tally.cores.push(...cores.filter((core) => core.area_km2 >= 4));
  followStorms(tally, scenario, scan.scan_time);
  for (const pixel of scan.index) tally.dense[pixel] = 0;
}

function followStorms(tally: Tally, scenario: Scenario, time_ms: number): void {
  for (const storm of stormsBetween(scenario, time_ms, time_ms)) {
    const state = stormAt(storm, time_ms);
    const peak_mm = largestAround(tally.dense, scenario.window, state.lat, state.lon) / 10;
    if (peak_mm < 5) continue;
    if (peak_mm >= 10) tally.speeds_kmh.push(state.speed_ms * 3.6);
    const series = tally.peaks.get(storm.storm_id) ?? new Map<number, number>();
    series.set(Math.round(time_ms / (2 * MS_PER_MIN)), peak_mm);
    tally.peaks.set(storm.storm_id, series);
  }
}

/** Pixels from the centre of a storm within which its cores lie. */
const CORES_PX = 7;

/** Largest value within the cores of a storm at a position, tenths. */
function largestAround(dense: Int16Array, window: Window, lat: number, lon: number): number {
  const row = latRow(LATTICES.conus, lat) - window.row0;
  const col = lonCol(LATTICES.conus, lon) - window.col0;
  let largest = 0;
  for (let r = Math.max(0, row - CORES_PX); r <= Math.min(window.rows - 1, row + CORES_PX); r += 1)
    for (let c = Math.max(0, col - CORES_PX); c <= Math.min(window.cols - 1, col + CORES_PX); c += 1)
      largest = Math.max(largest, dense[r * window.cols + c]);
  return largest;
}

/** Largest value of each storm and hour that is severe by the older bound, 19 mm. */
function* hourlyPeaks(storms: Iterable<ReadonlyMap<number, number>>): Generator<number> {
  for (const series of storms) {
    const hours = new Map<number, number>();
    for (const [turn, peak_mm] of series) {
      const hour = Math.floor(turn / 30);
      hours.set(hour, Math.max(peak_mm, hours.get(hour) ?? 0));
    }
    yield* [...hours.values()].filter((peak_mm) => peak_mm >= 19);
  }
}

/** Pearson correlation of the largest MESH of all storms with itself five scans later. */
function persistence(storms: Iterable<ReadonlyMap<number, number>>): number {
  const LAG_SCANS = 5;
  const pairs = [...storms].flatMap((series) =>
    [...series].flatMap(([turn, now]) => {
      const later = series.get(turn + LAG_SCANS);
      return later === undefined ? [] : [[now, later] as const];
    }),
  );
  const mean = (pick: (pair: readonly [number, number]) => number) =>
    pairs.reduce((sum, pair) => sum + pick(pair), 0) / pairs.length;
  const now = mean(([a]) => a);
  const later = mean(([, b]) => b);
  const both = mean(([a, b]) => (a - now) * (b - later));
  return both / Math.sqrt(mean(([a]) => (a - now) ** 2) * mean(([, b]) => (b - later) ** 2));
}
