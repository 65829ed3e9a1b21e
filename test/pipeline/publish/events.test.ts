import test from 'ava';
import { eventDay } from '../../../pipeline/publish/day-products.ts';
import { pixelAreaKm2 } from '../../../schemas/geo/lattice.ts';
import { EventDay } from '../../../schemas/tables/derived.ts';
import { drawPixels } from '../../support/data/pixels.ts';
import { DAY, DAY_MS } from '../../support/data/rows.ts';

const FACTS: Parameters<typeof eventDay>[1] = {
  storm_date: DAY,
  cell_count: 2,
  max_size_mm: 22,
  n_detections: 9,
  first_detected: DAY_MS,
  last_detected: DAY_MS + 100,
};

test('one pixel is its own box', (t) => {
  const event = eventDay({ rows: [1500], cols: [3000] }, FACTS);
  t.is(event.hull, 'POLYGON ((-100 39.99, -99.99 39.99, -99.99 40, -100 40, -100 39.99))');
  t.true(Math.abs(event.affected_area_km2 / pixelAreaKm2(1500) - 1) < 1e-6);
});

test('an event day is what its detections add up to, with the hull of their pixels and its centre inside', (t) => {
  const event = eventDay(
    drawPixels(`
    1 . . 1
    . . . .
    . . 1 .`),
    FACTS,
  );
  t.deepEqual(EventDay.parse(event), event);
  t.like(event, FACTS);
  t.true(
    event.centroid_lat > 39.97 && event.centroid_lat < 40 && event.centroid_lon > -100 && event.centroid_lon < -99.96,
  );
});

test('the order of the pixels changes nothing, nor does one that is named twice', (t) => {
  const { rows, cols } = drawPixels(`
    1 . 1 1
    1 1 . 1`);
  const day = eventDay({ rows, cols }, FACTS);
  const turned = { rows: [...rows].reverse(), cols: [...cols].reverse() };
  t.deepEqual(eventDay(turned, FACTS), day);
  t.deepEqual(eventDay({ rows: [...rows, ...turned.rows], cols: [...cols, ...turned.cols] }, FACTS), day);
});
