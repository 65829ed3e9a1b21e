import test from 'ava';
import { coverageOf, nearestSiteKm, RADAR_RANGE_KM } from '../../../pipeline/simulate/coverage.ts';
import { distanceKm } from '../../../schemas/geo/distance.ts';
import { colLon, rowLat } from '../../../schemas/geo/lattice.ts';
import { SMALL } from '../../support/data/small-evening.ts';

const SITE = { lat: 35.33, lon: -97.28 };

test('a pixel is covered when its centre lies within 230 km of a site, within half a percent', (t) => {
  const window = { row0: 1700, col0: 2950, rows: 520, cols: 640 };
  const covered = coverageOf({ ...SMALL, window, sites: [SITE] });
  for (let row = 0; row < window.rows; row += 7)
    for (let col = 0; col < window.cols; col += 7) {
      const centre = { lat: rowLat(window.row0 + row), lon: colLon(window.col0 + col) };
      const distance_km = distanceKm(SITE, centre);
      if (Math.abs(distance_km / RADAR_RANGE_KM - 1) < 0.005) continue;
      t.is(covered[row * window.cols + col], distance_km < RADAR_RANGE_KM ? 1 : 0, `${distance_km} km`);
    }
});

test('without sites nothing is covered', (t) => {
  t.false(coverageOf({ ...SMALL, sites: [] }).includes(1));
  t.is(nearestSiteKm([], SITE), Number.POSITIVE_INFINITY);
});

test('the nearest site counts', (t) => {
  const sites = [SITE, { lat: 37.65, lon: -97.44 }];
  t.true(Math.abs(nearestSiteKm(sites, { lat: 37.2, lon: -97.44 }) - 50) < 1);
});
