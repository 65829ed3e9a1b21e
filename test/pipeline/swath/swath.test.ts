import test from 'ava';
import type { CompanionValues, HailField } from '../../../pipeline/grid.ts';
import {
  type DayMaximum,
  dayMaxRows,
  emptyDayMaximum,
  type ScanOfDay,
  updateDayMaximum,
} from '../../../pipeline/swath/accumulate.ts';
import { advectBetween, type FilledPixel, type ScanField } from '../../../pipeline/swath/advect-between.ts';
import { drawTiers } from '../../../pipeline/swath/tiers.ts';
import { multiPolygonFromWkt } from '../../../schemas/geo/wkt.ts';
import { SIZE_BANDS } from '../../../schemas/size.ts';
import { Swath } from '../../../schemas/tables/derived.ts';
import { DayMax } from '../../../schemas/tables/radar.ts';
import { draw, drawTenths } from '../../support/data/draw.ts';
import { REAL_DAY, realField } from '../../support/data/pixels.ts';
import { DAY, DAY_MS, dayMaxRow } from '../../support/data/rows.ts';
import { sharedTest } from '../../support/data/shared-data.ts';
import { isValidMultiPolygon } from '../../support/data/valid-multi-polygon.ts';

/** A scan so many minutes into the day; sizes in tenths of a millimetre, confidence 0.01 per mm. */
function scan(minute: number, values: number[][], companions: CompanionValues = {}): ScanOfDay {
  const mesh: HailField = drawTenths(values);
  const detections = values.flatMap((line, r) =>
    line.flatMap((tenths, c) =>
      tenths >= 100 ? [{ row: 1500 + r, col: 3500 + c, confidence: Math.min(1, tenths / 1000) }] : [],
    ),
  );
  return { scan_time: DAY_MS + minute * 60_000, mesh, companions, detections, filled: [] };
}

/** A scan without hail whose storms passed over some pixels. */
function filling(...filled: ScanOfDay['filled']): ScanOfDay {
  return { ...scan(0, [[0]]), filled };
}

function maximumOf(...scans: ScanOfDay[]): DayMaximum {
  const maximum = emptyDayMaximum();
  for (const one of scans) updateDayMaximum(maximum, one);
  return maximum;
}

const minute = (time: number | null) => (time === null ? null : (time - DAY_MS) / 60_000);

test('one row per pixel from 5 mm on, with its place on the lattice', (t) => {
  const rows = dayMaxRows(maximumOf(scan(0, [[49, 50, 100]])), DAY);
  t.deepEqual(
    rows.map(({ row, col, lat, lon, geohash5, max_mm }) => ({ row, col, lat, lon, geohash5, max_mm })),
    [
      { row: 1500, col: 3501, lat: 39.995, lon: -94.985, geohash5: '9zh7w', max_mm: 5 },
      { row: 1500, col: 3502, lat: 39.995, lon: -94.975, geohash5: '9zh7w', max_mm: 10 },
    ],
  );
  for (const row of rows) t.deepEqual(DayMax.parse(row), row);
});

test('the maximum keeps its time, confidence and companions; times widen and counts add up', (t) => {
  const posh = (value: number) => ({
    posh_pct: Float32Array.of(value),
    vil_kg_m2: Float32Array.of(Number.NaN),
  });
  const rows = dayMaxRows(
    maximumOf(
      scan(2, [[120]], posh(10)),
      scan(4, [[250]], posh(60)),
      scan(6, [[190]], posh(30)),
      scan(8, [[60]], posh(0)),
    ),
    DAY,
  );
  t.is(rows.length, 1);
  const {
    max_mm,
    max_time,
    first_detected,
    last_detected,
    detection_scans,
    severe_scans,
    confidence,
    posh_pct,
    vil_kg_m2,
  } = rows[0] as DayMax;
  t.deepEqual([max_mm, minute(max_time), minute(first_detected), minute(last_detected)], [25, 4, 2, 6]);
  t.deepEqual([detection_scans, severe_scans, confidence, posh_pct, vil_kg_m2], [3, 2, 0.25, 60, null]);
});

test('below 10 mm there is no detection: no times, no counts, no confidence', (t) => {
  const [row] = dayMaxRows(maximumOf(scan(0, [[99]])), DAY) as [DayMax];
  t.deepEqual([row.first_detected, row.last_detected, row.detection_scans, row.confidence], [null, null, 0, null]);
});

test('the earliest of equal maxima counts, whichever came first', (t) => {
  const later = maximumOf(scan(6, [[200]]), scan(4, [[200]]));
  t.is(minute((dayMaxRows(later, DAY)[0] as DayMax).max_time), 4);
});

test('sizes above 150 mm are stored as 150', (t) => {
  t.is((dayMaxRows(maximumOf(scan(0, [[6800]])), DAY)[0] as DayMax).max_mm, 150);
});

