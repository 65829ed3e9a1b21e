import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openRoot } from '../../pipeline/publish/open-root.ts';
import { publishClimate } from './publish-climate.ts';

const CLIMATE = { seed: 7, density: 1, first_date: '2025-04-15', dates: 60, storm_day_start_hour: 0 };
const NOW_MS = Date.parse('2026-01-01T00:00:00Z');

/** A data root with a simulated season, for benches without --data: enough to see the shape, not the size. To be removed. */
export async function simulatedSeason(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'hail-bench-season-'));
  const root = await openRoot(folder, 'bench', 0, NOW_MS);
  for await (const _ of publishClimate(root, CLIMATE, NOW_MS));
  await root.close();
  return folder;
}
