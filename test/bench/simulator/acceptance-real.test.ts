import { readdirSync, readFileSync } from 'node:fs';
import { hailField, readGrid } from '../../../pipeline/read/mrms.ts';
import { readProbSevere } from '../../../pipeline/read/probsevere.ts';
import { sharedData, sharedTest } from '../../support/data/shared-data.ts';
import { type FieldStatistics, fieldStatistics } from './field-statistics.ts';
import { survivalCases } from './storm-statistics.ts';

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
