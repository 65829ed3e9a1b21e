import test from 'ava';
import fc from 'fast-check';
import { nearestWithin } from '../../../api/rules/nearest.ts';
import { boundedDistanceM, pixelDistanceM, pixelsAround } from '../../../api/rules/pixel-distance.ts';
import { pointConfidence } from '../../../api/rules/point-confidence.ts';
import { NO_PRODUCTS, radarBlock } from '../../../api/rules/radar-block.ts';
import { radarCoverageOf, radarGapsOf, type Span } from '../../../api/rules/radar-coverage.ts';
import { nearestSite } from '../../../schemas/geo/beam.ts';
import { distanceKm, roughDistanceKm } from '../../../schemas/geo/distance.ts';
import { colLon, latRow, lonCol, rowLat } from '../../../schemas/geo/lattice.ts';
import type { Position } from '../../../schemas/geo/position.ts';
import { WSR88D } from '../../../schemas/reference/wsr88d.ts';
import { type DateSeenInPart, GAPS_LISTED_MAX } from '../../../schemas/resources/radar-gaps.ts';
import { poshOfShi } from '../../../schemas/size.ts';
import { MS_PER_MIN, timestamp } from '../../../schemas/time.ts';

const DATE = '2026-05-01';
const DAY_MS = Date.parse(`${DATE}T00:00:00Z`);
const at = (minute: number) => DAY_MS + minute * MS_PER_MIN;
const DAY: Span = { from_ms: at(0), to_ms: at(1440) };
const every = (minutes: number, from = 0, to = 1440) =>
  Array.from({ length: Math.ceil((to - from) / minutes) }, (_, k) => from + k * minutes);

/** Coverage of scans at these minutes; those of `blind` did not see the place. */
function ofScans(minutes: readonly number[], blind: readonly number[] = [], span = DAY, isRunning = false) {
  const times = minutes.map(at);
  return radarCoverageOf(
    { times, seen: minutes.map((minute) => Number(!blind.includes(minute))) },
    span,
    null,
    isRunning,
  );
}
function partOf(coverage: ReturnType<typeof ofScans>): DateSeenInPart | undefined {
  return radarGapsOf([], new Map([[DATE, coverage]])).dates_seen_in_part[0];
}
const clocks = (part: DateSeenInPart | undefined) =>
  part?.gaps.map(({ from, to }) => `${from.slice(11, 16)}-${to.slice(11, 16)}`);

test('24 scans of 720, one an hour, see a sixth of the date, and every gap is told', (t) => {
  const part = partOf(ofScans(every(60)));
  t.is(part?.share, 0.167);
  t.is(part?.gaps.length, 24);
  t.deepEqual(clocks(part)?.slice(0, 2), ['00:10-01:00', '01:10-02:00']);
  t.deepEqual(part?.gaps.at(-1), { from: `${DATE}T23:10:00Z`, to: '2026-05-02T00:00:00Z' });
});

test('two missing hours are told although nine tenths of the date were seen', (t) => {
  const part = partOf(ofScans([...every(2, 0, 540), ...every(2, 660, 1440)]));
  t.is(part?.share, 0.922);
  t.deepEqual(clocks(part), ['09:08-11:00']);
});

test('more than ten minutes between two scans are a gap, ten are none', (t) => {
  t.is(partOf(ofScans([...every(2, 0, 602), ...every(2, 610, 1440)])), undefined);
  t.deepEqual(clocks(partOf(ofScans([...every(2, 0, 602), ...every(2, 611, 1440)]))), ['10:10-10:11']);
});

test('a scan that does not see the place ends what the one before it stands for, and stands for nothing', (t) => {
  const minutes = every(2);
  t.is(ofScans(minutes, minutes).share, 0);
  t.deepEqual(clocks(partOf(ofScans(minutes, minutes))), ['00:00-00:00']);
  t.is(ofScans(minutes, minutes).uncovered, 720);
  t.deepEqual(clocks(partOf(ofScans(minutes, every(2, 600, 900)))), ['10:00-15:00']);
  // One scan without coverage is two minutes, which count, but no gap.
  const { share, gaps } = ofScans(minutes, [600]);
  t.is(share, 1438 / 1440);
  t.is(gaps.length, 1);
  t.is(partOf(ofScans(minutes, [600])), undefined);
});

