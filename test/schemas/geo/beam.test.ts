import test from 'ava';
import {
  type Antenna,
  beamAt,
  beamHeightKm,
  detectionQuality,
  nearestSite,
  partialBlockage,
  type QualityInput,
} from '../../../schemas/geo/beam.ts';
import { type Blockage, blockageOf } from '../../../schemas/geo/blockage.ts';
import { destination } from '../../../schemas/geo/distance.ts';
import { freezingLevelKm } from '../../../schemas/reference/freezing-level.ts';

const HERE = { lat: 40, lon: -95 };
const radar = (id: string, distance_km: number, bearing_deg = 90): Antenna => ({
  id,
  ...destination(HERE, bearing_deg, distance_km),
  antenna_m: 0,
  ground_m: 0,
});
const quality = (sites: readonly Antenna[], input: Partial<QualityInput> = {}) =>
  detectionQuality(HERE, { sites, freezing_level_km: 4, ...input });
const round2 = (value: number) => Math.round(value * 100) / 100;

/** Range km; centre, half-power bottom and top of the 0.5 degree beam, and its width, m. */
const BEAM = [
  [25, 255, 53, 457, 404],
  [50, 583, 180, 987, 807],
  [75, 986, 380, 1591, 1211],
  [100, 1461, 654, 2268, 1614],
  [125, 2010, 1001, 3019, 2018],
  [150, 2633, 1422, 3843, 2422],
  [175, 3329, 1917, 4741, 2825],
  [200, 4099, 2485, 5712, 3229],
  [230, 5119, 3264, 6974, 3713],
] as const;

test('the lowest beam rises and widens as in the reference table', (t) => {
  for (const [range_km, centre, bottom, top, width] of BEAM) {
    const metres = [0.5, 0.5 - 0.4625, 0.5 + 0.4625].map((tilt) => Math.round(1000 * beamHeightKm(range_km, tilt)));
    t.deepEqual(metres, [centre, bottom, top], `${range_km} km`);
    // Along the ground a place is as far as the range, up to a part in a thousand.
    t.true(Math.abs(beamAt(range_km, 0.5).width_km * 1000 - width) < 0.0015 * width, `${range_km} km`);
  }
});

test('nothing above 7.1 km is seen 20 km from a radar', (t) => {
  t.is(Math.round(beamAt(20, 19.5).centre_km * 10) / 10, 7.1);
});

for (const [y, share] of [
  [-1.2, 0],
  [-1, 0],
  [-0.5, 0.1955],
  [-0.25, 0.3425],
  [0, 0.5],
  [0.25, 0.6575],
  [0.5, 0.8045],
  [1, 1],
  [2, 1],
] as const)
  test(`terrain ${y} beam radii over the centre blocks ${share} of the beam`, (t) => {
    t.is(Math.round(partialBlockage(y * 500, 500) * 1e4) / 1e4, share);
  });

/** Range km; sample coverage and index at a freezing level of 4.0 and of 2.5 km; one radar, flat ground. */
const REFERENCE = [
  [3, 0, 0.15, 0, 0.15],
  [15, 0.08, 0.22, 0.32, 0.42],
  [20, 0.38, 0.47, 0.68, 0.73],
  [25, 0.7, 0.75, 0.88, 0.9],
  [40, 0.89, 0.91, 0.92, 0.94],
  [60, 0.88, 0.9, 0.89, 0.91],
  [80, 0.82, 0.85, 0.83, 0.85],
  [100, 0.75, 0.78, 0.75, 0.79],
  [125, 0.64, 0.69, 0.64, 0.69],
  [150, 0.52, 0.59, 0.52, 0.59],
  [175, 0.41, 0.46, 0.41, 0.46],
  [200, 0.31, 0.34, 0.31, 0.34],
  [229.999, 0.22, 0.22, 0.21, 0.22],
] as const;

for (const [range_km, coverage4, hdqi4, coverage25, hdqi25] of REFERENCE)
  test(`${range_km} km from one radar the index is ${hdqi4} below 4.0 km and ${hdqi25} below 2.5 km of melting`, (t) => {
    const sites = [radar('A', range_km)];
    const high = quality(sites);
    const low = quality(sites, { freezing_level_km: 2.5 });
    t.deepEqual([round2(high.components.sample_coverage), high.hdqi], [coverage4, hdqi4]);
    t.deepEqual([round2(low.components.sample_coverage), low.hdqi], [coverage25, hdqi25]);
  });

test('two radars at 5 and 90 km see each what the other misses', (t) => {
  const { hdqi, components } = quality([radar('A', 5), radar('B', 90, 200)]);
  t.deepEqual([round2(components.sample_coverage), hdqi], [0.79, 0.82]);
});

