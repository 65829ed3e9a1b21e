import test from 'ava';
import { mapProjection, POINTS_PER_MILE } from '../../../api/pdf/event-map.ts';
import { destination } from '../../../schemas/geo/distance.ts';
import { METRES_PER_MILE } from '../../../schemas/units.ts';

for (const point of [
  { lat: 24.55, lon: -81.8 },
  { lat: 39.11423, lon: -94.62752 },
  { lat: 49.9, lon: -123 },
])
  test(`on a map at ${point.lat} N what is 3 and 5 miles away stands on its ring, in its direction`, (t) => {
    const spotOf = mapProjection(point, { x: 0, y: 0 });
    for (const miles of [3, 5])
      for (const bearing_deg of [0, 45, 90, 135, 180, 225, 270, 315]) {
        const { x, y } = spotOf(destination(point, bearing_deg, (miles * METRES_PER_MILE) / 1000));
        // Half a thousandth of the distance is a tenth of a line's width on paper.
        t.true(Math.abs(Math.hypot(x, y) / (miles * POINTS_PER_MILE) - 1) < 5e-4, `${miles} mi, ${bearing_deg}`);
        const drawn_deg = ((Math.atan2(x, -y) * 180) / Math.PI + 360) % 360;
        const off_deg = Math.abs(((drawn_deg - bearing_deg + 540) % 360) - 180);
        t.true(off_deg < 0.2, `${bearing_deg} drawn at ${drawn_deg}`);
      }
  });
