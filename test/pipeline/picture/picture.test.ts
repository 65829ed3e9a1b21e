import test from 'ava';
import { clipRing, type Pixel, visibleParts } from '../../../pipeline/picture/clip.ts';
import { placeLabels } from '../../../pipeline/picture/labels.ts';
import { fitView } from '../../../pipeline/picture/map-view.ts';
import { type DayPicture, drawPicture, type ScanPicture } from '../../../pipeline/picture/picture.ts';
import { loadStates } from '../../../pipeline/picture/states.ts';
import { drawTiers } from '../../../pipeline/swath/tiers.ts';
import { distanceKm } from '../../../schemas/geo/distance.ts';
import { LATTICES } from '../../../schemas/geo/lattice.ts';
import { sizeColor } from '../../../schemas/palette.ts';
import { SIZE_BANDS } from '../../../schemas/size.ts';
import { cell, DAY, DAY_MS, dayMaxRow, trackPoint } from '../../support/data/rows.ts';

const COUNTS = new Map(SIZE_BANDS.map((band) => [band.threshold_mm as number, 1]));
const minute = (n: number) => DAY_MS + n * 60_000;
const TRACKS = [0, 1, 2].map((i) =>
  trackPoint({ scan_time: minute(2 * i), scan_count: i + 1, lon: -99.995 + 0.02 * i, estimated_size_mm: 30 + i }),
);
const BASICS = {
  data_time: minute(4),
  simulated: false,
  attribution: 'NOAA MRMS',
  tracks: TRACKS,
  bounds: [-130, 20, -60, 55] as const,
};
const DAY_DATA: DayPicture = {
  lattice: LATTICES.conus,
  kind: 'day',
  storm_date: DAY,
  swaths: drawTiers(
    [20, 26, 40].map((max_mm, i) => dayMaxRow({ col: 3000 + i, max_mm })),
    DAY,
    COUNTS,
    LATTICES.conus,
  ),
  ...BASICS,
};
const SCAN_DATA: ScanPicture = {
  lattice: LATTICES.conus,
  kind: 'scan',
  scan_time: minute(4),
  detections: [12, 22, 32].map((estimated_size_mm, i) => ({ row: 1500, col: 3000 + i, estimated_size_mm })),
  cells: [cell({ estimated_size_mm: 32, scan_time: minute(4) })],
  ...BASICS,
};

/** Visible texts of a picture. */
function texts(svg: string): string[] {
  return Array.from(svg.matchAll(/<text[^>]*>([^<]*)<\/text>/g), (match) => match[1] as string);
}

test('a day says its date, its largest hail, its source, and that it is an estimate', (t) => {
  const [title, summary, caution] = texts(drawPicture(DAY_DATA));
  t.is(title, 'Hail of 1 May 2026');
  t.is(summary, 'Largest 1.6 in (40 mm)  ·  3 km² with 0.75 in (19 mm) or more  ·  1 tracked storm');
  t.is(caution, 'Radar estimate, not a ground measurement  ·  data until 2026-05-01 00:04 UTC  ·  source: NOAA MRMS');
});

test('a scan says its time and shows detections from 10 mm on', (t) => {
  const svg = drawPicture(SCAN_DATA);
  t.is(texts(svg)[0], 'Hail at 00:04 UTC, 1 May 2026');
  for (const mm of [10, 19, 25])
    t.true(svg.includes(`fill="${sizeColor(mm).color}" stroke="${sizeColor(mm).color}"`), `${mm} mm`);
  t.false(svg.includes(`fill="${sizeColor(38).color}" stroke="${sizeColor(38).color}"`));
});

test('the legend has each size band in inches and millimetres', (t) => {
  const shown = texts(drawPicture(DAY_DATA));
  for (const { inches, threshold_mm, category } of SIZE_BANDS)
    for (const label of [`${inches.toFixed(2)} in`, `${threshold_mm} mm`, category.replace('_', ' ')])
      t.true(shown.includes(label), label);
});

test('the legend has the area at or above each size', (t) => {
  const areas = texts(drawPicture(DAY_DATA)).filter((label) => /^[\d,]+ km²$/.test(label));
  t.deepEqual(areas, ['3 km²', '2 km²', '1 km²', '0 km²', '0 km²', '0 km²']);
});

test('the storms are labelled in inches and millimetres', (t) =>
  t.true(texts(drawPicture(DAY_DATA)).includes('1.3 in · 32 mm')));

