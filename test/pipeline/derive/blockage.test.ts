import test from 'ava';
import { type RadarBlockage, radarBlockage } from '../../../pipeline/derive/blockage.ts';
import type { HeightAt } from '../../../pipeline/derive/height-window.ts';
import type { Antenna } from '../../../schemas/geo/beam.ts';
import { distanceKm, roughDistanceKm } from '../../../schemas/geo/distance.ts';

const SITE: Antenna = { id: 'KAAA', lat: 40, lon: -95, antenna_m: 300, ground_m: 270 };
const CELL_KM = 0.25;
const SEA: HeightAt = () => 0;

const examine = (heightAt: HeightAt, site = SITE, cell_km = CELL_KM) => radarBlockage(site, heightAt, cell_km);
const stepsOf = ({ steps }: RadarBlockage, azimuth: number, tilt = 0.5) =>
  steps
    .filter(({ azimuth_deg, tilt_deg }) => azimuth_deg === azimuth && tilt_deg === tilt)
    .map(({ distance_km, blocked }) => [distance_km, blocked]);

/** Terrain of a height where the distance from the site lies between two, sea elsewhere. */
function ring(from_km: number, to_km: number, height_m: number, elsewhere: HeightAt = SEA): HeightAt {
  return (lat, lon) => {
    const rough_km = roughDistanceKm(SITE, { lat, lon });
    if (rough_km < 0.99 * from_km - 0.1 || rough_km > 1.01 * to_km + 0.1) return elsewhere(lat, lon);
    const km = distanceKm(SITE, { lat, lon });
    return km >= from_km && km < to_km ? height_m : elsewhere(lat, lon);
  };
}

/** Height of a beam's centre above the antenna over a ground distance, km, by trying ranges. */
function handHeightKm(ground_km: number, tilt_deg: number): { centre_km: number; range_km: number } {
  const ae = 8494.67;
  const e = (tilt_deg * Math.PI) / 180;
  let [low, high] = [0, 2 * ground_km];
  for (let n = 0; n < 80; n++) {
    const r = (low + high) / 2;
    const h = Math.sqrt(r * r + ae * ae + 2 * r * ae * Math.sin(e)) - ae;
    if (ae * Math.asin((r * Math.cos(e)) / (ae + h)) < ground_km) low = r;
    else high = r;
  }
  return { range_km: low, centre_km: Math.sqrt(low * low + ae * ae + 2 * low * ae * Math.sin(e)) - ae };
}

test('a flat sea blocks nothing: every ray of the lowest tilt is known and free', (t) => {
  const { steps, unknown_share, shadowed_share } = examine(SEA);
  t.is(steps.length, 360);
  t.true(steps.every(({ tilt_deg, distance_km, blocked }) => tilt_deg === 0.5 && distance_km === 0 && blocked === 0));
  t.deepEqual(
    steps.map(({ azimuth_deg }) => azimuth_deg),
    Array.from({ length: 360 }, (_, azimuth) => azimuth),
  );
  t.deepEqual([unknown_share, shadowed_share], [0, 0]);
});

/** Terrain over the beam's centre, in radii of the beam, and the share of Bech et al. 2003 as SCIENCE.md, "Radar coverage", cites it. */
for (const [y, share] of [
  [-0.5, 0.1955],
  [-0.25, 0.3425],
  [0, 0.5],
  [0.25, 0.6575],
  [0.5, 0.8045],
] as const)
  for (const [distance_km, tilt] of [
    [60, 0.5],
    [100, 0.9],
  ] as const)
    test(`a ridge ${y} radii over the centre of the ${tilt} degree beam at ${distance_km} km blocks ${share} of it`, (t) => {
      const { centre_km, range_km } = handHeightKm(distance_km, tilt);
      const radius_km = (range_km * 0.925 * Math.PI) / 360;
      const height_m = SITE.antenna_m + 1000 * (centre_km + y * radius_km);
      const found = examine(ring(distance_km - 0.05, distance_km + 0.05, height_m));
      const last = stepsOf(found, 123, tilt).at(-1);
      t.deepEqual(last, [distance_km, Math.round(100 * share) / 100]);
    });

