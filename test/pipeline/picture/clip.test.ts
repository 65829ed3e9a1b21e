import test from 'ava';
import { clipRing, type Pixel, visibleParts } from '../../../pipeline/picture/clip.ts';

const AREA = { x: 10, y: 20, width: 100, height: 50 };

test('of a line only what may show is left, in as many parts as it has there', (t) => {
  const line: Pixel[] = [
    [0, 0],
    [5, 5],
    [20, 30],
    [30, 40],
    [200, 40],
    [300, 40],
    [50, 80],
    [50, 60],
    [60, 60],
  ];
  t.deepEqual(visibleParts(line, AREA), [
    [
      [5, 5],
      [20, 30],
      [30, 40],
      [200, 40],
    ],
    [
      [300, 40],
      [50, 80],
      [50, 60],
      [60, 60],
    ],
  ]);
});

test('a line that crosses the view without a corner in it is kept, one beyond a side is not', (t) => {
  t.deepEqual(
    visibleParts(
      [
        [0, 40],
        [200, 40],
      ],
      AREA,
    ),
    [
      [
        [0, 40],
        [200, 40],
      ],
    ],
  );
  t.deepEqual(
    visibleParts(
      [
        [0, 80],
        [200, 80],
      ],
      AREA,
    ),
    [],
  );
});

test('a ring inside the view is left as it is', (t) => {
  const ring: Pixel[] = [
    [20, 30],
    [40, 30],
    [40, 60],
  ];
  t.deepEqual(clipRing(ring, AREA), ring);
});

test('a ring around the view becomes the view, one beside it nothing', (t) => {
  const around: Pixel[] = [
    [0, 0],
    [500, 0],
    [500, 500],
    [0, 500],
  ];
  t.deepEqual(clipRing(around, AREA).map(String).sort(), ['10,20', '10,70', '110,20', '110,70']);
  t.deepEqual(
    clipRing(
      around.map(([x, y]): Pixel => [x + 600, y]),
      AREA,
    ),
    [],
  );
});

test('a ring that reaches out of the view is cut where it crosses its side', (t) => {
  t.deepEqual(
    clipRing(
      [
        [100, 30],
        [120, 30],
        [120, 40],
        [100, 40],
      ],
      AREA,
    ),
    [
      [100, 30],
      [110, 30],
      [110, 40],
      [100, 40],
    ],
  );
});
