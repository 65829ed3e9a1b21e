import test from 'ava';
import { stateBox } from '../../../api/rules/geo/us-states.ts';
import { type WatchPlace, watchBox, watchPolygons } from '../../../api/rules/watch-area.ts';

function place(fields: Partial<WatchPlace>): WatchPlace {
  return { areas: null, geometry: null, west: null, south: null, east: null, north: null, ...fields };
}

test('the box of a watch with an outline is that of its outline', (t) => {
  const outlined = place({
    geometry: 'POLYGON ((-98 35, -97 35, -97 36, -98 35))',
    ...{ west: -98, south: 35, east: -97, north: 36 },
    areas: 'TX',
  });
  t.deepEqual(watchBox(outlined), [-98, 35, -97, 36]);
  t.is(watchPolygons(outlined)[0]?.[0]?.length, 4);
});

for (const [areas, states] of [
  ['NE SD', ['NE', 'SD']],
  ['MN WI LM', ['MN', 'WI']],
  ['Eastern New Mexico, Oklahoma Panhandle', ['NM', 'OK']],
  ['PORTIONS OF WEST VIRGINIA', ['WV']],
  ['central Arkansas', ['AR']],
] as const)
  test(`without an outline the box of '${areas}' is that of ${states.join(' and ')}`, (t) => {
    const boxes = states.map(stateBox);
    t.deepEqual(watchBox(place({ areas })), [
      Math.min(...boxes.map((box) => box[0])),
      Math.min(...boxes.map((box) => box[1])),
      Math.max(...boxes.map((box) => box[2])),
      Math.max(...boxes.map((box) => box[3])),
    ]);
  });

for (const areas of [null, 'SRN PLAINS', 'LIKELY IN THE AREA OR NEARBY'])
  test(`without an outline and a state (${areas}) the box is CONUS, so that nobody misses the watch`, (t) =>
    t.deepEqual(watchBox(place({ areas })), [-125, 24, -66, 50]));

test('a watch without an outline holds in its box', (t) => {
  const [[ring] = []] = watchPolygons(place({ areas: 'KS' }));
  const [west, south] = stateBox('KS');
  t.deepEqual(ring?.[0], [west, south]);
  t.is(ring?.length, 5);
});
