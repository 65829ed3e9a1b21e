import test from 'ava';
import { eventDay } from '../../../pipeline/derive/event-days.ts';
import { pixelAreaKm2 } from '../../../schemas/geo/lattice.ts';
import { EventDay } from '../../../schemas/tables/event-days.ts';
import { drawPixels } from '../../pixels.ts';
import { DAY, DAY_MS, dayMaxRow } from '../../rows.ts';

const ONE_STORM = { storm_date: DAY, cell_count: 1 };

test('a day below 19 mm is no event day', (t) => t.is(eventDay([dayMaxRow({ max_mm: 18.9 })], ONE_STORM), null));

test('interpolated pixels make no event day and do not widen one', (t) => {
  const filled = dayMaxRow({
    col: 3400,
    max_mm: 40,
    interpolated: true,
    detection_scans: 0,
    first_detected: null,
    last_detected: null,
  });
  t.is(eventDay([filled], ONE_STORM), null);
  const seen = dayMaxRow({ max_mm: 20 });
  t.deepEqual(eventDay([seen, filled], ONE_STORM), eventDay([seen], ONE_STORM));
});

test('one pixel is its own box', (t) => {
  const event = eventDay([dayMaxRow({ max_mm: 20 })], ONE_STORM);
  t.is(event?.hull, 'POLYGON ((-100 39.99, -99.99 39.99, -99.99 40, -100 40, -100 39.99))');
  t.true(Math.abs((event?.affected_area_km2 as number) / pixelAreaKm2(1500) - 1) < 1e-6);
});

test('detections, times and size are those of the whole day, the hull that of pixels from 19 mm on', (t) => {
  const { rows, cols } = drawPixels(`
    1 . . 1
    . . . .
    . . 1 .`);
  const severe = rows.map((row, i) =>
    dayMaxRow({
      row,
      col: cols[i] as number,
      max_mm: 20 + i,
      detection_scans: 3,
      first_detected: DAY_MS + 10 * i,
      last_detected: DAY_MS + 100,
    }),
  );
  const early = dayMaxRow({
    row: 1600,
    max_mm: 12,
    detection_scans: 2,
    first_detected: DAY_MS - 5,
    last_detected: DAY_MS + 200,
  });
  const event = eventDay([...severe, early], { storm_date: DAY, cell_count: 2 }) as EventDay;
  t.deepEqual(EventDay.parse(event), event);
  t.like(event, {
    cell_count: 2,
    max_size_mm: 22,
    n_detections: 11,
    first_detected: DAY_MS - 5,
    last_detected: DAY_MS + 200,
  });
  t.true(
    event.centroid_lat > 39.97 && event.centroid_lat < 40 && event.centroid_lon > -100 && event.centroid_lon < -99.96,
  );
});

test('the order of the rows changes nothing', (t) => {
  const { rows, cols } = drawPixels(`
    1 . 1 1
    1 1 . 1`);
  const day = rows.map((row, i) => dayMaxRow({ row, col: cols[i] as number, max_mm: 20 }));
  t.deepEqual(eventDay(day.toReversed(), ONE_STORM), eventDay(day, ONE_STORM));
});
