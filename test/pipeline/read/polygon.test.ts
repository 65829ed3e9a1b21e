import test from 'ava';
import { checkPolygon } from '../../../pipeline/read/polygon.ts';
import { feedFigures } from '../../support/data/feed-figures.ts';
import { sharedTest } from '../../support/data/shared-data.ts';

sharedTest(
  'of the polygons of four warning texts the garbled one of Louisville is refused, the others accepted',
  (t) => {
    const texts = Object.entries(feedFigures().warnings.text);
    t.is(texts.length, 4);
    for (const [name, { polygons }] of texts) {
      const checked = checkPolygon([polygons[0]!.ring_lonlat]);
      t.is(typeof checked !== 'string', polygons[0]!.valid_simple_polygon, name);
      t.is(typeof checked === 'string', name === 'SVRLMK.txt', name);
      if (typeof checked !== 'string') t.deepEqual([...checked.bbox], [...polygons[0]!.bbox], name);
    }
  },
);

test('a repeated position is no corner, and the third number of a position is no height here', (t) => {
  const ring = [
    [-98, 35, 0],
    [-97, 35, 0],
    [-97, 35, 0],
    [-97, 36, 0],
    [-98, 35, 0],
  ];
  t.deepEqual(checkPolygon([ring]), {
    geometry: 'POLYGON ((-98 35, -97 35, -97 36, -98 35))',
    bbox: [-98, 35, -97, 36],
    positions: 4,
  });
});

for (const [title, ring] of [
  [
    'over the whole globe',
    [
      [-180, -90],
      [180, -90],
      [180, 90],
      [-180, 90],
      [-180, -90],
    ],
  ],
  [
    'across the date line',
    [
      [179, 51],
      [-179, 51],
      [-179, 52],
      [179, 52],
      [179, 51],
    ],
  ],
  [
    'larger than the country',
    [
      [-130, 20],
      [-60, 20],
      [-60, 55],
      [-130, 55],
      [-130, 20],
    ],
  ],
] as const)
  test(`a polygon ${title} is refused with its span`, (t) => {
    t.regex(String(checkPolygon([ring])), /^spans \d+ degrees, expected at most 60/);
  });
