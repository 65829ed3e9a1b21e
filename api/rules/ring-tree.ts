import type { Bbox, Position } from '../../schemas/geo/position.ts';
import type { Ring } from '../../schemas/geo/rings.ts';
import { type MicroRing, toMicroRing } from './geo/micro-ring.ts';

/** A ring with fast tests of positions. */
export interface RingTree {
  /** True for a position inside the ring or on it. */
  readonly holds: (at: Position) => boolean;
  /** True when the ring passes through the interior of the square of half side `reach_deg` around a position. */
  readonly passesThrough: (at: Position, reach_deg: number) => boolean;
}

/** Most edges of a leaf. */
const LEAF = 8;
const PER_DEGREE = 1e6;

/**
 * Boxes around stretches of a closed ring, halved down to a few edges. A ray to the east crosses a stretch that lies east of its
 * origin an odd number of times exactly when the stretch ends on the other side of it, so only boxes around the position are
 * looked into: some twenty of a ring of 20,000 vertices. Exact to a millionth of a degree, to which positions are rounded.
 */
export function ringTree(ring: Ring): RingTree {
  const { x, y } = closed(toMicroRing(ring));
  const edges = x.length - 1;
  const nodes = 2 ** (Math.ceil(Math.log2(Math.max(1, edges / LEAF))) + 2);
  const [west, south, east, north] = [0, 1, 2, 3].map(() => new Float64Array(nodes)) as [
    Float64Array,
    Float64Array,
    Float64Array,
    Float64Array,
  ];

  /** Node k is around edges from .. to - 1, edge e from vertex e to e + 1; its halves are nodes 2k and 2k + 1. */
  const build = (node: number, from: number, to: number): void => {
    if (to - from > LEAF) {
      const middle = (from + to) >> 1;
      const [one, other] = [2 * node, 2 * node + 1];
      build(one, from, middle);
      build(other, middle, to);
      west[node] = Math.min(west[one], west[other]);
      south[node] = Math.min(south[one], south[other]);
      east[node] = Math.max(east[one], east[other]);
      north[node] = Math.max(north[one], north[other]);
      return;
    }
    let [w, s, e, n] = [x[from], y[from], x[from], y[from]];
    for (let i = from + 1; i <= to; i++) {
      w = Math.min(w, x[i]);
      s = Math.min(s, y[i]);
      e = Math.max(e, x[i]);
      n = Math.max(n, y[i]);
    }
    west[node] = w;
    south[node] = s;
    east[node] = e;
    north[node] = n;
  };
  build(1, 0, edges);

  /** 1 where a ray to the east crosses the edges of a node an odd number of times, else 0; ON where the position lies on one. */
  const crossings = (node: number, from: number, to: number, px: number, py: number): number => {
    if (py < south[node] || py > north[node] || px > east[node]) return 0;
    if (px < west[node]) return Number(y[from] > py !== y[to] > py);
    if (to - from > LEAF) {
      const middle = (from + to) >> 1;
      const one = crossings(2 * node, from, middle, px, py);
      if (one === ON) return ON;
      const other = crossings(2 * node + 1, middle, to, px, py);
      return other === ON ? ON : one ^ other;
    }
    let odd = 0;
    for (let edge = from; edge < to; edge++) {
      const [ax, ay, bx, by] = [x[edge], y[edge], x[edge + 1], y[edge + 1]];
      const turn = (bx - ax) * (py - ay) - (by - ay) * (px - ax);
      const isBetween =
        px >= Math.min(ax, bx) && px <= Math.max(ax, bx) && py >= Math.min(ay, by) && py <= Math.max(ay, by);
      if (turn === 0 && isBetween) return ON;
      if (ay > py !== by > py && turn > 0 === by > ay) odd ^= 1;
    }
    return odd;
  };

  const meets = (node: number, from: number, to: number, box: Bbox): boolean => {
    const [w, s, e, n] = box;
    if (west[node] >= e || east[node] <= w || south[node] >= n || north[node] <= s) return false;
    if (to - from > LEAF) {
      const middle = (from + to) >> 1;
      return meets(2 * node, from, middle, box) || meets(2 * node + 1, middle, to, box);
    }
    for (let edge = from; edge < to; edge++)
      if (isThrough(x[edge], y[edge], x[edge + 1], y[edge + 1], box)) return true;
    return false;
  };

  const micro = (degrees: number) => Math.round(degrees * PER_DEGREE);
  return {
    holds: ({ lat, lon }) => crossings(1, 0, edges, micro(lon), micro(lat)) !== 0,
    passesThrough: ({ lat, lon }, reach_deg) => {
      const [px, py, reach] = [micro(lon), micro(lat), micro(reach_deg)];
      return meets(1, 0, edges, [px - reach, py - reach, px + reach, py + reach]);
    },
  };
}

const ON = 2;

/** True when an edge has a point inside a box: no side of the box parts them, and corners lie on both sides of the edge. */
function isThrough(ax: number, ay: number, bx: number, by: number, [w, s, e, n]: Bbox): boolean {
  if (Math.max(ax, bx) <= w || Math.min(ax, bx) >= e || Math.max(ay, by) <= s || Math.min(ay, by) >= n) return false;
  const turn = (px: number, py: number) => (bx - ax) * (py - ay) - (by - ay) * (px - ax);
  const turns = [turn(w, s), turn(e, s), turn(w, n), turn(e, n)];
  return Math.min(...turns) < 0 && Math.max(...turns) > 0;
}

/** The ring with its first vertex at the end, too. */
function closed({ x, y }: MicroRing): MicroRing {
  const around = (axis: Float64Array) => {
    const whole = new Float64Array(axis.length + 1);
    whole.set(axis);
    whole[axis.length] = axis[0];
    return whole;
  };
  return { x: around(x), y: around(y) };
}
