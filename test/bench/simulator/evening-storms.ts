import { findCells } from '../../../pipeline/detect/cells.ts';
import type { HailField } from '../../../pipeline/grid.ts';
import { simulateScan } from '../../../pipeline/simulate/fields.ts';
import { scanInput } from '../../../pipeline/simulate/scan-input.ts';
import { scanTimes } from '../../../pipeline/simulate/scan-times.ts';
import type { Scenario } from '../../../pipeline/simulate/scenario.ts';
import { type FieldStatistics, fieldStatistics, type MaximumField } from './field-statistics.ts';
import { type FollowedStorm, followStorms, type StormScan } from './follow-storms.ts';
import { type StormStatistics, stormStatistics } from './storm-statistics.ts';

/** A time span of simulated weather. */
export interface SimulatedEvening {
  readonly scenario: Scenario;
  readonly from_ms: number;
  readonly to_ms: number;
}

/** Statistics of the storms of simulated evenings by the pipeline's tracker, and of their swaths; nothing is written. */
export function measureStorms(evenings: readonly SimulatedEvening[]): StormStatistics & FieldStatistics {
  const fields: MaximumField[] = [];
  const storms: FollowedStorm[][] = [];
  for (const { scenario, from_ms, to_ms } of evenings) {
    const tenths = new Map<number, number>();
    storms.push(followStorms(scansOf(scenario, from_ms, to_ms, tenths)));
    fields.push({ window: scenario.window, tenths });
  }
  return { ...stormStatistics(storms), ...fieldStatistics(fields) };
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
