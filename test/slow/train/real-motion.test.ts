import { readdirSync, readFileSync } from 'node:fs';
import { findObjects } from '../../../pipeline/detect/cells.ts';
import type { HailField } from '../../../pipeline/grid.ts';
import { hailField, readGrid } from '../../../pipeline/read/mrms.ts';
import { followStorms, type StormScan } from '../../bench/simulator/follow-storms.ts';
import { stormStatistics } from '../../bench/simulator/storm-statistics.ts';
import { sharedData, sharedTest } from '../../support/data/shared-data.ts';

/** Twenty frames of rain rate, of which only what a rule picks is left. */
function frames(kept: (tenths: number) => boolean): StormScan[] {
  const names = readdirSync(sharedData('mrms-sequence')).filter((name) => name.endsWith('.grib2'));
  return names.sort().map((name) => {
    const grid = readGrid(readFileSync(sharedData('mrms-sequence', name)), name);
    const field = pick(hailField(grid), kept);
    return { scan_time: grid.scan_time, field, cells: findObjects(field, 1, 4) };
  });
}

function pick(field: HailField, kept: (tenths: number) => boolean): HailField {
  const places: number[] = [];
  const rowStart = new Uint32Array(field.rowStart.length);
  for (let row = 0; row < field.window.rows; row++) {
    for (let i = field.rowStart[row] ?? 0; i < (field.rowStart[row + 1] ?? 0); i++)
      if (kept(field.tenths[i] as number)) places.push(i);
    rowStart[row + 1] = places.length;
  }
  return {
    ...field,
    rowStart,
    col: Uint16Array.from(places, (i) => field.col[i] as number),
    tenths: Uint16Array.from(places, (i) => field.tenths[i] as number),
  };
}

for (const [what, kept, speed_kmh, direction_deg] of [
  ['rain of 50 mm/h and more', (tenths: number) => tenths >= 500, 11.5, 19.1],
  ['cores whose rate is capped for hail', (tenths: number) => tenths === 538, 13.6, 20.8],
] as const)
  sharedTest(`motion of real ${what} is off by ${direction_deg} degrees over 14 minutes`, (t) => {
    const found = stormStatistics([followStorms(frames(kept))]);
    t.true(found.motion_cases >= 30, `${found.motion_cases} cases`);
    t.true(Math.abs(found.motion_speed_kmh - speed_kmh) < 1, `${found.motion_speed_kmh} km/h`);
    t.true(Math.abs(found.motion_direction_deg - direction_deg) < 1.5, `${found.motion_direction_deg} deg`);
  });
