import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openRoot } from '../../pipeline/publish/open-root.ts';
import { publishClimate } from './publish-climate.ts';

/** One spring month, long over. */
const MAY = { seed: 7, first_date: '2025-05-01', dates: 31 };
const NOW_MS = Date.parse('2026-01-01T00:00:00Z');

/** A month of simulated climate: rows per second straight into the published tables. */
export async function climate(): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'hail-bench-climate-'));
  const root = await openRoot(folder, 'bench', 0, NOW_MS);
  const started = performance.now();
  let detections = 0;
  try {
    for await (const day of publishClimate(root, MAY, NOW_MS)) detections += day.detections;
  } finally {
    await root.close();
    await rm(folder, { recursive: true, force: true });
  }
  const s = (performance.now() - started) / 1000;
  console.log(
    `climate: ${MAY.dates} days, ${detections} detections in ${s.toFixed(1)} s = ${Math.round(detections / s)} rows/s, ${(s / MAY.dates).toFixed(2)} s a day`,
  );
}
