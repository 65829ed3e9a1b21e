import { type Antenna, beamAt, partialBlockage, REACH_KM, TILTS_DEG } from '../../schemas/geo/beam.ts';
import { destination } from '../../schemas/geo/distance.ts';
import type { BlockageStep } from '../../schemas/tables/blockage.ts';
import type { HeightAt } from './height-window.ts';

/** Rays of a radar: one for each whole degree, narrower than that is no beam. */
const AZIMUTHS = 360;
/** Distance between two looks at the terrain under a ray, km. */
const STEP_KM = 0.25;
const SAMPLES = REACH_KM / STEP_KM;
/** The way of a ray is a geodesic through points so far apart, straight in between: off by no more than 5 m. */
const NODE_KM = 10;
/** Nearer than this, or than one cell of the model, a height says more about the model than about what a beam meets, km. */
const NEAR_KM = 1;

/** One step of a ray, without what is the same for the whole table. */
export type RayStep = Omit<BlockageStep, 'terrain_file' | 'terrain_step_arcsec'>;

/** What terrain does to the beams of one radar. */
export interface RadarBlockage {
  readonly steps: readonly RayStep[];
  /** Share of the looks at which the height was not known: there nothing counts as blocked. */
  readonly unknown_share: number;
  /** Share of the directions in which more than half of the lowest beam is blocked somewhere within reach. */
  readonly shadowed_share: number;
}

/** Heights of beam centres above the antenna and half their widths at each look, m, for one tilt. */
interface Tilt {
  readonly tilt_deg: number;
  readonly centre_m: Float64Array;
  readonly radius_m: Float64Array;
}

const TILTS = TILTS_DEG.map((tilt_deg): Tilt => {
  const beams = Array.from({ length: SAMPLES + 1 }, (_, sample) => beamAt(sample * STEP_KM, tilt_deg));
  return {
    tilt_deg,
    centre_m: Float64Array.from(beams, ({ centre_km }) => 1000 * centre_km),
    radius_m: Float64Array.from(beams, ({ width_km }) => 500 * width_km),
  };
});

/**
 * Steps of the share of each beam that terrain blocks, along every whole degree to 230 km, for as many tilts as something
 * blocks. Along a ray the share is the largest so far, in hundredths; the lowest tilt begins with a step to 0.
 *
 * Heights of terrain and of beam centres are compared above sea level, beams as on an earth of 4/3 its radius; the terrain
 * under the middle of a beam stands for its whole width. `cell_km` is the spacing of the heights.
 * Source: Bech et al. 2003, Journal of Atmospheric and Oceanic Technology 20, 845–855, eq. 2.
 */
export function radarBlockage(site: Antenna, heightAt: HeightAt, cell_km: number): RadarBlockage {
  const nearest = Math.ceil(Math.max(NEAR_KM, cell_km) / STEP_KM);
  const steps: RayStep[] = [];
  let [unknown, looks, shadowed] = [0, 0, 0];
  for (let azimuth_deg = 0; azimuth_deg < AZIMUTHS; azimuth_deg++) {
    const heights = heightsAlong(site, azimuth_deg, heightAt);
    for (let sample = nearest; sample <= SAMPLES; sample++) if (Number.isNaN(heights[sample])) unknown++;
    looks += SAMPLES + 1 - nearest;
    for (const [index, tilt] of TILTS.entries()) {
      const rises = risesAlong(heights, site.antenna_m, tilt, nearest);
      // What the lowest beams clear, those above them clear too.
      if (index > 0 && rises.length === 0) break;
      const first = index === 0 ? [{ distance_km: 0, blocked: 0 }] : [];
      for (const rise of [...first, ...rises])
        steps.push({ radar_id: site.id, tilt_deg: tilt.tilt_deg, azimuth_deg, ...rise });
      if (index === 0 && (rises.at(-1)?.blocked ?? 0) > 0.5) shadowed++;
    }
  }
  return { steps, unknown_share: unknown / looks, shadowed_share: shadowed / AZIMUTHS };
}

/** Terrain above sea level under each look along a ray, m; NaN where it is not known. */
function heightsAlong(site: Antenna, azimuth_deg: number, heightAt: HeightAt): Float64Array {
  const heights = new Float64Array(SAMPLES + 1);
  const perNode = NODE_KM / STEP_KM;
  let from: { lat: number; lon: number } = site;
  for (let node = 0; node < REACH_KM / NODE_KM; node++) {
    const to = destination(site, azimuth_deg, (node + 1) * NODE_KM);
    for (let k = node === 0 ? 0 : 1; k <= perNode; k++) {
      const share = k / perNode;
      const east_deg = turnOf(to.lon - from.lon);
      heights[node * perNode + k] = heightAt(from.lat + share * (to.lat - from.lat), from.lon + share * east_deg);
    }
    from = to;
  }
  return heights;
}

/** A difference of longitudes as -180 to 180 degrees: a ray may cross the date line. */
function turnOf(degrees: number): number {
  return degrees - 360 * Math.round(degrees / 360);
}

/** Where the rounded running maximum of the blocked share rises, and to what. */
function risesAlong(
  heights: Float64Array,
  antenna_m: number,
  { centre_m, radius_m }: Tilt,
  nearest: number,
): { readonly distance_km: number; readonly blocked: number }[] {
  const rises: { distance_km: number; blocked: number }[] = [];
  let percent = 0;
  for (let sample = nearest; sample <= SAMPLES; sample++) {
    const over_m = heights[sample] - antenna_m - centre_m[sample];
    const radius = radius_m[sample];
    if (!(over_m > -radius)) continue;
    const here = Math.round(100 * partialBlockage(over_m, radius));
    if (here <= percent) continue;
    percent = here;
    rises.push({ distance_km: sample * STEP_KM, blocked: percent / 100 });
  }
  return rises;
}
