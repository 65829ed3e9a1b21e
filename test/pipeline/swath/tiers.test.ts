import test from 'ava';
import { emptyMaximum, maximumRows, updateDayMaximum } from '../../../pipeline/swath/accumulate.ts';
import { drawTiers } from '../../../pipeline/swath/tiers.ts';
import { multiPolygonFromWkt } from '../../../schemas/geo/wkt.ts';
import { SIZE_BANDS } from '../../../schemas/size.ts';
import { Swath } from '../../../schemas/tables/swaths.ts';
import { REAL_DAY, realField } from '../../support/data/pixels.ts';
import { DAY, DAY_MS, dayMaxRow } from '../../support/data/rows.ts';
import { sharedTest } from '../../support/data/shared-data.ts';
import { isValidMultiPolygon } from '../../support/data/valid-multi-polygon.ts';

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
  const maximum = emptyMaximum();
  const companions = {
    posh_pct: null,
    vil_kg_m2: null,
    echo_top_18_km: null,
    echo_top_50_km: null,
    max_reflectivity_dbz: null,
  };
  updateDayMaximum(maximum, { scan_time: DAY_MS, mesh: realField(REAL_DAY), companions, detections: [], filled: [] });
  const tiers = drawTiers(maximumRows(maximum, DAY), DAY, NO_COUNTS);
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
