import type { Position } from '../../schemas/geo/position.ts';
import type { Ring } from '../../schemas/geo/rings.ts';
import { edgeTree, toMicroRing, turnTo } from './geo/micro-ring.ts';

/** Indexes the edges of a closed ring. Exact to a millionth of a degree, to which positions are rounded. */
export function ringTree(ring: Ring) {
  const { x, y } = toMicroRing(ring);
  const tree = edgeTree({ x, y });
  const edgeAt = (edge: number) => {
    const end = (edge + 1) % x.length;
    return [x[edge], y[edge], x[end], y[end]] as const;
  };
  const micro = (degrees: number) => Math.round(degrees * 1e6);
  return {
    /** True for a position inside the ring or on it. */
    holds: ({ lat, lon }: Position): boolean => {
      const [px, py] = [micro(lon), micro(lat)];
      let isInside = false;
      // Edges that a ray to the east may cross.
      for (const edge of tree.search(px, py, Number.POSITIVE_INFINITY, py)) {
        const [ax, ay, bx, by] = edgeAt(edge);
        const turn = turnTo(ax, ay, bx, by, px, py);
        if (turn === 0 && px >= Math.min(ax, bx)) return true;
        if (ay > py !== by > py && turn > 0 === by > ay) isInside = !isInside;
      }
      return isInside;
    },
    /** True when the ring passes through the interior of the square of half side `reach_deg` around a position. */
    passesThrough: ({ lat, lon }: Position, reach_deg: number): boolean => {
      const [px, py, reach] = [micro(lon), micro(lat), micro(reach_deg)];
      const [w, s, e, n] = [px - reach, py - reach, px + reach, py + reach];
      return tree.search(w, s, e, n).some((edge) => {
        const [ax, ay, bx, by] = edgeAt(edge);
        if (Math.max(ax, bx) <= w || Math.min(ax, bx) >= e || Math.max(ay, by) <= s || Math.min(ay, by) >= n)
          return false;
        // An edge passes through the square when corners lie on both sides of it.
        const turns = [s, n].flatMap((y) => [w, e].map((x) => turnTo(ax, ay, bx, by, x, y)));
        return Math.min(...turns) < 0 && Math.max(...turns) > 0;
      });
    },
  };
}
export type RingTree = ReturnType<typeof ringTree>;
