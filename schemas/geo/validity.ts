import { type Bbox, boxesMeet } from './position.ts';
import { type MultiPolygon, signedArea } from './rings.ts';

/** A fault of a MultiPolygon, and the rings involved, numbered through all polygons in order. */
export interface Conflict {
  readonly reason: string;
  readonly rings: readonly number[];
}

/** A ring in hundredths of a degree, exact for corners of pixels; without the closing position. */
interface Outline {
  readonly ring: number;
  readonly polygon: number;
  readonly hole: boolean;
  /** Counter-clockwise. */
  readonly turnsLeft: boolean;
  readonly x: Float64Array;
  readonly y: Float64Array;
  readonly box: Bbox;
}

/** Edge `index` of an outline, from vertex `index` to the one after it. */
interface Edge {
  readonly outline: Outline;
  readonly index: number;
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
  const broken = brokenRings(polygons);
  if (broken.length > 0) return broken;
  const outlines = outlinesOf(polygons);
  const { conflicts: crossings, touches } = meetings(outlines);
  return [...crossings, ...touchConflicts(touches), ...nestingConflicts(outlines)];
}

function brokenRings(polygons: MultiPolygon): Conflict[] {
  return polygons.flat().flatMap((positions, ring) => {
    const texts = positions.map(String);
    if (positions.length < 4)
      return [{ reason: `ring ${ring} has ${positions.length} positions, expected 4 or more`, rings: [ring] }];
    if (texts[0] !== texts.at(-1)) return [{ reason: `ring ${ring} is not closed`, rings: [ring] }];
    if (new Set(texts).size !== texts.length - 1)
      return [{ reason: `ring ${ring} passes a position twice`, rings: [ring] }];
    return [];
  });
}

function outlinesOf(polygons: MultiPolygon): Outline[] {
  let ring = 0;
  return polygons.flatMap((rings, polygon) =>
    rings.map((positions, place) => {
      const open = positions.slice(0, -1).map((position) => position.map(hundredths));
      const x = Float64Array.from(open, (position) => position[0]);
      const y = Float64Array.from(open, (position) => position[1]);
      return { ring: ring++, polygon, hole: place > 0, turnsLeft: signedArea(open) > 0, x, y, box: boxOf(x, y) };
    }),
  );
}

function boxOf(x: Float64Array, y: Float64Array): Bbox {
  const least = (values: Float64Array) => values.reduce((a, b) => Math.min(a, b));
  const most = (values: Float64Array) => values.reduce((a, b) => Math.max(a, b));
  return [least(x), least(y), most(x), most(y)];
}

/** Integers for positions on the lattice, so that turns are decided exactly. */
function hundredths(deg: number): number {
  return Math.round(deg * 1e6) / 1e4;
}

/** Pairs of items whose boxes overlap or touch, each pair once. */
function* overlapping<Item extends { readonly box: Bbox }>(items: readonly Item[]): Generator<[Item, Item]> {
  const sorted = items.toSorted((a, b) => a.box[0] - b.box[0]);
  for (let i = 0; i < sorted.length; i++) {
    const a = sorted[i] as Item;
    for (let j = i + 1; j < sorted.length; j++) {
      const b = sorted[j] as Item;
      if (b.box[0] > a.box[2]) break;
      if (b.box[1] <= a.box[3] && b.box[3] >= a.box[1]) yield [a, b];
    }
  }
}

/** Meetings of edges: crossings and overlaps are conflicts, vertices common to two rings are touches. */
function meetings(outlines: readonly Outline[]): { conflicts: Conflict[]; touches: Touch[] } {
  const conflicts: Conflict[] = [];
  const touches: Touch[] = [];
  for (const [a, b] of overlapping(outlines.flatMap(edgesOf))) {
    const meeting = meet(a, b);
    if (meeting === 'apart') continue;
    if (meeting === 'conflict') {
      const place = `${edgeX(a, 0) / 100} ${edgeY(a, 0) / 100}`;
      const rings = [a.outline.ring, b.outline.ring].sort((one, other) => one - other);
      conflicts.push({ reason: `rings ${rings.join(' and ')} cross or overlap near ${place}`, rings });
    } else if (a.outline !== b.outline) {
      touches.push({ a: a.outline, ai: meeting.ai, b: b.outline, bi: meeting.bi });
    }
  }
  return { conflicts, touches };
}

