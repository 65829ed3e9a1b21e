import { readdirSync, readFileSync } from 'node:fs';
import test from 'ava';
import type { Predictors } from '../../../pipeline/forecast/hail-law.ts';
import { hourlyForecast } from '../../../pipeline/forecast/hourly.ts';
import { type CellHour, cellHour } from '../../../pipeline/forecast/model-cells.ts';
import { ship } from '../../../pipeline/forecast/ship.ts';
import { gridValue } from '../../../pipeline/grid.ts';
import { readGrid } from '../../../pipeline/read/mrms.ts';
import { cellAreaKm2 } from '../../../schemas/geo/area.ts';
import { KM_PER_DEG, RAD_PER_DEG } from '../../../schemas/geo/constants.ts';
import { roughDistanceKm } from '../../../schemas/geo/distance.ts';
import { CONUS_CELLS, GEOHASH4_LAT_DEG, GEOHASH4_LON_DEG } from '../../../schemas/geo/geohash4.ts';
import { LATTICE } from '../../../schemas/geo/lattice.ts';
import type { Position } from '../../../schemas/geo/position.ts';
import { diurnalShare } from '../../../schemas/outlook-day.ts';
import { MS_PER_HOUR } from '../../../schemas/time.ts';
import { hourRows } from '../../support/data/hour-rows.ts';
import { sharedTest } from '../../support/data/shared-data.ts';
import { sharedData } from '../../support/data/shared-folder.ts';

/**
 * Severe hail reports of a mean year, 1955-2009: 4654, of 19 mm and more. Those of 25 mm and more have become as many since:
 * 5601, 5396, 4611, 3763, 6962 and 5373 in six of the years from 2016 to 2024 (Storm Prediction Center).
 */
const REPORTS_A_YEAR = 4654;

/** Share of each month, January first: May as reported 1955-2009, 60 % from April to July, the rest judgement. */
const MONTH_SHARES = [0.015, 0.03, 0.09, 0.12, 0.232, 0.14, 0.108, 0.09, 0.065, 0.05, 0.035, 0.025];

/** Reports in one circle of 40 km and one hour: 278 reports of three days of the Storm Prediction Center fill 162. */
const REPORTS_A_CIRCLE = 1.7;

/** Longitude around which the reports lie. */
const REPORTS_LON = -95;
/** The reports of an average year have an average month: 365.25 / 12 days. */
const DAYS_A_MONTH = 30.44;

/** Radius of "within 40 km", and the area that one report fills. */
const NEAR_KM = 40;
const CIRCLE_KM2 = Math.PI * NEAR_KM ** 2;

/** Circles with severe reports in the hour that ends at `valid_time`, by the climatology of reports. */
function usualCircles(valid_time: number): number {
  const begin = new Date(valid_time - MS_PER_HOUR);
  const share = MONTH_SHARES[begin.getUTCMonth()] ?? Number.NaN;
  return ((REPORTS_A_YEAR * share) / DAYS_A_MONTH / REPORTS_A_CIRCLE) * diurnalShare(begin.getUTCHours(), REPORTS_LON);
}

const CIRCLES_OF_CELL = new Map(
  CONUS_CELLS.map(({ geohash4, lat }) => [
    geohash4,
    cellAreaKm2(lat - GEOHASH4_LAT_DEG / 2, lat + GEOHASH4_LAT_DEG / 2, GEOHASH4_LON_DEG) / CIRCLE_KM2,
  ]),
);

/** Area of cells in circles, each cell counting by its probability: the circles that a forecast of an hour expects. */
function expectedCircles(
  rows: Iterable<{ readonly geohash4: string; readonly hail_probability: number | null }>,
): number {
  let circles = 0;
  for (const { geohash4, hail_probability } of rows)
    circles += (CIRCLES_OF_CELL.get(geohash4) ?? 0) * (hail_probability ?? 0);
  return circles;
}