test('simulated data say so in the header and across the map, real data nowhere', (t) => {
  const simulated = drawPicture({ ...DAY_DATA, simulated: true, attribution: 'simulated' });
  t.true(texts(simulated).includes('SIMULATED · NOT REAL WEATHER'));
  t.true(texts(simulated).includes('SIMULATED'));
  t.notRegex(drawPicture(DAY_DATA), /simulated/i);
});

test('a day without hail shows the whole grid and says that there was none', (t) => {
  const shown = texts(drawPicture({ ...DAY_DATA, swaths: [], tracks: [], data_time: null }));
  t.true(shown.includes('No hail of 19 mm or more'));
  t.true(shown.some((label) => label.includes('no scans')));
  t.true(shown.includes('TEXAS'));
});

test('a box is shown instead of fitting the map to the hail', (t) => {
  const shown = texts(drawPicture(DAY_DATA, [-109.5, 36.5, -101.5, 41.5]));
  t.true(shown.includes('COLORADO'));
  t.true(shown.some((label) => label.includes('outside this map 3 km², up to 1.3 in (32 mm) at 40.0° N 100.0° W')));
  t.false(texts(drawPicture(DAY_DATA)).some((label) => label.includes('outside this map')));
  t.false(texts(drawPicture(DAY_DATA)).includes('COLORADO'));
});

test('the same rows give the same text', (t) => t.is(drawPicture(DAY_DATA), drawPicture(DAY_DATA)));

test('tags are closed and nothing is not a number', (t) => {
  for (const svg of [drawPicture(DAY_DATA), drawPicture(SCAN_DATA)]) {
    t.notRegex(svg, /NaN|undefined|Infinity|null/);
    const open = Array.from(svg.matchAll(/<([a-zA-Z]+)[^>]*[^/]>/g)).length;
    t.is(Array.from(svg.matchAll(/<\/[a-zA-Z]+>/g)).length, open);
  }
});

const AREA = { x: 24, y: 96, width: 1152, height: 720 };

for (const bbox of [
  [-130, 20, -60, 55],
  [-98, 35, -97, 36],
] as const)
  test(`all of ${bbox} lies in the area, and touches it`, (t) => {
    const view = fitView(bbox, AREA);
    const [west, south, east, north] = bbox;
    const corners = [
      view.project(west, south),
      view.project(east, south),
      view.project(west, north),
      view.project(east, north),
    ];
    for (const [x, y] of corners) t.true(x >= 23.9 && x <= 1176.1 && y >= 95.9 && y <= 816.1);
    const [width, height] = [0, 1].map(
      (axis) => Math.max(...corners.map((corner) => corner[axis])) - Math.min(...corners.map((corner) => corner[axis])),
    );
    t.true((width as number) > 1100 || (height as number) > 600);
  });

test('a pixel of the picture leads back to its position', (t) => {
  const view = fitView([-100, 30, -80, 45], AREA);
  const { lat, lon } = view.locate(...view.project(-93.21, 38.76));
  t.true(Math.abs(lat - 38.76) < 1e-9 && Math.abs(lon + 93.21) < 1e-9);
});

test('distances on a small map are true to half a percent', (t) => {
  const view = fitView([-98, 35, -97, 36], AREA);
  const [ax, ay] = view.project(-97.9, 35.1);
  const [bx, by] = view.project(-97.1, 35.9);
  const km = distanceKm({ lat: 35.1, lon: -97.9 }, { lat: 35.9, lon: -97.1 });
  t.true(Math.abs((Math.hypot(bx - ax, by - ay) * view.km_per_px) / km - 1) < 0.005);
});

test('equal areas on the globe are equal on the map', (t) => {
  const view = fitView([-125, 25, -67, 49], AREA);
  const area = (lon: number, lat: number) => {
    const ring = [
      [lon, lat],
      [lon + 0.1, lat],
      [lon + 0.1, lat + 0.1],
      [lon, lat + 0.1],
    ].map(([a, b]) => view.project(a as number, b as number));
    return (
      Math.abs(
        ring.reduce(
          (sum, [x, y], i) =>
            sum + x * (ring[(i + 1) % 4] as readonly number[])[1]! - (ring[(i + 1) % 4] as readonly number[])[0]! * y,
          0,
        ),
      ) / 2
    );
  };
  const globe = (lat: number) => Math.sin(((lat + 0.1) * Math.PI) / 180) - Math.sin((lat * Math.PI) / 180);
  t.true(Math.abs(area(-120, 47) / area(-80, 27) / (globe(47) / globe(27)) - 1) < 1e-3);
});