test('below nine tenths every minute that was not seen counts, however short, and the 24 longest gaps are listed', (t) => {
  const minutes = every(2);
  // Two minutes of every ten, but four of each tenth time.
  const blind = minutes.filter((minute) => minute % 10 === 0 || minute % 100 === 2);
  const part = partOf(ofScans(minutes, blind));
  t.is(part?.gap_count, 144);
  t.is(part?.gaps.length, GAPS_LISTED_MAX);
  const longest = every(100).map((minute) => timestamp(at(minute)));
  t.deepEqual(
    longest.filter((from) => !part?.gaps.some((gap) => gap.from === from)),
    [],
  );
  t.deepEqual(
    part?.gaps.map(({ from }) => from),
    part?.gaps.map(({ from }) => from).toSorted(),
  );
  t.is(partOf(ofScans(minutes, every(30))), undefined);
});

test('a date that still runs counts up to its newest scan, and says so', (t) => {
  const part = partOf(ofScans(every(2, 0, 38), [], { from_ms: at(0), to_ms: at(36) }, true));
  t.deepEqual(part, { date: DATE, share: 1, until: `${DATE}T00:36:00Z`, gap_count: 0, gaps: [] });
  const late = partOf(ofScans(every(2, 1200, 1238), [], { from_ms: at(0), to_ms: at(1236) }, true));
  t.deepEqual([clocks(late), late?.share], [['00:00-20:00'], 0.029]);
  // Its only scan is its first instant: there are no minutes yet.
  t.is(ofScans([0], [], { from_ms: at(0), to_ms: at(0) }, true).share, 1);
  t.is(ofScans([0], [0], { from_ms: at(0), to_ms: at(0) }, true).share, 0);
});

test('the last scan before a date stands for its first minutes, where it saw the place', (t) => {
  const times = every(2, 5, 1440).map(at);
  const seen = times.map(() => 1);
  const share = (before: Parameters<typeof radarCoverageOf>[2]) =>
    radarCoverageOf({ times, seen }, DAY, before, false).share;
  t.is(share({ time_ms: at(-3), seen_ms: at(-3) }), 1);
  t.is(share({ time_ms: at(-7), seen_ms: at(-7) }), 1438 / 1440);
  for (const before of [null, { time_ms: at(-3), seen_ms: at(-5) }, { time_ms: at(-20), seen_ms: at(-20) }])
    t.is(share(before), 1435 / 1440);
});

test('a gap that begins on the date before is as long as both parts together, however short its part of the date is', (t) => {
  const times = every(2, 8).map(at);
  const looks = { times, seen: times.map(() => 1) };
  const part = (time_ms: number, seen_ms: number | null) =>
    clocks(partOf(radarCoverageOf(looks, DAY, { time_ms, seen_ms }, false)));
  t.deepEqual(part(at(-18), at(-18)), ['00:00-00:08']);
  t.deepEqual(part(at(-2), at(-18)), ['00:00-00:08']);
  t.is(part(at(-2), at(-2)), undefined);
  t.deepEqual(part(at(-2), null), ['00:00-00:08']);
});

test('shares and gaps fill the date together, whatever the scans', (t) => {
  const looks = fc.uniqueArray(fc.record({ minute: fc.integer({ min: 0, max: 1439 }), seen: fc.boolean() }), {
    selector: ({ minute }) => minute,
    maxLength: 80,
  });
  fc.assert(
    fc.property(looks, (drawn) => {
      const sorted = drawn.toSorted((a, b) => a.minute - b.minute);
      const coverage = radarCoverageOf(
        { times: sorted.map(({ minute }) => at(minute)), seen: sorted.map(({ seen }) => Number(seen)) },
        DAY,
        null,
        false,
      );
      // Minute by minute, from the definition alone.
      const isSeen = (minute: number) => {
        const newest = sorted.findLast((look) => look.minute <= minute);
        return newest?.seen === true && minute - newest.minute < 10;
      };
      const unseen = Array.from({ length: 1440 }, (_, minute) => minute).filter((minute) => !isSeen(minute));
      t.true(Math.abs(coverage.share - (1440 - unseen.length) / 1440) < 1e-12);
      const told = coverage.gaps.flatMap(({ from_ms, to_ms }) =>
        Array.from({ length: (to_ms - from_ms) / MS_PER_MIN }, (_, k) => (from_ms - DAY_MS) / MS_PER_MIN + k),
      );
      t.deepEqual(told, unseen);
    }),
  );
});

test('a date that came as the sum of a day has unknown scans, which are not full ones', (t) => {
  t.deepEqual(radarGapsOf(['2026-05-02'], new Map([[DATE, null]])), {
    dates_without_data: ['2026-05-02'],
    dates_with_unknown_scans: [DATE],
    dates_seen_in_part: [],
    coverage: [{ date: DATE, share: null }],
  });
});