test('blocking 0.3 of the beam at 40 km lowers the index from .91 to .72', (t) => {
  const { hdqi, components } = quality([radar('A', 40)], { blockage: () => 0.3 });
  t.deepEqual([round2(components.sample_coverage), hdqi, components.beam_blockage], [0.89, 0.72, 0.7]);
});

test('only the azimuth that terrain blocks is lowered', (t) => {
  const blockage = (_: string, azimuth_deg: number) => (azimuth_deg > 180 ? 0.4 : 0);
  const west = quality([radar('A', 60, 90)], { blockage });
  const east = quality([radar('A', 60, 270)], { blockage });
  t.true(west.hdqi < east.hdqi);
  t.is(east.hdqi, quality([radar('A', 60, 270)]).hdqi);
});

test('blocking one of two radars lowers the index, the more the deeper, down to what the other sees alone', (t) => {
  const sites = [radar('A', 40), radar('B', 150, 0)];
  const withBlocked = (share: number) => quality(sites, { blockage: (id) => (id === 'A' ? share : 0) });
  const indices = [0, 0.1, 0.3, 0.5, 0.8, 1].map((share) => withBlocked(share).hdqi);
  t.deepEqual(
    indices,
    indices.toSorted((a, b) => b - a),
  );
  t.true(indices[2] < indices[0]);
  t.is(withBlocked(1).hdqi, quality([radar('B', 150, 0)]).hdqi);
  t.deepEqual(
    [withBlocked(0.1), withBlocked(1)].map(({ components }) => components.beam_blockage),
    [0.9, 1],
  );
});

test('adding a blocked radar never lowers the index', (t) => {
  const blockage = (id: string) => (id === 'C' ? 0.6 : 0.2);
  for (const distance_km of [5, 40, 120, 220]) {
    const sites = [radar('A', 60), radar('B', 130, 0), radar('C', distance_km, 200)];
    t.true(quality(sites, { blockage }).hdqi >= quality(sites.slice(0, 2), { blockage }).hdqi, `${distance_km} km`);
  }
});

test('the nearest site is the same with and without its quality', (t) => {
  const sites = [radar('B', 400), radar('A', 231), radar('C', 20)];
  t.is(nearestSite(HERE, sites)?.id, 'C');
  t.is(nearestSite(HERE, sites)?.id, quality(sites).nearest_radar?.id);
  t.is(nearestSite(HERE, []), null);
});

test('a lowest beam blocked by more than half is not used: the next one counts', (t) => {
  const blockage = (_id: string, _azimuth: number, _distance: number, tilt_deg: number) => (tilt_deg < 0.6 ? 0.51 : 0);
  const sites = [radar('A', 100)];
  t.is(quality(sites).beam_height_m, 1462);
  t.is(quality(sites, { blockage }).beam_height_m, Math.round(1000 * beamAt(100, 0.9).centre_km));
  t.is(quality(sites, { blockage: () => 0.9 }).beam_height_m, null);
});

test('the index never rises with distance beyond 50 km and dips inside 25 km', (t) => {
  const along = Array.from({ length: 36 }, (_, n) => quality([radar('A', 50 + 5 * n)]).hdqi);
  t.deepEqual(
    along,
    along.toSorted((a, b) => b - a),
  );
  t.true(quality([radar('A', 10)]).hdqi < quality([radar('A', 25)]).hdqi);
});

test('adding a second or third radar never lowers the index', (t) => {
  for (const first of [10, 60, 140, 220])
    for (const second of [15, 90, 200])
      for (const third of [30, 170]) {
        const sites = [radar('A', first), radar('B', second, 0), radar('C', third, 220)];
        const indices = [1, 2, 3].map((count) => quality(sites.slice(0, count)).hdqi);
        t.deepEqual(
          indices,
          indices.toSorted((a, b) => a - b),
          `${first} ${second} ${third}`,
        );
      }
});

test('without terrain the index is the same in every direction', (t) => {
  const around = [0, 45, 90, 200, 300].map((bearing) => quality([radar('A', 80, bearing)]).hdqi);
  t.is(new Set(around).size, 1);
});

for (const [range_km, word] of [
  [40, 'excellent'],
  [100, 'good'],
  [150, 'fair'],
  [200, 'limited'],
] as const)
  test(`${range_km} km from a radar detection is ${word}`, (t) =>
    t.is(quality([radar('A', range_km)]).detection_word, word));

for (const [range_km, text] of [
  [61.5, 'fine (<1 km)'],
  [62.5, 'standard (1-2 km)'],
  [123, 'standard (1-2 km)'],
  [125, 'coarse (>2 km)'],
] as const)
  test(`${range_km} km from a radar the resolution is ${text}`, (t) =>
    t.is(quality([radar('A', range_km)]).resolution, text));

