import { CONUS_CELLS } from '../../schemas/geo/geohash4.ts';
import { WSR88D } from '../../schemas/reference/wsr88d.ts';
import { MS_PER_HOUR } from '../../schemas/time.ts';
import { writeSimulatedStates } from '../feeds/feed-states.ts';
import { type CellHour, cellHour } from '../forecast/model-cells.ts';
import { modelFeedName } from '../forecast/model-feed.ts';
import { publishForecast } from '../forecast/publish-forecast.ts';
import type { Root } from '../publish/root.ts';
import { readModelHour } from '../read/model-hour.ts';
import { modelGridOf, simulatedHours, simulatedModelFile } from '../simulate/model-grid.ts';
import { defaultScenario, type Scenario } from '../simulate/scenario.ts';
import { OUTLOOK_FEED } from './open-feeds.ts';

/** Hours of the simulated runs published before an instant, read like those of a real model. */
function simulatedModelHours(scenario: Scenario, now_ms: number): CellHour[] {
  const grid = modelGridOf(scenario);
  return simulatedHours(now_ms).map(({ run_time, lead_h }) => {
    const { path, bytes } = simulatedModelFile(scenario, grid, run_time, lead_h);
    const claim = { model: 'hrrr', run_time, valid_time: run_time + lead_h * MS_PER_HOUR };
    return cellHour(readModelHour([{ bytes, subject: path }], claim).hour, CONUS_CELLS);
  });
}

/** Publishes the hourly forecast of the simulated model, and the outlook made with it from the other published components. */
export async function publishSimulatedForecast(root: Root, seed: number, now_ms: number): Promise<void> {
  const hours = simulatedModelHours(defaultScenario(seed, WSR88D), now_ms);
  await publishForecast(root, 'hrrr', hours, now_ms);
  await writeSimulatedStates(root, [modelFeedName('hrrr'), OUTLOOK_FEED], now_ms);
}