/** Cells within 40 km of any of these places. */
function cellsNear(places: readonly Position[]): Set<string> {
  const near = CONUS_CELLS.filter((cell) =>
    // The first comparison spares most of the distances.
    places.some((place) => Math.abs(cell.lat - place.lat) < 0.4 && roughDistanceKm(cell, place) <= NEAR_KM),
  );
  return new Set(near.map(({ geohash4 }) => geohash4));
}

/** Circles that these cells fill. */
function filledCircles(cells: Iterable<string>): number {
  return expectedCircles(Array.from(cells, (geohash4) => ({ geohash4, hail_probability: 1 })));
}

/** Circles that the forecast expects in each hour of some runs, in order of time. */
function circlesOf(hours: readonly CellHour[]): { readonly valid_time: number; readonly circles: number }[] {
  const after = Math.min(...hours.map(({ valid_time }) => valid_time)) - MS_PER_HOUR;
  const count = (Math.max(...hours.map(({ valid_time }) => valid_time)) - after) / MS_PER_HOUR;
  return hourRows(hourlyForecast({ model: 'hrrr', hours, after, count, climatology: null })).map((rows) => ({
    valid_time: rows[0]?.valid_time ?? Number.NaN,
    circles: expectedCircles(rows),
  }));
}

/** Composite reflectivity as radars saw it, as if a model had foretold it for the hour: one look, and no air around it. */
function compositeHour(): CellHour {
  const name = 'MRMS_MergedReflectivityQCComposite_00.50_20220704-110040.grib2';
  const field = readGrid(readFileSync(sharedData('mrms', name)), name);
  const valid_time = Math.floor(field.scan_time / MS_PER_HOUR) * MS_PER_HOUR;
  const step_km = LATTICE.step * KM_PER_DEG;
  const grid = {
    rows: LATTICE.rows,
    cols: LATTICE.cols,
    locate: ({ lat, lon }: Position) => ({
      row: (LATTICE.north - lat) / LATTICE.step - 0.5,
      col: (lon - LATTICE.west) / LATTICE.step - 0.5,
    }),
    stepsAt: ({ lat }: Position) => ({ row_km: step_km, col_km: step_km * Math.cos(lat * RAD_PER_DEG) }),
  };
  const reflectivity_dbz = Float32Array.from(field.packed, (packed) => {
    const dbz = gridValue(field, packed);
    return dbz === field.no_coverage || dbz === field.missing ? Number.NaN : dbz;
  });
  const run_time = valid_time - MS_PER_HOUR;
  return cellHour({ run_time, valid_time, simulated: false, grid, fields: { reflectivity_dbz } }, CONUS_CELLS);
}

/** One day of a storm-resolving model's rotating storms, and of the storms that radars saw. */
interface StormDay {
  readonly date: string;
  readonly hours: readonly CellHour[];
  /** Cells within 40 km of a MESH of 29 mm or more, hour by hour. */
  readonly seen: readonly ReadonlySet<string>[];
}

/** MESH from which radars see severe hail. Source: Cintineo et al. 2012. */
const SEVERE_MESH_MM = 29;
/** Of the air the files lack the moisture of the parcel and the freezing level: a usual day of May on the Plains. */
const USUAL_AIR = { mixing_ratio_g_kg: 13, freezing_level_m: 3800 } as const;

/** The twelve days of spring 2015 in the test data of hagelslag: objects of updraft helicity of a 3 km model, hour by hour. */
function stormDays(): StormDay[] {
  const folder = sharedData('storm-objects');
  const days = readdirSync(folder).flatMap((name) => /^track_step_SSEF_(.*(\d{8}))\.csv$/.exec(name)?.slice(1) ?? []);
  return Array.from({ length: days.length / 2 }, (_, k) => {
    const [file = '', date = ''] = days.slice(2 * k, 2 * k + 2);
    const storms = Map.groupBy(csvRows(`${folder}/track_step_SSEF_${file}.csv`), validTime);
    const seen = Map.groupBy(
      csvRows(`${folder}/track_step_obs_${file}.csv`).filter((row) => Number(row.MESH_max) >= SEVERE_MESH_MM),
      validTime,
    );
    return {
      date,
      hours: [...storms].map(([valid_time, rows]) => ({ ...stormHour(rows), run_time: utcMidnight(date), valid_time })),
      seen: [...seen.values()].map((rows) => cellsNear(rows.map(placeOf))),
    };
  });
}

