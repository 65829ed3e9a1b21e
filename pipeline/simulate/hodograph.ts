/** Horizontal wind in m/s (or any one unit), positive to the east and to the north. */
export interface Wind {
  readonly east: number;
  readonly north: number;
}

export interface Level extends Wind {
  readonly pressure_hpa: number;
  readonly height_m: number;
}

/** Distance of a supercell's motion from the mean wind, m/s (Bunkers et al. 2000). */
const DEVIATION_MS = 7.5;

/** Wind towards `towards_deg` (0 north, clockwise). */
export function windTowards(towards_deg: number, speed: number): Wind {
  const angle = (towards_deg * Math.PI) / 180;
  return { east: speed * Math.sin(angle), north: speed * Math.cos(angle) };
}

/** Direction towards which a wind points, degrees in [0, 360). */
export function bearingOf(wind: Wind): number {
  return ((Math.atan2(wind.east, wind.north) * 180) / Math.PI + 360) % 360;
}

export type SupercellMotion = Readonly<Record<'mean' | 'right' | 'left', Wind>>;

/**
 * Motion of right- and left-moving supercells from a wind profile, in the profile's unit.
 * `deviation` is the distance from the 0-6 km mean wind in that unit, perpendicular to the shear between the means of
 * 5.5-6 km and 0-0.5 km. Heights count from the first level; wind is linear in ln p; means are weighted by pressure.
 * Source: Bunkers et al. 2000.
 */
export function supercellMotion(profile: readonly Level[], deviation: number = DEVIATION_MS): SupercellMotion {
  const mean = layerMean(profile, 0, 6000);
  const low = layerMean(profile, 0, 500);
  const high = layerMean(profile, 5500, 6000);
  const shear = { east: high.east - low.east, north: high.north - low.north };
  const length = Math.hypot(shear.east, shear.north);
  if (length === 0) return { mean, right: mean, left: mean };
  const across = { east: (deviation * shear.north) / length, north: (-deviation * shear.east) / length };
  return {
    mean,
    right: { east: mean.east + across.east, north: mean.north + across.north },
    left: { east: mean.east - across.east, north: mean.north - across.north },
  };
}

/** Wind and pressure at a height above the first level; wind linear in ln p, ln p linear in height. */
function levelAt(profile: readonly Level[], height_m: number): Level {
  const ground_m = profile[0].height_m;
  const above = profile.findIndex((level) => level.height_m - ground_m >= height_m);
  const at = Math.max(above, 1);
  const upper = profile[at];
  const lower = profile[at - 1];
  const part = (height_m + ground_m - lower.height_m) / (upper.height_m - lower.height_m);
  return {
    pressure_hpa: lower.pressure_hpa * (upper.pressure_hpa / lower.pressure_hpa) ** part,
    height_m: height_m + ground_m,
    east: lower.east + part * (upper.east - lower.east),
    north: lower.north + part * (upper.north - lower.north),
  };
}

function layerMean(profile: readonly Level[], bottom_m: number, top_m: number): Wind {
  const ground_m = profile[0].height_m;
  const inside = profile.filter((level) => level.height_m - ground_m > bottom_m && level.height_m - ground_m < top_m);
  const levels = [levelAt(profile, bottom_m), ...inside, levelAt(profile, top_m)];
  let east = 0;
  let north = 0;
  let thickness = 0;
  for (let i = 1; i < levels.length; i += 1) {
    const below = levels[i - 1];
    const above = levels[i];
    const weight = below.pressure_hpa - above.pressure_hpa;
    east += (weight * (below.east + above.east)) / 2;
    north += (weight * (below.north + above.north)) / 2;
    thickness += weight;
  }
  return { east: east / thickness, north: north / thickness };
}