const OKLAHOMA = { lat: 35.3, lon: -97.3 };
/** 4.1 km at 35 N and 3.5 km at 40 N in May: 4.064 km at 35.3 N, and 0.2 km warmer on a day with hail. */
const FREEZING_KM = 4.264;
const MAY_MS = Date.parse('2026-05-01T20:12:38Z');

/** MESH, SHI and MESH95 of SCIENCE.md, "Hail size". */
for (const [mesh_mm, shi, mesh95_mm] of [
  [10, 15.5, 39.6],
  [19, 56, 52],
  [25.4, 100, 58.8],
  [50.8, 400, 78.9],
  [101.6, 1600, 105.9],
] as const)
  test(`${mesh_mm} mm is an index of ${shi} and a 95th percentile of ${mesh95_mm} mm`, (t) => {
    t.like(radarBlock(mesh_mm, NO_PRODUCTS, OKLAHOMA, MAY_MS), { mesh_mm, shi, mesh95_mm });
  });

test('missing products are null, none is invented', (t) => {
  t.like(radarBlock(30, NO_PRODUCTS, OKLAHOMA, MAY_MS), {
    vil_kg_m2: null,
    vil_density_g_m3: null,
    max_reflectivity_dbz: null,
    reflectivity_minus20c_dbz: null,
    echo_top_18_km: null,
    echo_top_50_km: null,
    h50_above_0c_km: null,
    azshear_0_2km_per_s: null,
  });
});

test('POSH is that of the product; without it the index and the freezing level above the ground decide', (t) => {
  t.is(radarBlock(30, { ...NO_PRODUCTS, posh_pct: 60 }, OKLAHOMA, MAY_MS).posh_pct, 60);
  const ground_km = FREEZING_KM - (nearestSite(OKLAHOMA, WSR88D)?.ground_m ?? 0) / 1000;
  const shi = (30 / 2.54) ** 2;
  t.is(radarBlock(30, NO_PRODUCTS, OKLAHOMA, MAY_MS).posh_pct, Math.round(10 * poshOfShi(shi, ground_km)) / 10);
});

test('VIL density is VIL over the 18 dBZ echo top, and the 50 dBZ echo stands above the freezing level', (t) => {
  const products = { ...NO_PRODUCTS, vil_kg_m2: 56.5, echo_top_18_km: 15.767, echo_top_50_km: 10.078 };
  const block = radarBlock(48, products, OKLAHOMA, MAY_MS);
  t.is(block.vil_density_g_m3, 3.58);
  t.is(block.h50_above_0c_km, Math.round(100 * (10.078 - FREEZING_KM)) / 100);
});

test('reflectivity at -20 C and shear below 2 km are those of their products', (t) => {
  const products = { ...NO_PRODUCTS, reflectivity_minus20c_dbz: 57.25, azshear_0_2km_per_s: 0.00512 };
  t.like(radarBlock(48, products, OKLAHOMA, MAY_MS), { reflectivity_minus20c_dbz: 57.3, azshear_0_2km_per_s: 0.0051 });
});

/** Size, detections, corroborated, hdqi and the published confidence of methodology 1.0.0. */
for (const [size_mm, n_detections, corroborated, hdqi, confidence] of [
  [10, 1, false, 0.5, 0.114],
  [19, 1, false, 0.7, 0.296],
  [19, 3, true, 0.7, 0.624],
  [25, 5, false, 0.7, 0.462],
  [38, 3, false, 0.7, 0.602],
  [38, 10, false, 0.8, 0.679],
  [38, 20, false, 0.8, 0.713],
  [50, 3, false, 0.8, 0.718],
  [50, 10, false, 0.8, 0.766],
  [50, 10, true, 0.8, 0.916],
  [75, 20, true, 0.9, 0.964],
] as const)
  test(`${n_detections} detections up to ${size_mm} mm, ${corroborated ? 'reported' : 'unreported'}, at hdqi ${hdqi} give ${confidence}`, (t) => {
    t.is(Math.round(1000 * pointConfidence({ size_mm, n_detections, corroborated, hdqi })) / 1000, confidence);
  });

test('without a detection, and at the extremes, it stays within 0.02 and 0.98', (t) => {
  t.is(pointConfidence({ size_mm: 0, n_detections: 0, corroborated: false, hdqi: 1 }), 0.02);
  t.is(pointConfidence({ size_mm: 0.1, n_detections: 1, corroborated: false, hdqi: 0 }), 0.02);
  t.is(pointConfidence({ size_mm: 150, n_detections: 5000, corroborated: true, hdqi: 1 }), 0.98);
});

const POINTS: readonly Position[] = [24, 31.37, 38.9999, 45.12, 50].map((lat) => ({ lat, lon: -97.123 }));

