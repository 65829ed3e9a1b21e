import test from 'ava';
import { boxAround } from '../../../schemas/geo/around.ts';
import { destination } from '../../../schemas/geo/distance.ts';
import { LOCAL_SLACK, localScale } from '../../../schemas/geo/local-scale.ts';

for (const lat of [20, 24.5, 35, 45, 50, 55, 60])
  for (const radius_km of [0.5, 25, 100])
    test(`at ${lat} N the local scale meets the geodesic at ${radius_km} km within its slack`, (t) => {
      const from = { lat, lon: -97.3 };
      const [west, south, east, north] = boxAround(from, radius_km);
      const scale = localScale(from, north - lat);
      for (let bearing = 0; bearing < 360; bearing += 5) {
        const to = destination(from, bearing, radius_km);
        const dy = to.lat - lat;
        const km = Math.hypot(
          (to.lon - from.lon) * (scale.east[0] + dy * (scale.east[1] + dy * scale.east[2])),
          dy * (scale.north[0] + dy * scale.north[1]),
        );
        t.true(Math.abs(km / radius_km - 1) < LOCAL_SLACK / 2, `bearing ${bearing}: ${km}`);
        t.true(to.lat > south && to.lat < north && to.lon > west && to.lon < east, 'the box holds the circle');
      }
    });

test('a box at a pole spans all longitudes', (t) => {
  t.deepEqual(boxAround({ lat: 89.9, lon: 10 }, 50).map(Math.round), [-180, 89, 180, 90]);
});