function edgesOf(outline: Outline): Edge[] {
  return Array.from(outline.x, (x1, index) => {
    const y1 = outline.y[index];
    const after = (index + 1) % outline.x.length;
    const x2 = outline.x[after];
    const y2 = outline.y[after];
    return { outline, index, box: [Math.min(x1, x2), Math.min(y1, y2), Math.max(x1, x2), Math.max(y1, y2)] };
  });
}

/** Vertex number of the start (0) or end (1) of an edge. */
function vertexOf({ outline, index }: Edge, end: 0 | 1): number {
  return (index + end) % outline.x.length;
}

function edgeX(edge: Edge, end: 0 | 1): number {
  return edge.outline.x[vertexOf(edge, end)];
}

function edgeY(edge: Edge, end: 0 | 1): number {
  return edge.outline.y[vertexOf(edge, end)];
}

/** Sign of the turn from a to b to c: positive to the left. */
function turn(ax: number, ay: number, bx: number, by: number, cx: number, cy: number): number {
  return Math.sign((bx - ax) * (cy - ay) - (by - ay) * (cx - ax));
}

/** Meeting of two edges: none, at an end of both, or one that no valid polygon has. */
function meet(a: Edge, b: Edge): 'apart' | 'conflict' | { ai: number; bi: number } {
  const [ax, ay, bx, by] = [edgeX(a, 0), edgeY(a, 0), edgeX(a, 1), edgeY(a, 1)];
  const [cx, cy, dx, dy] = [edgeX(b, 0), edgeY(b, 0), edgeX(b, 1), edgeY(b, 1)];
  const c = turn(ax, ay, bx, by, cx, cy);
  const d = turn(ax, ay, bx, by, dx, dy);
  const e = turn(cx, cy, dx, dy, ax, ay);
  const f = turn(cx, cy, dx, dy, bx, by);
  if (c === 0 && d === 0) return meetOnLine(a, b);
  if (c * d > 0 || e * f > 0) return 'apart';
  return commonEnd(a, b) ?? 'conflict';
}

/** Edges on one line: their boxes overlap, so they share an end or more than that. */
function meetOnLine(a: Edge, b: Edge): 'conflict' | { ai: number; bi: number } {
  const end = commonEnd(a, b);
  if (!end) return 'conflict';
  const [ax, ay] = [edgeX(a, 0) + edgeX(a, 1), edgeY(a, 0) + edgeY(a, 1)];
  const [bx, by] = [edgeX(b, 0) + edgeX(b, 1), edgeY(b, 0) + edgeY(b, 1)];
  const [x, y] = [2 * a.outline.x[end.ai], 2 * a.outline.y[end.ai]];
  return (ax - x) * (bx - x) + (ay - y) * (by - y) > 0 ? 'conflict' : end;
}

