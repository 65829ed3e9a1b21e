import { bbox } from '@turf/bbox';
import { booleanPointInPolygon } from '@turf/boolean-point-in-polygon';
import { turn } from './hull.ts';
import { type Bbox, boxesMeet } from './position.ts';
import { type MultiPolygon, type Ring, signedArea } from './rings.ts';

/** A fault of a MultiPolygon, and the rings involved, numbered through all polygons in order. */
export interface Conflict {
  readonly reason: string;
  readonly rings: readonly number[];
}

/** A ring in hundredths of a degree, exact for corners of pixels; `points` without the closing position. */
interface Outline {
  readonly ring: number;
  readonly polygon: number;
  readonly isHole: boolean;
  readonly points: Ring;
  readonly box: Bbox;
}

/** Edge `index` of an outline, from vertex `index` to the one after it. */
interface Edge {
  readonly outline: Outline;
  readonly index: number;
  readonly ends: readonly [number[], number[]];
  readonly box: Bbox;
}

/** A vertex position that two outlines share, with its index in each. */
interface Touch {
  readonly a: Outline;
  readonly ai: number;
  readonly b: Outline;
  readonly bi: number;
}

/**
 * Everything that makes a MultiPolygon invalid; empty when it is valid. Valid as OGC and RFC 7946 have it, and a little stricter:
 * rings are closed, simple and wound shell counter-clockwise, hole clockwise; holes lie in their shell and not in each other;
 * interiors of polygons are disjoint and connected; rings may meet, but only at positions that are vertices of both.
 */
export function findConflicts(polygons: MultiPolygon): Conflict[] {
  const broken = polygons.flat().flatMap((positions, ring) => {
    const reason = faultOf(positions);
    return reason === null ? [] : [{ reason: `ring ${ring} ${reason}`, rings: [ring] }];
  });
  if (broken.length > 0) return broken;
  const outlines = outlinesOf(polygons);
  const { conflicts: crossings, touches } = meetings(outlines);
  return [...crossings, ...touchConflicts(touches), ...nestingConflicts(outlines)];
}

function faultOf(positions: Ring): string | null {
  const texts = positions.map(String);
  if (texts.length < 4) return `has ${texts.length} positions, expected 4 or more`;
  if (texts[0] !== texts.at(-1)) return 'is not closed';
  return new Set(texts).size === texts.length - 1 ? null : 'passes a position twice';
}

function outlinesOf(polygons: MultiPolygon): Outline[] {
  const rings = polygons.flatMap((ofPolygon, polygon) =>
    ofPolygon.map((positions, place) => ({ positions, polygon, isHole: place > 0 })),
  );
  return rings.map(({ positions, ...of }, ring) => {
    // Integers for positions on the lattice, so that turns are decided exactly.
    const points = positions.slice(0, -1).map((position) => position.map((deg) => Math.round(deg * 1e6) / 1e4));
    return { ...of, ring, points, box: boxOf(points) };
  });
}

function boxOf(coordinates: Ring): Bbox {
  return bbox({ type: 'LineString', coordinates }) as [number, number, number, number];
}

/** Pairs of items whose boxes overlap or touch, each pair once. */
function* overlapping<Item extends { readonly box: Bbox }>(items: readonly Item[]): Generator<[Item, Item]> {
  const sorted = items.toSorted((a, b) => a.box[0] - b.box[0]);
  for (const [i, a] of sorted.entries())
    for (let j = i + 1; j < sorted.length && sorted[j].box[0] <= a.box[2]; j++)
      if (sorted[j].box[1] <= a.box[3] && sorted[j].box[3] >= a.box[1]) yield [a, sorted[j]];
}

/** Meetings of edges: crossings and overlaps are conflicts, vertices common to two rings are touches. */
function meetings(outlines: readonly Outline[]): { conflicts: Conflict[]; touches: Touch[] } {
  const conflicts: Conflict[] = [];
  const touches: Touch[] = [];
  for (const [a, b] of overlapping(outlines.flatMap(edgesOf))) {
    const meeting = meet(a, b);
    if (meeting === 'conflict') {
      const rings = [a.outline.ring, b.outline.ring].sort((one, other) => one - other);
      const reason = `rings ${rings.join(' and ')} cross or overlap near ${placeOf(a.ends[0])}`;
      conflicts.push({ reason, rings });
    } else if (meeting !== null && a.outline !== b.outline) touches.push(meeting);
  }
  return { conflicts, touches };
}

function edgesOf(outline: Outline): Edge[] {
  const { points } = outline;
  return points.map((from, index) => {
    const to = points[(index + 1) % points.length];
    const [[ax, ay], [bx, by]] = [from, to];
    const box: Bbox = [Math.min(ax, bx), Math.min(ay, by), Math.max(ax, bx), Math.max(ay, by)];
    return { outline, index, ends: [from, to], box };
  });
}

function placeOf([x, y]: readonly number[]): string {
  return `${x / 100} ${y / 100}`;
}

