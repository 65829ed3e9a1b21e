import test from 'ava';
import { placeQuality } from '../../../pipeline/detect/quality.ts';
import { latRow, lonCol } from '../../../schemas/geo/lattice.ts';

const JUNE = Date.UTC(2026, 5, 15);
const at = (lat: number, lon: number, time_ms = JUNE) => placeQuality(latRow(lat), lonCol(lon), time_ms, null);

test('pixels of one 0.1 degree block share their quality', (t) => {
  t.is(at(35.5, -97.3), at(35.45, -97.25));
  t.not(at(35.5, -97.3), at(35.5, -97.45));
});

test('60 km from the radar of Oklahoma City detection is better than far out at sea', (t) => {
  t.true(at(35.33, -96.6).hdqi > 0.8);
  t.is(at(31, -125).hdqi, 0);
});

test('the freezing level follows the month, on a hail day', (t) => {
  t.true(Math.abs(at(39.95, -95, Date.UTC(2026, 0, 1)).freezing_level_km - (1.5 + 0.011 + 0.4)) < 0.02);
  t.true(Math.abs(at(39.95, -95, JUNE).freezing_level_km - (4.2 + 0.2)) < 0.02);
});

test('over high ground the freezing level is close to the ground: about 2.5 km at Denver in June', (t) => {
  const { freezing_above_ground_km } = at(39.8, -104.6);
  t.true(freezing_above_ground_km > 2.4 && freezing_above_ground_km < 2.9, `${freezing_above_ground_km}`);
});
