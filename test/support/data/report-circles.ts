import { diurnalShare } from '../../../pipeline/forecast/diurnal-climatology.ts';
import { hourlyForecast } from '../../../pipeline/forecast/hourly.ts';
import type { CellHour } from '../../../pipeline/forecast/model-cells.ts';
import { cellAreaKm2 } from '../../../schemas/geo/area.ts';
import { roughDistanceKm } from '../../../schemas/geo/distance.ts';
import { CONUS_CELLS, GEOHASH4_LAT_DEG, GEOHASH4_LON_DEG } from '../../../schemas/geo/geohash4.ts';
import type { Position } from '../../../schemas/geo/position.ts';
import { MS_PER_HOUR } from '../../../schemas/time.ts';
import { hourRows } from './hour-rows.ts';

/**
 * Severe hail reports of a mean year, 1955-2009: 4654, of 19 mm and more. Those of 25 mm and more have become as many since:
 * 5601, 5396, 4611, 3763, 6962 and 5373 in six of the years from 2016 to 2024 (Storm Prediction Center).
 */
const REPORTS_A_YEAR = 4654;

/** Share of each month, January first: May as reported 1955-2009, 60 % from April to July, the rest judgement. */
const MONTH_SHARES = [0.015, 0.03, 0.09, 0.12, 0.232, 0.14, 0.108, 0.09, 0.065, 0.05, 0.035, 0.025];

/** Reports in one circle of 40 km and one hour: 278 reports of three days of the Storm Prediction Center fill 162. */
export const REPORTS_A_CIRCLE = 1.7;

/** Longitude around which the reports lie. */
const REPORTS_LON = -95;
/** The reports of an average year have an average month: 365.25 / 12 days. */
const DAYS_A_MONTH = 30.44;

/** Radius of "within 40 km", and the area that one report fills. */
const NEAR_KM = 40;
const CIRCLE_KM2 = Math.PI * NEAR_KM ** 2;

/** Circles with severe reports in the hour that ends at `valid_time`, by the climatology of reports. */
export function usualCircles(valid_time: number): number {
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
export function expectedCircles(
  rows: Iterable<{ readonly geohash4: string; readonly hail_probability: number | null }>,
): number {
  let circles = 0;
  for (const { geohash4, hail_probability } of rows)
    circles += (CIRCLES_OF_CELL.get(geohash4) ?? 0) * (hail_probability ?? 0);
  return circles;
}

/** Cells within 40 km of any of these places. */
export function cellsNear(places: readonly Position[]): Set<string> {
  const near = CONUS_CELLS.filter((cell) =>
    // The first comparison spares most of the distances.
    places.some((place) => Math.abs(cell.lat - place.lat) < 0.4 && roughDistanceKm(cell, place) <= NEAR_KM),
  );
  return new Set(near.map(({ geohash4 }) => geohash4));
}

/** Circles that these cells fill. */
export function filledCircles(cells: Iterable<string>): number {
  return expectedCircles(Array.from(cells, (geohash4) => ({ geohash4, hail_probability: 1 })));
}

/** Circles that the forecast expects in each hour of some runs, in order of time. */
export function circlesOf(hours: readonly CellHour[]): { readonly valid_time: number; readonly circles: number }[] {
  const after = Math.min(...hours.map(({ valid_time }) => valid_time)) - MS_PER_HOUR;
  const count = (Math.max(...hours.map(({ valid_time }) => valid_time)) - after) / MS_PER_HOUR;
  return hourRows(hourlyForecast({ model: 'hrrr', hours, after, count, climatology: null })).map((rows) => ({
    valid_time: rows[0]?.valid_time ?? Number.NaN,
    circles: expectedCircles(rows),
  }));
}