test('a filled pixel is marked, and gone once a scan has seen as much', (t) => {
  const maximum = maximumOf(scan(0, [[80, 80]]));
  updateDayMaximum(
    maximum,
    filling(
      { row: 1500, col: 3500, mm: 30, time: DAY_MS + 60_000 },
      { row: 1500, col: 3501, mm: 8, time: DAY_MS + 60_000 },
    ),
  );
  const mark = (row: DayMax) => [row.col, row.max_mm, row.interpolated];
  t.deepEqual(dayMaxRows(maximum, DAY).map(mark), [
    [3500, 8, false],
    [3500, 30, true],
    [3501, 8, false],
  ]);
  updateDayMaximum(maximum, scan(10, [[310, 0]]));
  t.deepEqual(dayMaxRows(maximum, DAY).map(mark), [
    [3500, 31, false],
    [3501, 8, false],
  ]);
});

test('a filled pixel counts no scan and has no detection times', (t) => {
  const maximum = maximumOf(filling({ row: 1500, col: 3500, mm: 30, time: DAY_MS }));
  const [row] = dayMaxRows(maximum, DAY) as [DayMax];
  t.deepEqual([row.detection_scans, row.severe_scans, row.first_detected, row.confidence], [0, 0, null, null]);
});

test('rows come in squares of half a degree, then by row and column', (t) => {
  const places = [
    [49, 50],
    [0, 49],
    [50, 0],
    [49, 0],
  ] as const;
  const maximum = maximumOf(filling(...places.map(([row, col]) => ({ row, col, mm: 10, time: DAY_MS }))));
  t.deepEqual(
    dayMaxRows(maximum, DAY).map(({ row, col }) => [row, col]),
    [
      [0, 49],
      [49, 0],
      [49, 50],
      [50, 0],
    ],
  );
});

/** A scan so many minutes into the day. */
function echo(minute: number, picture: string): ScanField {
  return { scan_time: DAY_MS + minute * 60_000, mesh: draw(picture) };
}

/** Position of a pixel of a picture, from its top left corner. */
function at(row: number, col: number) {
  return { lat: 39.995 - 0.01 * row, lon: -94.995 + 0.01 * col };
}

/** Filled pixels as a picture of tens of millimetres, rounded. */
function picture(pixels: readonly FilledPixel[], rows: number, cols: number): string[] {
  return Array.from({ length: rows }, (_, r) =>
    Array.from({ length: cols }, (_, c) => {
      const pixel = pixels.find(({ row, col }) => row === 1500 + r && col === 3500 + c);
      return pixel ? String(Math.round(pixel.mm / 10)) : '.';
    }).join(' '),
  );
}

const BEFORE = `
  . . . . . . . . . .
  4 . . . . . . . . .
  . . . . . . . . . .`;
const AFTER = `
  . . . . . . . . . .
  . . . . . . . . 2 .
  . . . . . . . . . .`;
const EASTWARD = [{ from: at(1, 0), to: at(1, 8) }];

test('a storm that jumps eight pixels in eight minutes leaves a line that fades from one size to the other', (t) => {
  t.deepEqual(picture(advectBetween(echo(0, BEFORE), echo(8, AFTER), EASTWARD), 3, 10), [
    '. . . . . . . . . .',
    '. 4 4 3 3 3 3 2 . .',
    '. . . . . . . . . .',
  ]);
});

test('values pass in time order and the time is that of passing', (t) => {
  const pixels = advectBetween(echo(0, BEFORE), echo(8, AFTER), EASTWARD);
  t.deepEqual(
    pixels.map(({ time }) => (time - DAY_MS) / 60_000),
    [1, 2, 3, 4, 5, 6, 7],
  );
  t.deepEqual(
    pixels.map(({ mm }) => mm),
    [37.5, 35, 32.5, 30, 27.5, 25, 22.5],
  );
});

test('scans four minutes apart or closer are not filled', (t) => {
  t.deepEqual(advectBetween(echo(0, BEFORE), echo(4, AFTER), EASTWARD), []);
  t.not(advectBetween(echo(0, BEFORE), echo(5, AFTER), EASTWARD).length, 0);
});

test('without a storm seen in both scans nothing is filled', (t) => {
  t.deepEqual(advectBetween(echo(0, BEFORE), echo(8, AFTER), []), []);
});

test('an echo that dies on the way fades out below 5 mm', (t) => {
  const pixels = advectBetween(echo(0, BEFORE), echo(8, '. . .'), EASTWARD);
  t.deepEqual(
    pixels.map(({ mm }) => mm),
    [35, 30, 25, 20, 15, 10, 5],
  );
});

test('an echo that grew on the way is filled from nothing', (t) => {
  const pixels = advectBetween(echo(0, '. . .'), echo(8, AFTER), EASTWARD);
  t.deepEqual(
    pixels.map(({ mm }) => mm),
    [5, 7.5, 10, 12.5, 15, 17.5],
  );
});

