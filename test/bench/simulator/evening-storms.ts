import { findCells } from '../../../pipeline/detect/cells.ts';
import type { HailField } from '../../../pipeline/grid.ts';
import { simulateScan } from '../../../pipeline/simulate/fields.ts';
import { type HailReport, hailReports } from '../../../pipeline/simulate/reports.ts';
import { scanInput } from '../../../pipeline/simulate/scan-input.ts';
import { scanTimes } from '../../../pipeline/simulate/scan-times.ts';
import type { Scenario } from '../../../pipeline/simulate/scenario.ts';
import { distanceKm } from '../../../schemas/geo/distance.ts';
import { MS_PER_MIN } from '../../../schemas/time.ts';
import { type FieldStatistics, fieldStatistics, type MaximumField, quantileOf } from './field-statistics.ts';
import { type FollowedStorm, followStorms, type StormScan } from './follow-storms.ts';
import { type StormStatistics, stormStatistics } from './storm-statistics.ts';

/** A time span of simulated weather. */
export interface SimulatedEvening {
  readonly scenario: Scenario;
  readonly from_ms: number;
  readonly to_ms: number;
}

/** Statistics of simulated evenings: of storms, of swaths, and of reports. */
export interface PlainsStatistics extends StormStatistics, FieldStatistics {
  /** Longest swath at 19 mm of an evening, median over the evenings. */
  readonly longest_swath_km: number;
  /** Share of the reports of hail with a storm cell nearby within an hour. */
  readonly reports_detected: number;
}

/** How near a storm cell must be to a report in time, and its middle in space. */
const REPORT_MIN = 60;
const REPORT_KM = 20;

/** Statistics of simulated evenings with the pipeline's cells and tracker; nothing is written. */
export function measureStorms(evenings: readonly SimulatedEvening[]): PlainsStatistics {
  const fields: MaximumField[] = [];
  const storms: FollowedStorm[][] = [];
  const detected: boolean[] = [];
  for (const { scenario, from_ms, to_ms } of evenings) {
    const tenths = new Map<number, number>();
    const followed = followStorms(scansOf(scenario, from_ms, to_ms, tenths));
    storms.push(followed);
    fields.push({ window: scenario.window, tenths });
    for (const report of hailReports(scenario, from_ms, to_ms, Number.POSITIVE_INFINITY))
      if (report.kind === 'first') detected.push(followed.some((storm) => isNear(report, storm)));
  }
  const longest = fields.map((field) => fieldStatistics([field]).swath_length_most_km).sort((a, b) => a - b);
  return {
    ...stormStatistics(storms),
    ...fieldStatistics(fields),
    longest_swath_km: quantileOf(longest, 0.5),
    reports_detected: detected.filter((isDetected) => isDetected).length / detected.length,
  };
}

function isNear(report: HailReport, storm: FollowedStorm): boolean {
  return (
    Math.abs(storm.scan_time - report.valid_ms) <= REPORT_MIN * MS_PER_MIN && distanceKm(report, storm) <= REPORT_KM
  );
}

/** Scans of an evening with their cells; each scan raises `maximum`. */
function* scansOf(
  scenario: Scenario,
  from_ms: number,
  to_ms: number,
  maximum: Map<number, number>,
): Generator<StormScan> {
  for (const scan_time of scanTimes(scenario.seed, from_ms, to_ms)) {
    const input = scanInput(simulateScan(scenario, scan_time));
    raiseMaximum(maximum, input.mesh);
    yield { scan_time, field: input.mesh, cells: findCells(input) };
  }
}

function raiseMaximum(maximum: Map<number, number>, { window, rowStart, col, tenths }: HailField): void {
  for (let row = 0; row < window.rows; row += 1)
    for (let i = rowStart[row]; i < rowStart[row + 1]; i += 1) {
      const pixel = row * window.cols + col[i] - window.col0;
      if (tenths[i] > (maximum.get(pixel) ?? 0)) maximum.set(pixel, tenths[i]);
    }
}