/** Meeting of two edges whose boxes meet: none, at an end of both, or one that no valid polygon has. */
function meet(a: Edge, b: Edge): Touch | 'conflict' | null {
  const [[a0, a1], [b0, b1]] = [a.ends, b.ends];
  const [c, d] = [turn(a0, a1, b0), turn(a0, a1, b1)];
  const isOnLine = c === 0 && d === 0;
  if (!isOnLine && (c * d > 0 || turn(b0, b1, a0) * turn(b0, b1, a1) > 0)) return null;
  for (const i of [0, 1] as const)
    for (const j of [0, 1] as const) {
      const [[x, y], [bx, by]] = [a.ends[i], b.ends[j]];
      if (x !== bx || y !== by) continue;
      const [[ax, ay], [cx, cy]] = [a.ends[1 - i], b.ends[1 - j]];
      if (isOnLine && (ax - x) * (cx - x) + (ay - y) * (cy - y) > 0) return 'conflict';
      const vertex = ({ outline, index }: Edge, end: number) => (index + end) % outline.points.length;
      return { a: a.outline, ai: vertex(a, i), b: b.outline, bi: vertex(b, j) };
    }
  return 'conflict';
}

/** Rings that meet at a vertex must not pass through each other there, nor cut the interior of their polygon in two. */
function touchConflicts(touches: readonly Touch[]): Conflict[] {
  const conflicts: Conflict[] = [];
  const joined = new Map<string, string>();
  const rootOf = (node: string): string => {
    let root = node;
    while (joined.has(root)) root = joined.get(root) as string;
    return root;
  };
  const seen = new Set<string>();
  for (const touch of touches) {
    const { a, ai, b } = touch;
    const place = placeOf(a.points[ai]);
    const rings = [a.ring, b.ring];
    if (seen.has(`${rings} ${place}`)) continue;
    seen.add(`${rings} ${place}`).add(`${[b.ring, a.ring]} ${place}`);
    if (passThrough(touch)) conflicts.push({ reason: `rings ${a.ring} and ${b.ring} cross at ${place}`, rings });
    if (a.polygon !== b.polygon) continue;
    for (const ring of rings) {
      const link = `${ring} ${place}`;
      if (seen.has(link)) continue;
      seen.add(link);
      const [from, to] = [rootOf(`ring ${ring}`), rootOf(`place ${place} of ${a.polygon}`)];
      if (from === to) conflicts.push({ reason: `polygon ${a.polygon} is cut in two at ${place}`, rings });
      else joined.set(from, to);
    }
  }
  return conflicts;
}

/** True when, around a common vertex, one of b's two edges lies on each side of a. */
function passThrough({ a, ai, b, bi }: Touch): boolean {
  const [x, y] = a.points[ai];
  const angle = ({ points }: Outline, vertex: number): number => {
    const [px, py] = points.at(vertex % points.length) as number[];
    return Math.atan2(py - y, px - x);
  };
  const from = angle(a, ai - 1);
  const turnTo = (to: number) => (to - from + 2 * Math.PI) % (2 * Math.PI);
  const isBetween = (edge: number) => turnTo(edge) < turnTo(angle(a, ai + 1));
  return isBetween(angle(b, bi - 1)) !== isBetween(angle(b, bi + 1));
}

/** Wrong winding, holes outside their shell or inside each other, polygons inside polygons. */
function nestingConflicts(outlines: readonly Outline[]): Conflict[] {
  const fault = (reason: string, ...of: readonly Outline[]) => ({ reason, rings: of.map(({ ring }) => ring) });
  const polygons = Array.from(Map.groupBy(outlines, ({ polygon }) => polygon).values(), ([shell, ...holes]) => ({
    ...{ shell, holes, box: shell.box },
  }));
  const wound = outlines.filter(({ points, isHole }) => signedArea(points) > 0 === isHole);
  return [
    ...wound.map((of) =>
      fault(`ring ${of.ring} winds the wrong way, expected ${of.isHole ? 'clockwise' : 'counter-clockwise'}`, of),
    ),
    ...polygons.flatMap(({ shell, holes }) => [
      ...holes
        .filter((hole) => !inside(hole, shell))
        .map((hole) => fault(`hole ${hole.ring} is outside its shell ${shell.ring}`, hole, shell)),
      ...[...overlapping(holes)]
        .filter(([a, b]) => inside(a, b) || inside(b, a))
        .map(([a, b]) => fault(`holes ${a.ring} and ${b.ring} are nested`, a, b)),
    ]),
    ...[...overlapping(polygons)]
      .flatMap(([a, b]) => [[a, b] as const, [b, a] as const])
      .filter(([{ shell }, outer]) => inside(shell, outer.shell) && !outer.holes.some((hole) => inside(shell, hole)))
      .map(([{ shell }, outer]) => {
        const near = outer.holes.filter(({ box }) => boxesMeet(box, shell.box));
        const reason = `shell ${shell.ring} lies inside the polygon of shell ${outer.shell.ring}`;
        return fault(reason, shell, outer.shell, ...near);
      }),
  ];
}

/** True when a ring lies inside another one that it does not cross: decided by its first vertex or edge middle off the other. */
function inside(inner: Outline, { points, box }: Outline): boolean {
  if (!boxesMeet(inner.box, box)) return false;
  const area = { type: 'Polygon' as const, coordinates: [[...points, points[0]]] };
  const middles = edgesOf(inner).map(({ ends: [a, b] }) => [(a[0] + b[0]) / 2, (a[1] + b[1]) / 2]);
  const off = [...inner.points, ...middles].find(
    (at) => !booleanPointInPolygon(at, area) || booleanPointInPolygon(at, area, { ignoreBoundary: true }),
  );
  return off === undefined || booleanPointInPolygon(off, area);
}
