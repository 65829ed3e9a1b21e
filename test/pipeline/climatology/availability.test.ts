import test from 'ava';
import { availableCells } from '../../../pipeline/climatology/availability.ts';
import { conusCells } from '../../../pipeline/climatology/risk-cells.ts';
import { detectionQuality } from '../../../schemas/geo/beam.ts';
import { destination } from '../../../schemas/geo/distance.ts';
import { hailDayFreezingLevelKm } from '../../../schemas/reference/freezing-level.ts';
import { WSR88D } from '../../../schemas/reference/wsr88d.ts';

test('places that are taken for granted see as well as the quality says', (t) => {
  const places = conusCells().cells.filter((_, index) => index % 97 === 0);
  const found = availableCells(places, WSR88D, null);
  for (const [index, place] of places.entries()) {
    const { hdqi } = detectionQuality(place, {
      sites: WSR88D,
      freezing_level_km: hailDayFreezingLevelKm(place.lat, 5),
    });
    t.is(found[index], hdqi >= 0.3 ? 1 : 0, `${place.geohash4} ${hdqi}`);
  }
});

const SITE = { id: 'KAAA', lat: 40, lon: -100, antenna_m: 500, ground_m: 470 };

test('a radar makes places available to about 210 km, and those behind a mountain not', (t) => {
  const at = (km: number) => destination(SITE, 90, km);
  t.deepEqual([...availableCells([at(60), at(180), at(225), at(300)], [SITE], null)], [1, 1, 0, 0]);
  const wall = { radars: new Set(['KAAA']), blocked: () => 1 };
  t.deepEqual([...availableCells([at(60), at(180)], [SITE], wall)], [0, 0]);
});
