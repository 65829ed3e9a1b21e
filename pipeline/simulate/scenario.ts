import { LATTICES, type Window, wholeWindow } from '../../schemas/geo/lattice.ts';
import type { Position } from '../../schemas/geo/position.ts';

export const DAY_TYPES = ['quiet', 'pulse', 'marginal', 'supercell', 'qlcs', 'outbreak'] as const;
export type DayType = (typeof DAY_TYPES)[number];

/** Parameters of the weather and its observation; with the time they determine every value. */
export interface Scenario {
  /** Any whole number; another seed gives other weather. */
  readonly seed: number;
  /** Observed window. The weather does not depend on it unless `steady` places the storms in it. */
  readonly window: Window;
  /** Type of every day; `climate` draws one per convective day by season. */
  readonly day_type: DayType | 'climate';
  /**
   * True: storms form in the window at every hour of the day in May conditions, so that any three hours have some.
   * False: storms over the whole CONUS, with the diurnal cycle and the season.
   */
  readonly steady: boolean;
  /** Radar sites; beyond 230 km of all of them there is no coverage. */
  readonly sites: readonly Position[];
}

/** Southern and central Plains, 32-40 N, 103-93 W: the window of the default evening. */
export const PLAINS: Window = { lattice: LATTICES.conus, row0: 1500, col0: 2700, rows: 800, cols: 1000 };

/** The whole CONUS lattice. */
export const CONUS: Window = wholeWindow(LATTICES.conus);

/** The default regional evening: storms of all kinds at any time. */
export function defaultScenario(seed: number, sites: readonly Position[]): Scenario {
  return { seed, window: PLAINS, day_type: 'supercell', steady: true, sites };
}

/** The full CONUS grid with days of one type, or with the seasons of the climate. */
export function conusScenario(seed: number, day_type: Scenario['day_type'], sites: readonly Position[]): Scenario {
  return { seed, window: CONUS, day_type, steady: false, sites };
}

/** True for a position in the window of a scenario. */
export function isInWindow({ window }: Scenario, { lat, lon }: Position): boolean {
  const row = (55 - lat) * 100 - window.row0;
  const col = (lon + 130) * 100 - window.col0;
  return row >= 0 && col >= 0 && row < window.rows && col < window.cols;
}
