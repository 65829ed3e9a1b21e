import { hourlyForecast } from '../../pipeline/forecast/hourly.ts';
import { cellHour } from '../../pipeline/forecast/model-cells.ts';
import { readModelHour } from '../../pipeline/read/model-hour.ts';
import { CONUS_CELLS } from '../../schemas/geo/geohash4.ts';
import { MS_PER_HOUR } from '../../schemas/time.ts';
import { hourRows } from '../support/data/hour-rows.ts';
import { LOW_AIR, type ModelFieldSpec, UPDRAFT, WHOLE_AIR, writeModelField } from '../support/data/model-file.ts';
import { timeOurs } from './peers.ts';

/** HRRR's own grid: 1799 x 1059 points, 3 km apart. */
const HRRR = { cols: 1799, rows: 1059, first_lat_udeg: 21_138_123, first_lon_udeg: 237_280_472, step_m: 3000 } as const;
const RUN = Date.parse('2026-05-01T18:00:00Z');
const GOAL_MS = 2000;

/** A field of waves of all lengths, with as many bits as the real ones have. */
function waves(low: number, high: number): Float32Array {
  return Float32Array.from({ length: HRRR.cols * HRRR.rows }, (_, k) => {
    const [i, j] = [k % HRRR.cols, Math.floor(k / HRRR.cols)];
    const wave =
      Math.sin(i / 90) * Math.cos(j / 70) + 0.3 * Math.sin(i / 7 + j / 5) + 0.1 * Math.sin(i * 1.7 + j * 2.3);
    return low + ((wave + 1.4) / 2.8) * (high - low);
  });
}

const FIELDS: readonly ModelFieldSpec[] = [
  { name: 'REFC', parameter: [0, 16, 196], ...WHOLE_AIR, decimals: 1, values: waves(-20, 65) },
  { name: 'MXUPHL', parameter: [0, 7, 199], ...UPDRAFT, decimals: 1, values: waves(0, 180) },
  { name: 'CAPE', parameter: [0, 7, 6], ...LOW_AIR, decimals: 0, values: waves(0, 4500) },
];

/** Three fields of a synthetic hour at HRRR's size, from the bytes of the file to rows for every cell of CONUS. */
export async function forecast(): Promise<void> {
  const bytes = Buffer.concat(FIELDS.map((field) => writeModelField(HRRR, RUN, 1, field)));
  const claim = { model: 'hrrr', run_time: RUN, valid_time: RUN + MS_PER_HOUR };
  let rows = 0;
  let cpu_ms = 0;
  const ms = await timeOurs(() => {
    const before = process.cpuUsage();
    const { hour } = readModelHour([{ bytes, subject: 'hour' }], claim);
    const hours = [cellHour(hour, CONUS_CELLS)];
    rows = hourRows(hourlyForecast({ model: 'hrrr', hours, after: RUN, count: 1, climatology: null })).flat().length;
    const { user, system } = process.cpuUsage(before);
    cpu_ms = (user + system) / 1000;
  });
  const verdict = ms <= GOAL_MS ? 'met' : 'missed';
  console.log(
    `forecast: 3 fields of ${HRRR.cols} x ${HRRR.rows} (${(bytes.length / 1e6).toFixed(1)} MB) to ${rows} cells: ${ms.toFixed(0)} ms (last run ${cpu_ms.toFixed(0)} ms of processor), goal ${GOAL_MS} ms ${verdict}`,
  );
}
