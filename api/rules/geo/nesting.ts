import type { MultiPolygon, Polygon, Ring } from '../../../schemas/geo/rings.ts';

/** Upper bound of the length of a degree on WGS84, so that no distance is underestimated. */
export const METRES_PER_DEGREE = 111_700;
/** Least half-length of a stretch of a ring, metres: shorter ones are not halved. */
const FINEST_M = 0.5;

interface Edges {
  readonly x1: Float64Array;
  readonly y1: Float64Array;
  readonly x2: Float64Array;
  readonly y2: Float64Array;
}

interface Outer extends Edges {
  readonly west: number;
  readonly south: number;
  readonly east: number;
  readonly north: number;
}

/** Measures rings against some polygons: `reachesOut` is true when a point of a ring is farther than `slack_m` from all of them. */
export function surrounding(polygons: MultiPolygon): { reachesOut: (ring: Ring, slack_m: number) => boolean } {
  const outers = polygons.map(outerOf);
  return {
    reachesOut: (ring, slack_m) => {
      const near = outers.flatMap((outer) => edgesNear(outer, ring, slack_m) ?? []);
      return ring.slice(1).some((to, i) => !staysNear(ring[i] as number[], to, near, slack_m));
    },
  };
}

function outerOf(polygon: Polygon): Outer {
  const from = polygon.flatMap((ring) => ring.slice(0, -1));
  const to = polygon.flatMap((ring) => ring.slice(1));
  const [lons, lats] = [0, 1].map((axis) => from.map((position) => position[axis])) as [number[], number[]];
  const least = (values: readonly number[]) => values.reduce((a, b) => Math.min(a, b));
  const most = (values: readonly number[]) => values.reduce((a, b) => Math.max(a, b));
  return {
    x1: Float64Array.from(lons),
    y1: Float64Array.from(lats),
    x2: Float64Array.from(to, (position) => position[0]),
    y2: Float64Array.from(to, (position) => position[1]),
    west: least(lons),
    south: least(lats),
    east: most(lons),
    north: most(lats),
  };
}

/** Edges of a polygon that can be nearest to a point of the ring; null where the whole polygon is too far away. */
function edgesNear(outer: Outer, ring: Ring, slack_m: number): Edges | null {
  const { x1, y1, x2, y2 } = outer;
  const lats = ring.map((position) => position[1]);
  const lons = ring.map((position) => position[0]);
  const slack_lat = slack_m / METRES_PER_DEGREE;
  const [south, north] = [Math.min(...lats) - slack_lat, Math.max(...lats) + slack_lat];
  const slack_lon = slack_lat / Math.cos((Math.max(Math.abs(south), Math.abs(north)) * Math.PI) / 180);
  const [west, east] = [Math.min(...lons) - slack_lon, Math.max(...lons) + slack_lon];
  if (outer.west > east || outer.east < west || outer.south > north || outer.north < south) return null;
  const chosen: number[] = [];
  for (let i = 0; i < x1.length; i++) {
    const [a, b] = [y1[i], y2[i]];
    if (Math.min(a, b) <= north && Math.max(a, b) >= south) chosen.push(i);
  }
  const at = (values: Float64Array) => Float64Array.from(chosen, (i) => values[i]);
  return { x1: at(x1), y1: at(y1), x2: at(x2), y2: at(y2) };
}

/**
 * True when no point between two positions is farther than the slack from the polygons. The gap changes by no more than one
 * metre a metre, so the distance at its middle decides a stretch, or it is halved.
 */
function staysNear(a: readonly number[], b: readonly number[], near: readonly Edges[], slack_m: number): boolean {
  const [ax, ay, bx, by] = [a[0], a[1], b[0], b[1]] as [number, number, number, number];
  const middle = [(ax + bx) / 2, (ay + by) / 2] as const;
  const perLon = METRES_PER_DEGREE * Math.cos((middle[1] * Math.PI) / 180);
  const half_m = Math.hypot((bx - ax) * perLon, (by - ay) * METRES_PER_DEGREE) / 2;
  const gap_m = near.reduce(
    (least, edges) => (least === 0 ? 0 : Math.min(least, gapM(middle, edges, perLon))),
    Infinity,
  );
  if (gap_m + half_m <= slack_m) return true;
  if (gap_m > slack_m) return false;
  if (half_m < FINEST_M) return true;
  return staysNear(a, middle, near, slack_m) && staysNear(middle, b, near, slack_m);
}

/** Distance of a point from a polygon, metres; 0 inside. */
function gapM([x, y]: readonly [number, number], { x1, y1, x2, y2 }: Edges, perLon: number): number {
  let inside = false;
  let least = Number.POSITIVE_INFINITY;
  for (let i = 0; i < x1.length; i++) {
    const ax = (x1[i] - x) * perLon;
    const ay = (y1[i] - y) * METRES_PER_DEGREE;
    const bx = (x2[i] - x) * perLon;
    const by = (y2[i] - y) * METRES_PER_DEGREE;
    if (ay > 0 !== by > 0 && ax - (ay * (bx - ax)) / (by - ay) > 0) inside = !inside;
    const [dx, dy] = [bx - ax, by - ay];
    const share = Math.max(0, Math.min(1, -(ax * dx + ay * dy) / (dx * dx + dy * dy)));
    const px = ax + share * dx;
    const py = ay + share * dy;
    least = Math.min(least, px * px + py * py);
  }
  return inside ? 0 : Math.sqrt(least);
}