test('each echo moves with the storm nearest to it', (t) => {
  const before = echo(
    0,
    `
    3 . . . . . .
    . . . . . . .
    . . . . . . .
    . . . . . . .
    . . . . . . 3`,
  );
  const after = echo(
    6,
    `
    . . . . . . 3
    . . . . . . .
    . . . . . . .
    . . . . . . .
    3 . . . . . .`,
  );
  const motions = [
    { from: at(0, 0), to: at(0, 6) },
    { from: at(4, 6), to: at(4, 0) },
  ];
  t.deepEqual(picture(advectBetween(before, after, motions), 5, 7), [
    '. 3 3 3 3 3 .',
    '. . . . . . .',
    '. . . . . . .',
    '. . . . . . .',
    '. 3 3 3 3 3 .',
  ]);
});

test('an echo farther than 30 km from every storm stays where it is', (t) => {
  const far = [{ from: { lat: 40.5, lon: -94.995 }, to: { lat: 40.5, lon: -94.9 } }];
  t.deepEqual(advectBetween(echo(0, BEFORE), echo(8, AFTER), far), []);
});

const NO_COUNTS = new Map(SIZE_BANDS.map((band) => [band.threshold_mm as number, 0]));

test('tiers are cumulative and inclusive, an empty one is absent', (t) => {
  const rows = [18.9, 19, 24.9, 25, 63].map((max_mm, i) => dayMaxRow({ col: 3000 + 2 * i, max_mm }));
  const tiers = drawTiers(rows, DAY, NO_COUNTS);
  t.deepEqual(
    tiers.map(({ threshold_mm, category, pixels }) => [threshold_mm, category, pixels]),
    [
      [19, 'nickel', 4],
      [25, 'quarter', 2],
      [38, 'golf_ball', 1],
      [63, 'tennis_ball', 1],
    ],
  );
  for (const tier of tiers) {
    t.deepEqual(Swath.parse(tier), tier);
    t.is(tier.max_size_mm, 63);
  }
});

test('a day below 19 mm has no tiers', (t) =>
  t.deepEqual(drawTiers([dayMaxRow({ max_mm: 18.9 })], DAY, NO_COUNTS), []));

test('interpolated pixels shape the polygon and the area, never the largest size or the times', (t) => {
  const rows = [
    dayMaxRow({ col: 3000, max_mm: 26, first_detected: DAY_MS + 1, last_detected: DAY_MS + 2 }),
    dayMaxRow({ col: 3001, max_mm: 30, interpolated: true, first_detected: null, last_detected: null }),
  ];
  const [nickel] = drawTiers(rows, DAY, NO_COUNTS);
  t.is(nickel?.pixels, 2);
  t.is(nickel?.max_size_mm, 26);
  t.deepEqual([nickel?.first_detected, nickel?.last_detected], [DAY_MS + 1, DAY_MS + 2]);
});

test('a pixel that was seen and filled is one pixel of the tier', (t) => {
  const rows = [dayMaxRow({ max_mm: 20 }), dayMaxRow({ max_mm: 30, interpolated: true })];
  const tiers = drawTiers(rows, DAY, NO_COUNTS);
  t.deepEqual(
    tiers.map(({ pixels }) => pixels),
    [1, 1],
  );
});

test('detections of a tier are the count given for its bound', (t) => {
  const counts = new Map(SIZE_BANDS.map((band, i) => [band.threshold_mm as number, 100 - i]));
  const tiers = drawTiers([dayMaxRow({ max_mm: 30 })], DAY, counts);
  t.deepEqual(
    tiers.map(({ n_detections }) => n_detections),
    [100, 99],
  );
});

test('a bound without a count is refused by name', (t) => {
  t.throws(() => drawTiers([dayMaxRow({ max_mm: 30 })], DAY, new Map([[19, 1]])), { message: /25 mm/ });
});

sharedTest('tiers of the real 24-hour maximum have the pixels and areas that independent tools found', (t) => {
  const maximum = emptyDayMaximum();
  const companions = {
    posh_pct: null,
    vil_kg_m2: null,
    echo_top_18_km: null,
    echo_top_50_km: null,
    max_reflectivity_dbz: null,
  };
  updateDayMaximum(maximum, { scan_time: DAY_MS, mesh: realField(REAL_DAY), companions, detections: [], filled: [] });
  const tiers = drawTiers(dayMaxRows(maximum, DAY), DAY, NO_COUNTS);
  t.deepEqual(
    tiers.map(({ threshold_mm, pixels, area_km2 }) => [threshold_mm, pixels, Math.round(area_km2 * 10) / 10]),
    [
      [19, 2746, 2554.3],
      [25, 882, 820.3],
      [38, 91, 85],
      [63, 3, 2.9],
      [69, 2, 1.8],
    ],
  );
  t.true(Math.abs((tiers[0]?.area_km2 as number) - 2554.3145) < 5e-5);
  t.true(Math.abs((tiers[1]?.area_km2 as number) - 820.3107) < 5e-5);
  for (const tier of tiers) {
    t.is(isValidMultiPolygon(multiPolygonFromWkt(tier.geometry)), null);
    t.is(tier.max_size_mm, 82.8);
  }
});
