import type { Scenario } from '../../../pipeline/simulate/scenario.ts';
import { stormsBetween } from '../../../pipeline/simulate/storms.ts';
import { MS_PER_DAY } from '../../../schemas/time.ts';

/** Statistics of organised storms over simulated years, by month and by hour. */
export interface SeasonStatistics {
  /** Share of births between 20 and 02 UTC, and the hour (UTC) with most. */
  readonly evening_share: number;
  readonly peak_hour: number;
  /** Share of births in the main season of each region. */
  readonly south_spring_share: number;
  readonly central_may_june_share: number;
  readonly north_june_july_share: number;
}

/** Statistics of the births of organised storms over whole years, without simulating scans. */
export function measureSeasons(scenario: Scenario, first_year: number, years: number): SeasonStatistics {
  const hours = new Array<number>(24).fill(0);
  const south = new Array<number>(12).fill(0);
  const central = new Array<number>(12).fill(0);
  const north = new Array<number>(12).fill(0);
  const end_ms = Date.UTC(first_year + years, 0, 1);
  for (let day_ms = Date.UTC(first_year, 0, 1); day_ms < end_ms; day_ms += MS_PER_DAY)
    for (const storm of stormsBetween(scenario, day_ms, day_ms + MS_PER_DAY - 1)) {
      if (storm.kind === 'ordinary' || storm.birth_ms < day_ms) continue;
      const birth = new Date(storm.birth_ms);
      add(hours, birth.getUTCHours());
      const { lat, lon } = storm.origin;
      if (lat < 36 && lon < -85) add(south, birth.getUTCMonth());
      else if (lat >= 42 || lon < -101) add(north, birth.getUTCMonth());
      else if (lon < -88) add(central, birth.getUTCMonth());
    }
  return {
    evening_share: share(hours, [20, 21, 22, 23, 0, 1]),
    peak_hour: hours.indexOf(Math.max(...hours)),
    south_spring_share: share(south, [3, 4]),
    central_may_june_share: share(central, [4, 5]),
    north_june_july_share: share(north, [5, 6]),
  };
}

function add(counts: number[], at: number): void {
  counts[at] = counts[at] + 1;
}

function share(counts: readonly number[], chosen: readonly number[]): number {
  const total = counts.reduce((sum, count) => sum + count, 0);
  return chosen.reduce((sum, at) => sum + counts[at], 0) / total;
}