/** Distance to the rectangle by measuring to 4,000 points on its edge. */
function slowDistanceM(from: Position, row: number, col: number): number {
  const steps = 1000;
  const distances: number[] = [];
  for (let step = 0; step <= steps; step++) {
    const lat = rowLat(row) - 0.005 + (0.01 * step) / steps;
    const lon = colLon(col) - 0.005 + (0.01 * step) / steps;
    for (const edge of [-0.005, 0.005])
      distances.push(
        distanceKm(from, { lat, lon: colLon(col) + edge }),
        distanceKm(from, { lat: rowLat(row) + edge, lon }),
      );
  }
  return 1000 * Math.min(...distances);
}

test('the distance is 0 inside the pixel and on its edge', (t) => {
  t.is(pixelDistanceM({ lat: 38.995, lon: -97.005 }, 1600, 3299), 0);
  t.true(pixelDistanceM({ lat: 39, lon: -97 }, 1600, 3299) < 1e-6);
});

test('the distance is that of a fine walk along the edge, in every direction', (t) => {
  for (const point of POINTS.slice(0, 3))
    for (const [dRow, dCol] of [
      [0, 1],
      [0, -2],
      [1, 0],
      [-2, 1],
      [1, 2],
      [2, -1],
    ] as const) {
      const row = latRow(point.lat) + dRow;
      const col = lonCol(point.lon) + dCol;
      const slow_m = slowDistanceM(point, row, col);
      t.true(Math.abs(pixelDistanceM(point, row, col) - slow_m) < 0.1);
      t.true(pixelDistanceM(point, row, col) <= slow_m + 0.0001);
    }
});

test('the short distance agrees with the geodesic to a millimetre within 2 km, and exactly next to a bound', (t) => {
  for (const point of POINTS)
    for (const [row, col] of [
      [latRow(point.lat) + 1, lonCol(point.lon)],
      [latRow(point.lat), lonCol(point.lon) - 2],
      [latRow(point.lat) - 1, lonCol(point.lon) + 1],
    ] as const) {
      const exact_m = pixelDistanceM(point, row, col);
      t.true(Math.abs(boundedDistanceM(point, row, col, []) - exact_m) < 0.001);
      t.is(boundedDistanceM(point, row, col, [exact_m + 0.5]), exact_m);
    }
});

test('every pixel within the distance is looked at', (t) => {
  for (const point of POINTS) {
    const { row0, row1, col0, col1 } = pixelsAround(point, 1609.344);
    for (let row = latRow(point.lat) - 4; row <= latRow(point.lat) + 4; row++)
      for (let col = lonCol(point.lon) - 5; col <= lonCol(point.lon) + 5; col++) {
        const inReach = row >= row0 && row <= row1 && col >= col0 && col <= col1;
        if (pixelDistanceM(point, row, col) <= 1609.344) t.true(inReach, `${point.lat}: ${row}, ${col}`);
      }
    t.true((row1 - row0 + 1) * (col1 - col0 + 1) <= 5 * 7);
  }
});

const HERE = { lat: 45, lon: -100 };

test('the nearest by the geodesic wins, though the sphere takes another for nearer', (t) => {
  const north = { lat: 45.45, lon: -100 };
  const east = { lat: 45, lon: -99.3651 };
  t.true(
    roughDistanceKm(HERE, north) < roughDistanceKm(HERE, east) !== distanceKm(HERE, north) < distanceKm(HERE, east),
  );
  const expected = distanceKm(HERE, north) < distanceKm(HERE, east) ? north : east;
  for (const items of [
    [north, east],
    [east, north],
  ])
    t.deepEqual(nearestWithin(HERE, items, 100), { item: expected, distance_km: distanceKm(HERE, expected) });
});

test('a place at the radius is within it, one beyond is not', (t) => {
  const item = { lat: 45.3, lon: -100.2 };
  const km = distanceKm(HERE, item);
  t.is(nearestWithin(HERE, [item], km)?.item, item);
  t.is(nearestWithin(HERE, [item], km - 1e-6), null);
  t.is(nearestWithin(HERE, [], km), null);
});

test('of equally near places the first wins, and a place has no distance to itself', (t) => {
  const [east, west] = [
    { lat: 45, lon: -99.5 },
    { lat: 45, lon: -100.5 },
  ];
  t.is(nearestWithin(HERE, [east, west], 100)?.item, east);
  t.is(nearestWithin(HERE, [west, east], 100)?.item, west);
  t.deepEqual(nearestWithin(HERE, [east, HERE, west], 100), { item: HERE, distance_km: 0 });
});
