import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openRoot } from '../../pipeline/publish/root.ts';
import { publishClimate } from '../../pipeline/run/climate.ts';

/** Years of simulated climate: rows per second straight into the published tables, over one spring month. */
export async function climate(): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'hail-bench-climate-'));
  try {
    const now = Date.parse('2026-01-01T00:00:00Z');
    const may = { seed: 7, density: 1, first_date: '2025-05-01', dates: 31, storm_day_start_hour: 0 };
    const root = await openRoot(folder, 'bench', 0, now);
    const started = performance.now();
    let detections = 0;
    for await (const day of publishClimate(root, may, now)) detections += day.detections;
    const s = (performance.now() - started) / 1000;
    await root.close();
    console.log(
      `climate: 31 days, ${detections} detections in ${s.toFixed(1)} s = ${Math.round(detections / s)} rows/s, ${(s / 31).toFixed(2)} s a day`,
    );
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
