import type { HailField } from '../../pipeline/grid.ts';
import { MAX_TENTHS } from '../../pipeline/simulate/column.ts';
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
import type { Scenario } from '../../pipeline/simulate/weather.ts';
import { KM_PER_DEG, KM_PER_DEG_EQUATOR } from '../../schemas/geo/constants.ts';
import { colLon, rowLat, type Window } from '../../schemas/geo/lattice.ts';

/** Amplitude of the pixel noise of hail, as a share of the core's value. */
const GRAIN = 0.15;

/**
 * MESH field >= `min_mm` of the storms of several scenarios over the same window: their cores with pixel noise, without the echo and
 * the texture of a full scan, which makes whole years feasible. Where storms overlap the larger value counts.
 */
export function climateField(
  scenarios: readonly [Scenario, ...Scenario[]],
  time_ms: number,
  min_mm: number,
): HailField {
  const { window } = scenarios[0];
  const covered = coverageOf(scenarios[0]);
  const tenths = new Map<number, number>();
  for (const scenario of scenarios)
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