test('the 0.5 degree beam 100 km away has its centre at 1461 m, as in the reference table', (t) => {
  // Range and ground distance differ by 20 m there, which is one metre of height.
  t.true(Math.abs(1000 * handHeightKm(100, 0.5).centre_km - 1461) < 2);
  const found = examine(ring(99.9, 100.1, SITE.antenna_m + 1461));
  t.deepEqual(stepsOf(found, 0).at(-1), [100, 0.5]);
});

test('the share is the largest so far: a lower ridge behind a higher one changes nothing', (t) => {
  const high = SITE.antenna_m + 1000 * handHeightKm(50, 0.5).centre_km;
  const low = SITE.antenna_m + 1000 * handHeightKm(90, 0.5).centre_km - 300;
  const top = SITE.antenna_m + 1000 * handHeightKm(130, 0.5).centre_km + 2000;
  const found = examine(ring(49.9, 50.1, high, ring(89.9, 90.1, low, ring(129.9, 130.1, top))));
  t.deepEqual(stepsOf(found, 200), [
    [0, 0],
    [50, 0.5],
    [130, 1],
  ]);
  t.is(found.shadowed_share, 1);
  const alone = examine(ring(89.9, 90.1, low));
  const share = stepsOf(alone, 200).at(-1)?.[1] ?? 0;
  t.true(share > 0 && share < 0.5, 'the lower ridge would block something');
});

test('along every ray the share rises with every step, and a higher tilt is never blocked more', (t) => {
  const rough: HeightAt = (lat, lon) => 900 + 700 * Math.sin(40 * lat) * Math.cos(31 * lon);
  const { steps } = examine(rough);
  const rays = Map.groupBy(steps, ({ azimuth_deg, tilt_deg }) => `${azimuth_deg} ${tilt_deg}`);
  t.true(rays.size > 400);
  for (const [ray, of] of rays)
    for (const [index, { blocked, distance_km }] of of.entries()) {
      const before = of[index - 1];
      if (before && (before.blocked >= blocked || before.distance_km >= distance_km)) t.fail(ray);
    }
  for (let azimuth = 0; azimuth < 360; azimuth++) {
    const ends = [0.5, 0.9, 1.3].map((tilt) => stepsOf({ steps } as RadarBlockage, azimuth, tilt).at(-1)?.[1] ?? 0);
    t.deepEqual(
      ends,
      ends.toSorted((a, b) => b - a),
    );
  }
});

test('terrain nearer than a kilometre, or than one cell of the model, is not looked at', (t) => {
  const hill = ring(0, 4.9, 3000);
  t.is(stepsOf(examine(hill), 10)[1]?.[0], 1);
  t.is(stepsOf(examine(hill, SITE, 3), 10)[1]?.[0], 3);
  t.is(stepsOf(examine(hill, SITE, 5), 10).length, 1);
});

test('unknown heights block nothing and are counted', (t) => {
  const half: HeightAt = (_, lon) => (lon < SITE.lon ? Number.NaN : 0);
  const { steps, unknown_share, shadowed_share } = examine(half);
  t.is(steps.length, 360);
  t.true(Math.abs(unknown_share - 0.5) < 0.01, `${unknown_share}`);
  t.is(shadowed_share, 0);
});

test('a ray over the date line meets what lies behind it', (t) => {
  const island: HeightAt = (_, lon) => {
    t.true(Number.isFinite(lon));
    return lon > 0 && lon < 179.5 ? 4000 : 0;
  };
  const found = examine(island, { ...SITE, lat: 20, lon: -179.5 });
  const [, first] = stepsOf(found, 270);
  // One degree of longitude at 20 N is 104.65 km.
  t.true(Math.abs((first?.[0] ?? 0) - 104.65) < 0.3, `${first}`);
  t.is(stepsOf(found, 90).length, 1);
});