type Row = Readonly<Record<string, string>>;

function csvRows(path: string): Row[] {
  const [header = '', ...lines] = readFileSync(path, 'utf8').trim().split('\n');
  const names = header.split(',');
  return lines.map((line) => Object.fromEntries(line.split(',').map((value, k) => [names[k], value])));
}

function validTime({ Date: date = '' }: Row): number {
  return Date.parse(`${date.replace(' ', 'T')}Z`);
}

function placeOf(row: Row): Position {
  return { lat: Number(row.Centroid_Lat), lon: Number(row.Centroid_Lon) };
}

/** The runs begin at 00 UTC of the day in the name of their file. */
function utcMidnight(date: string): number {
  return Date.parse(date.replace(/(....)(..)(..)/, '$1-$2-$3'));
}

function stormHour(storms: readonly Row[]): Omit<CellHour, 'run_time' | 'valid_time'> {
  const none = () => new Float32Array(CONUS_CELLS.length);
  const [rotation, cape, significant] = [none(), none(), none()];
  const cells = new Map(CONUS_CELLS.map(({ geohash4 }, k) => [geohash4, k]));
  for (const storm of storms) {
    const air = {
      ...USUAL_AIR,
      cape_j_kg: Number(storm.mlcape_max),
      lapse_rate_c_km: -Number(storm.lr75_mean),
      temperature_500_c: Number(storm.tmp500_mean),
      shear_ms: 6000 * Number(storm.shr06_mean),
    };
    for (const geohash4 of cellsNear([placeOf(storm)])) {
      const k = cells.get(geohash4) ?? 0;
      rotation[k] = Math.max(rotation[k] ?? 0, Number(storm.uh_max_max));
      cape[k] = Math.max(cape[k] ?? 0, air.cape_j_kg);
      significant[k] = Math.max(significant[k] ?? 0, ship(air));
    }
  }
  const largest: Record<keyof Predictors, Float32Array | null> = {
    reflectivity_dbz: null,
    updraft_helicity_m2_s2: rotation,
    hail_mm: null,
    cape_j_kg: cape,
    ship: significant,
  };
  return { simulated: false, covered: new Uint8Array(CONUS_CELLS.length).fill(1), largest };
}

const sum = (values: readonly number[]) => values.reduce((total, value) => total + value, 0);

test('the usual circles of all hours of a year are its reports, several to a circle', (t) => {
  const hours = Array.from({ length: 365 * 24 }, (_, k) => Date.UTC(2026, 0, 1, 1) + k * MS_PER_HOUR);
  const reports = REPORTS_A_CIRCLE * sum(hours.map(usualCircles));
  t.true(Math.abs(reports / 4654 - 1) < 0.02, `${reports}`);
});

sharedTest('the composite of a July morning expects about one circle, not dozens', (t) => {
  const [{ circles } = { circles: Number.NaN }] = circlesOf([compositeHour()]);
  t.true(circles > 0.3 && circles < 1.5, `${circles}`);
});

sharedTest('twelve days of a 3 km model expect together what reports have, and less than radars saw', (t) => {
  const days = stormDays();
  t.is(days.length, 12);
  const found = days.flatMap(({ hours }) => circlesOf(hours));
  const expected = sum(found.map(({ circles }) => circles));
  const usual = sum(found.map(({ valid_time }) => usualCircles(valid_time)));
  const seen = sum(days.flatMap((day) => day.seen.map(filledCircles)));
  t.true(expected > 0.7 * usual && expected < 1.5 * usual, `${expected} ${usual}`);
  t.true(expected < seen, `${expected} ${seen}`);
});
