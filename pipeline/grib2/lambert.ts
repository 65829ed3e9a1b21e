/** Radians of a degree. */
export const RAD = Math.PI / 180;

/** Semi-major axis and squared eccentricity of the earth. */
export interface Earth {
  readonly earth_m: number;
  readonly eccentricity2: number;
}

export interface Cone {
  /** Longitude of the meridian that is parallel to the y axis, degrees. */
  readonly lov: number;
  /** Cone constant and a F of Snyder, metres; both negative in the south. */
  readonly n: number;
  readonly scale_m: number;
  readonly eccentricity2: number;
}

/** Lambert conformal conic, metres from the point where LoV meets the pole. Source: Snyder 1987, eqs. 15-1 to 15-11. */
export function project({ lov, n, scale_m, eccentricity2 }: Cone, lat: number, lon: number): { x: number; y: number } {
  const rho = scale_m * conformal(eccentricity2, lat) ** n;
  const theta = n * wrap180(lon - lov) * RAD;
  return { x: rho * Math.sin(theta), y: -rho * Math.cos(theta) };
}

/** Inverse of `project`; longitude in -180 .. 180. */
export function unproject(
  { lov, n, scale_m, eccentricity2 }: Cone,
  x: number,
  y: number,
): { lat: number; lon: number } {
  const side = Math.sign(n);
  const t = (Math.hypot(x, y) / Math.abs(scale_m)) ** (1 / n);
  const theta = Math.atan2(side * x, -side * y);
  const e = Math.sqrt(eccentricity2);
  let lat = Math.PI / 2 - 2 * Math.atan(t);
  // Each round gains a factor of e2 (0.007); on a sphere the start is exact.
  for (let round = 0; round < 8 && e > 0; round++) {
    const es = e * Math.sin(lat);
    lat = Math.PI / 2 - 2 * Math.atan(t * ((1 - es) / (1 + es)) ** (e / 2));
  }
  return { lat: lat / RAD, lon: wrap180(lov + theta / n / RAD) };
}

/** Cone constant and a F of a Lambert grid. Both parallels lie on one side of the equator. */
export function cone({ earth_m, eccentricity2 }: Earth, latin1: number, latin2: number): Pick<Cone, 'n' | 'scale_m'> {
  const m = (lat: number) => Math.cos(lat * RAD) / Math.sqrt(1 - eccentricity2 * Math.sin(lat * RAD) ** 2);
  const t1 = conformal(eccentricity2, latin1);
  const n =
    latin1 === latin2
      ? Math.sin(latin1 * RAD)
      : Math.log(m(latin1) / m(latin2)) / Math.log(t1 / conformal(eccentricity2, latin2));
  return { n, scale_m: (earth_m * m(latin1)) / (n * t1 ** n) };
}

/** t of Snyder eq. 15-9: tangent of half the conformal colatitude. */
function conformal(eccentricity2: number, lat: number): number {
  const e = Math.sqrt(eccentricity2);
  const es = e * Math.sin(lat * RAD);
  return Math.tan(Math.PI / 4 - (lat * RAD) / 2) / ((1 - es) / (1 + es)) ** (e / 2);
}

/** An angle in 0 .. 360. */
export function wrap360(degrees: number): number {
  return ((degrees % 360) + 360) % 360;
}

/** An angle in -180 .. 180. */
export function wrap180(degrees: number): number {
  return wrap360(degrees + 180) - 180;
}