function commonEnd(a: Edge, b: Edge): { ai: number; bi: number } | null {
  for (const i of [0, 1] as const)
    for (const j of [0, 1] as const)
      if (edgeX(a, i) === edgeX(b, j) && edgeY(a, i) === edgeY(b, j)) return { ai: vertexOf(a, i), bi: vertexOf(b, j) };
  return null;
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
  for (const { a, ai, b, bi } of touches) {
    const place = `${a.x[ai] / 100} ${a.y[ai] / 100}`;
    const rings = [a.ring, b.ring];
    if (seen.has(`${rings} ${place}`)) continue;
    seen.add(`${rings} ${place}`).add(`${[b.ring, a.ring]} ${place}`);
    if (passThrough(a, ai, b, bi)) conflicts.push({ reason: `rings ${a.ring} and ${b.ring} cross at ${place}`, rings });
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
function passThrough(a: Outline, ai: number, b: Outline, bi: number): boolean {
  const x = a.x[ai];
  const y = a.y[ai];
  const angle = (outline: Outline, vertex: number): number => {
    const i = (vertex + outline.x.length) % outline.x.length;
    return Math.atan2(outline.y[i] - y, outline.x[i] - x);
  };
  const from = angle(a, ai - 1);
  const between = (edge: number): boolean => {
    const turnOf = (to: number) => (to - from + 2 * Math.PI) % (2 * Math.PI);
    return turnOf(edge) < turnOf(angle(a, ai + 1));
  };
  return between(angle(b, bi - 1)) !== between(angle(b, bi + 1));
}

/** Wrong winding, holes outside their shell or inside each other, polygons inside polygons. */
function nestingConflicts(outlines: readonly Outline[]): Conflict[] {
  const conflicts: Conflict[] = [];
  for (const outline of outlines)
    if (outline.turnsLeft === outline.hole) {
      const expected = outline.hole ? 'clockwise' : 'counter-clockwise';
      conflicts.push({
        reason: `ring ${outline.ring} winds the wrong way, expected ${expected}`,
        rings: [outline.ring],
      });
    }

  const polygons = [...Map.groupBy(outlines, (outline) => outline.polygon).values()].map((rings) => {
    const shell = rings[0] as Outline;
    return { shell, holes: rings.slice(1), box: shell.box };
  });
  for (const { shell, holes } of polygons) {
    for (const hole of holes)
      if (!inside(hole, shell))
        conflicts.push({
          reason: `hole ${hole.ring} is outside its shell ${shell.ring}`,
          rings: [hole.ring, shell.ring],
        });
    for (const [a, b] of overlapping(holes))
      if (inside(a, b) || inside(b, a))
        conflicts.push({ reason: `holes ${a.ring} and ${b.ring} are nested`, rings: [a.ring, b.ring] });
  }
  for (const [a, b] of overlapping(polygons))
    for (const [inner, outer] of [
      [a, b],
      [b, a],
    ] as const)
      if (inside(inner.shell, outer.shell) && !outer.holes.some((hole) => inside(inner.shell, hole))) {
        const near = outer.holes.filter((hole) => boxesMeet(hole.box, inner.box));
        conflicts.push({
          reason: `shell ${inner.shell.ring} lies inside the polygon of shell ${outer.shell.ring}`,
          rings: [inner.shell, outer.shell, ...near].map((outline) => outline.ring),
        });
      }
  return conflicts;
}

/** True when a ring lies inside another one that it does not cross: decided by its first vertex or edge middle off the other. */
function inside(inner: Outline, outer: Outline): boolean {
  if (!boxesMeet(inner.box, outer.box)) return false;
  const { x, y } = inner;
  for (const share of [0, 1 / 2])
    for (let i = 0; i < x.length; i++) {
      const [ax, ay] = [x[i], y[i]];
      const [bx, by] = [x[(i + 1) % x.length], y[(i + 1) % x.length]];
      const side = sideOf(outer, ax + share * (bx - ax), ay + share * (by - ay));
      if (side !== 0) return side > 0;
    }
  return true;
}

/** 1 inside a ring, -1 outside, 0 on it. */
function sideOf({ x, y }: Outline, px: number, py: number): -1 | 0 | 1 {
  let within = false;
  for (let i = 0, j = x.length - 1; i < x.length; j = i++) {
    const [ax, ay, bx, by] = [x[j], y[j], x[i], y[i]] as [number, number, number, number];
    const side = turn(ax, ay, bx, by, px, py);
    const withinBox =
      Math.min(ax, bx) <= px && px <= Math.max(ax, bx) && Math.min(ay, by) <= py && py <= Math.max(ay, by);
    if (side === 0 && withinBox) return 0;
    if (ay > py !== by > py && side > 0 === by > ay) within = !within;
  }
  return within ? 1 : -1;
}
