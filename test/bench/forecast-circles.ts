import { readdirSync, readFileSync } from 'node:fs';
import { BadInput } from '../../pipeline/error.ts';
import { hourlyForecast } from '../../pipeline/forecast/hourly.ts';
import { cellHour } from '../../pipeline/forecast/model-cells.ts';
import { parseGrib2 } from '../../pipeline/grib2/index.ts';
import { readModelHour } from '../../pipeline/read/model-hour.ts';
import { simulatedModelHours } from '../../pipeline/simulate/model-hours.ts';
import { stormAt, stormsBetween } from '../../pipeline/simulate/storms.ts';
import { isInWindow, plainsScenario } from '../../pipeline/simulate/weather.ts';
import { CONUS_CELLS } from '../../schemas/geo/geohash4.ts';
import { WSR88D } from '../../schemas/reference/wsr88d.ts';
import { MS_PER_HOUR, MS_PER_MIN, timestamp } from '../../schemas/time.ts';
import { hourRows } from '../support/data/hour-rows.ts';
import { compositeHour, SEVERE_MESH_MM, stormDays } from '../support/data/real-hours.ts';
import { cellsNear, circlesOf, expectedCircles, filledCircles, usualCircles } from '../support/data/report-circles.ts';
import { hasSharedData, sharedData } from '../support/data/shared-folder.ts';

const sum = (values: readonly number[]) => values.reduce((total, value) => total + value, 0);

/**
 * For every model file at hand, and for real fields that stand for one: how many circles of 40 km with severe hail the hourly
 * forecast expects, beside those that the climatology of reports has in such an hour, and beside what was seen.
 */
export function forecastCircles(): void {
  console.log(
    'forecast: circles of 40 km with hail of 25 mm in an hour, expected and usual by the climatology of reports',
  );
  if (hasSharedData) {
    composite();
    spring();
    modelFiles();
  } else console.log('  real fields: need ../shared/data, which is absent');
  simulatedEvening();
}

function composite(): void {
  const hour = compositeHour();
  const [{ circles } = { circles: Number.NaN }] = circlesOf([hour]);
  console.log(
    `  composite reflectivity of radars, ${timestamp(hour.valid_time)}: expected ${circles.toFixed(2)}, usual ${usualCircles(hour.valid_time).toFixed(2)}`,
  );
}

function spring(): void {
  const days = stormDays().map(({ date, hours, seen }) => {
    const found = circlesOf(hours);
    const usual = sum(found.map(({ valid_time }) => usualCircles(valid_time)));
    return {
      date,
      expected: sum(found.map(({ circles }) => circles)),
      most: Math.max(...found.map(({ circles }) => circles)),
      usual,
      seen: sum(seen.map(filledCircles)),
      seen_most: Math.max(...seen.map(filledCircles)),
    };
  });
  for (const { date, expected, most, usual, seen, seen_most } of days)
    console.log(
      `  rotating storms of a 3 km model, ${date}: expected ${expected.toFixed(1)} a day (largest hour ${most.toFixed(1)}), usual ${usual.toFixed(1)}, radars saw ${seen.toFixed(1)} of MESH >= ${SEVERE_MESH_MM} mm (${seen_most.toFixed(1)})`,
    );
  const mean = (of: (day: (typeof days)[number]) => number) => (sum(days.map(of)) / days.length).toFixed(1);
  console.log(
    `  mean of ${days.length} days: expected ${mean(({ expected }) => expected)}, usual ${mean(({ usual }) => usual)}, radars saw ${mean(({ seen }) => seen)}`,
  );
}

function modelFiles(): void {
  for (const name of readdirSync(sharedData('forecast'))) {
    const model = /hrrr|nam|gfs/.exec(name)?.[0];
    if (model === undefined) continue;
    const bytes = readFileSync(sharedData('forecast', name));
    const [{ reference_time: run_time, valid_time }] = parseGrib2(bytes, name);
    if (valid_time === null) throw new Error(`${name} has no valid time`);
    try {
      const { hour } = readModelHour([{ bytes, subject: name }], { model, run_time, valid_time });
      const { reflectivity_dbz, updraft_helicity_m2_s2 } = hour.fields;
      if (!reflectivity_dbz && !updraft_helicity_m2_s2)
        console.log(`  ${name}: no reflectivity and no updraft helicity, so it says nothing of storms`);
      else {
        const circles = circlesOf([cellHour(hour, CONUS_CELLS)]).map((each) => each.circles.toFixed(2));
        console.log(`  ${name}: expected ${circles.join()}, usual ${usualCircles(valid_time).toFixed(2)}`);
      }
    } catch (error) {
      if (!(error instanceof BadInput)) throw error;
      console.log(`  ${name}: not read, ${error.message}`);
    }
  }
}

/** The evening that `make ingest` shows, at this instant and with this seed. */
const EVENING_MS = Date.parse('2026-05-21T00:00:00Z');
const SEED = 7;
const EVENING_HOURS = 6;
const LOOK_MS = 6 * MS_PER_MIN;

function simulatedEvening(): void {
  const scenario = plainsScenario(SEED, WSR88D);
  const hours = simulatedModelHours(scenario, EVENING_MS);
  const found = hourRows(
    hourlyForecast({ model: 'hrrr', hours, after: EVENING_MS, count: EVENING_HOURS, climatology: null }),
  );
  for (const rows of found) {
    const { valid_time } = rows[0] ?? { valid_time: Number.NaN };
    const storms = Array.from({ length: MS_PER_HOUR / LOOK_MS }, (_, k) => valid_time - k * LOOK_MS).flatMap(
      (time_ms) => stormsBetween(scenario, time_ms, time_ms).map((storm) => stormAt(storm, time_ms)),
    );
    const truth = cellsNear(storms.filter((storm) => storm.peak_mm >= SEVERE_MESH_MM && isInWindow(scenario, storm)));
    const near = rows.filter(({ geohash4 }) => truth.has(geohash4));
    const mean = (of: typeof rows) => sum(of.map(({ hail_probability }) => hail_probability ?? 0)) / of.length;
    console.log(
      `  simulated evening, ${timestamp(valid_time)}: expected ${expectedCircles(rows).toFixed(1)}, usual ${usualCircles(valid_time).toFixed(2)}, simulated ${filledCircles(truth).toFixed(1)}; mean probability ${mean(near).toFixed(2)} within 40 km of hail, ${mean(rows).toFixed(2)} everywhere`,
    );
  }
}
