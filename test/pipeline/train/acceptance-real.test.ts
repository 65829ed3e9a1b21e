import { readdirSync, readFileSync } from 'node:fs';
import { findObjects } from '../../../pipeline/detect/cells.ts';
import type { HailField } from '../../../pipeline/grid.ts';
import { hailField, readGrid } from '../../../pipeline/read/mrms.ts';
import { readProbSevere } from '../../../pipeline/read/probsevere.ts';
import { type FieldStatistics, fieldStatistics } from '../../../pipeline/train/field-statistics.ts';
import { followStorms, type StormScan } from '../../../pipeline/train/follow-storms.ts';
import { stormStatistics, survivalCases } from '../../../pipeline/train/storm-statistics.ts';
import { sharedData, sharedTest } from '../../support/data/shared-data.ts';

const read = (folder: string, name: string) => hailField(readGrid(readFileSync(sharedData(folder, name)), name));

sharedTest('the real day of 28 February 2024 has the figures that marginal days are held to', (t) => {
  const { window, rowStart, col, tenths } = read('mrms', 'MRMS_MESH_Max_1440min_00.50_20240228-100000.grib2');
  const maximum = new Map<number, number>();
  for (let row = 0; row < window.rows; row++)
    for (let i = rowStart[row] ?? 0; i < (rowStart[row + 1] ?? 0); i++)
      maximum.set(row * window.cols + (col[i] as number), tenths[i] as number);
  const day = fieldStatistics([{ window, tenths: maximum }]);
  t.deepEqual(day.quantiles_mm, [2.6, 8.9, 19.8, 32.9]);
  t.is(day.pixels, 231_856);
  const rounded: readonly (readonly [keyof FieldStatistics, number, number])[] = [
    ['weibull_shape', 0.98, 2],
    ['weibull_scale_mm', 3.8, 1],
    ['area_e_folding_mm', 4.9, 1],
    ['area_ratio_25_19', 0.32, 2],
    ['area_ratio_38_19', 0.03, 2],
    ['swath_length_median_km', 8.3, 1],
    ['swath_length_p90_km', 18.9, 1],
    ['swath_width_median_km', 3.4, 1],
    ['swath_width_p90_km', 8.2, 1],
  ];
  for (const [name, expected, digits] of rounded)
    t.is(Number((day[name] as number).toFixed(digits)), expected, `${name} ${day[name]}`);
});

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
  ['rain of 50 mm/h and more', (tenths: number) => tenths >= 500, 12.2, 27.7],
  ['cores whose rate is capped for hail', (tenths: number) => tenths === 538, 12.4, 22.6],
] as const)
  sharedTest(`motion of real ${what} is off by ${direction_deg} degrees over 14 minutes`, (t) => {
    const found = stormStatistics([followStorms(frames(kept))]);
    t.true(found.motion_cases >= 30, `${found.motion_cases} cases`);
    t.true(Math.abs(found.motion_speed_kmh - speed_kmh) < 1, `${found.motion_speed_kmh} km/h`);
    t.true(Math.abs(found.motion_direction_deg - direction_deg) < 1.5, `${found.motion_direction_deg} deg`);
  });

sharedTest('of real storms below 25 mm none of the last evening kept 19 mm for 15 minutes, of larger ones all', (t) => {
  const names = readdirSync(sharedData('probsevere')).filter((name) => name.includes('_20211011_'));
  const sizes = names.sort().flatMap((name) => {
    const { valid_time, objects } = readProbSevere(readFileSync(sharedData('probsevere', name)), name);
    return objects.flatMap(({ probsevere_id, mesh_mm }) =>
      mesh_mm === null ? [] : [{ track_id: probsevere_id, scan_time: valid_time, size_mm: mesh_mm }],
    );
  });
  const cases = survivalCases(sizes, 15, 19);
  const survived = (low: number, high: number) =>
    cases.filter(({ size_mm }) => size_mm >= low && size_mm < high).map((one) => one.survived);
  t.deepEqual(survived(19, 25), new Array(6).fill(false));
  t.deepEqual(survived(25, Number.POSITIVE_INFINITY), new Array(18).fill(true));
});