test('beyond 230 km a place is not covered, and the nearest radar is still named', (t) => {
  const found = quality([radar('B', 400), radar('A', 231)]);
  t.like(found, {
    hdqi: 0,
    covered: false,
    detection_word: 'limited',
    resolution: 'coarse (>2 km)',
    components: { sample_coverage: 0, beam_blockage: 0, dual_pol_availability: 0 },
    beam_height_m: null,
    freezing_level_m: 4000,
  });
  t.is(found.nearest_radar?.id, 'A');
  t.true(Math.abs((found.nearest_radar?.distance_km ?? 0) - 231) < 1e-6);
  t.is(quality([]).nearest_radar, null);
});

test('an index below .10 is not coverage', (t) => {
  const nearlyBlocked = quality([radar('A', 100)], { blockage: () => 0.99 });
  t.true(nearlyBlocked.hdqi < 0.1);
  t.false(nearlyBlocked.covered);
});

test('heights of the beam are above the ground of the radar', (t) => {
  const site = { ...radar('A', 100), antenna_m: 530, ground_m: 500 };
  t.is(quality([site]).beam_height_m, 1462 + 30);
});

test('a month with a lower freezing level sees more at 20 km', (t) => {
  const sites = [radar('A', 20)];
  const inMonth = (month: number) => quality(sites, { freezing_level_km: freezingLevelKm(HERE.lat, month) });
  t.deepEqual([inMonth(1).freezing_level_m, inMonth(7).freezing_level_m], [1500, 4500]);
  t.true(inMonth(1).hdqi > inMonth(7).hdqi);
});

/** Radar, tilt, azimuth, distance, share: in the order of the table. */
type Step = readonly [string, number, number, number, number];
const STEPS: readonly Step[] = [
  ['KAAA', 0.5, 0, 0, 0],
  ['KAAA', 0.5, 0, 20, 0.25],
  ['KAAA', 0.5, 0, 20.25, 0.7],
  ['KAAA', 0.5, 270, 0, 0],
  ['KAAA', 0.5, 270, 100, 1],
  ['KAAA', 0.5, 359, 0, 0],
  ['KAAA', 0.5, 359, 50, 0.1],
  ['KAAA', 0.9, 270, 100, 0.33],
  ['KBBB', 0.5, 0, 0, 0],
  ['KBBB', 0.5, 0, 5, 0.01],
];

function made(steps: readonly Step[]): Blockage {
  return blockageOf({
    radar_id: steps.map(([radar_id]) => radar_id),
    tilt_deg: steps.map((step) => step[1]),
    azimuth_deg: steps.map((step) => step[2]),
    distance_km: steps.map((step) => step[3]),
    blocked: steps.map((step) => step[4]),
  });
}
const { blocked, radars } = made(STEPS);

test('a share holds from its distance on, up to the next step', (t) => {
  const shares = [0, 19.99, 20, 20.2, 20.25, 230].map((km) => blocked('KAAA', 0, km, 0.5));
  t.deepEqual(shares, [0, 0, 0.25, 0.25, 0.7, 0.7]);
});

test('the ray of the nearest whole azimuth decides, over north too', (t) => {
  const shares = [0.49, 0.51, 269.5, 270.49, 358.6, 359.4, 359.6].map((azimuth) => blocked('KAAA', azimuth, 150, 0.5));
  t.deepEqual(shares, [0.7, 0, 1, 1, 0.1, 0.1, 0.7]);
});

test('a tilt, a ray and a radar without steps are free', (t) => {
  t.is(blocked('KAAA', 270, 150, 0.9), 0.33);
  t.is(blocked('KAAA', 0, 150, 0.9), 0);
  t.is(blocked('KAAA', 270, 150, 1.3), 0);
  t.is(blocked('KBBB', 90, 150, 0.5), 0);
  t.is(blocked('KZZZ', 270, 150, 0.5), 0);
  t.is(blocked('KBBB', 0, 5, 0.5), 0.01);
});

test('only radars that were looked at are known', (t) => t.deepEqual([...radars], ['KAAA', 'KBBB']));

test('without steps nothing is known or blocked', (t) => {
  const empty = made([]);
  t.is(empty.radars.size, 0);
  t.is(empty.blocked('KAAA', 0, 100, 0.5), 0);
});

for (const [title, steps] of [
  ['an azimuth of 360', [['KAAA', 0.5, 360, 0, 0]]],
  ['azimuths that fall', [STEPS[4], STEPS[1]]],
] as const)
  test(`${title} is refused`, (t) => {
    t.throws(() => made(steps as readonly Step[]), { instanceOf: RangeError, message: /KAAA is out of order/ });
  });