test('north is up in the middle of the map', (t) => {
  const view = fitView([-100, 30, -80, 45], AREA);
  const [ax, ay] = view.project(-90, 36);
  const [bx, by] = view.project(-90, 37);
  t.true(Math.abs(ax - bx) < 1e-9 && by < ay);
});

const CLIP_AREA = { x: 10, y: 20, width: 100, height: 50 };

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
  t.deepEqual(visibleParts(line, CLIP_AREA), [
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
      CLIP_AREA,
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
      CLIP_AREA,
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
  t.deepEqual(clipRing(ring, CLIP_AREA), ring);
});

test('a ring around the view becomes the view, one beside it nothing', (t) => {
  const around: Pixel[] = [
    [0, 0],
    [500, 0],
    [500, 500],
    [0, 500],
  ];
  t.deepEqual(clipRing(around, CLIP_AREA).map(String).sort(), ['10,20', '10,70', '110,20', '110,70']);
  t.deepEqual(
    clipRing(
      around.map(([x, y]): Pixel => [x + 600, y]),
      CLIP_AREA,
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
      CLIP_AREA,
    ),
    [
      [100, 30],
      [110, 30],
      [110, 40],
      [100, 40],
    ],
  );
});

const LABELS_AREA = { x: 0, y: 0, width: 200, height: 100 };
const wish = (x: number, y: number, text: string) => ({ x, y, width: 40, height: 12, text, gap: 9 });

test('a label stands to the right of its point', (t) => {
  t.deepEqual(placeLabels([wish(50, 50, 'a')], LABELS_AREA, []), [{ x: 59, y: 44, width: 40, height: 12, text: 'a' }]);
});

test('at the right edge it stands to the left', (t) => {
  t.deepEqual(placeLabels([wish(180, 50, 'a')], LABELS_AREA, []), [
    { x: 131, y: 44, width: 40, height: 12, text: 'a' },
  ]);
});

test('the second of two close labels gives way', (t) => {
  const [a, b] = placeLabels([wish(50, 50, 'a'), wish(52, 52, 'b')], LABELS_AREA, []);
  t.is(a?.x, 59);
  t.is(b?.x, 3);
});

test('an obstacle is kept free', (t) => {
  const [a] = placeLabels([wish(60, 50, 'a')], LABELS_AREA, [{ x: 65, y: 40, width: 60, height: 20 }]);
  t.is(a?.x, 11, 'left of its point');
});

test('of the places that are free, a label takes the one that hides the fewest points', (t) => {
  const seen: Pixel[] = [
    [70, 50],
    [80, 50],
    [20, 50],
  ];
  t.deepEqual(
    placeLabels([wish(50, 50, 'a')], LABELS_AREA, [], seen).map(({ x, y }) => [x, y]),
    [[30, 29]],
    'above its point',
  );
});

test('a label without room is left out', (t) => {
  t.deepEqual(placeLabels([wish(50, 50, 'a')], LABELS_AREA, [LABELS_AREA]), []);
});

test('there are fifty states, the District and five territories, each with outlines', (t) => {
  const { states } = loadStates();
  t.is(states.length, 56);
  for (const name of ['Illinois', 'Texas', 'District of Columbia']) t.true(states.some((state) => state.name === name));
  for (const { polygons } of states)
    t.true(polygons.length > 0 && polygons.every((polygon) => polygon.every((ring) => ring.length >= 4)));
});

test('Colorado spans its statutory degrees, longitude first', (t) => {
  const shell = loadStates().states.find(({ name }) => name === 'Colorado')?.polygons[0]?.[0] ?? [];
  const lons = shell.map((position) => position[0]);
  const lats = shell.map((position) => position[1]);
  for (const [found, expected] of [
    [Math.min(...lons), -109.05],
    [Math.max(...lons), -102.05],
    [Math.min(...lats), 37],
    [Math.max(...lats), 41],
  ] as const)
    t.true(Math.abs(found - expected) < 0.03, `${found}`);
});

test('a border between two states is a border, a coast is not', (t) => {
  const { borders, coasts } = loadStates();
  const near = (lines: readonly number[][][], lon: number, lat: number) =>
    lines.some((line) => line.some((position) => Math.hypot(position[0] - lon, position[1] - lat) < 0.15));
  t.true(near(borders, -109.05, 37) && !near(coasts, -109.05, 37), 'Four Corners');
  t.true(near(coasts, -80.19, 25.77) && !near(borders, -80.19, 25.77), 'Miami');
});
