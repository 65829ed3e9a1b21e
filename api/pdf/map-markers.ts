import type { Position } from '../../schemas/geo/position.ts';

/** A place on the page, points. */
export interface PagePoint {
  readonly x: number;
  readonly y: number;
}

/** A part of the page, points. */
export interface Box {
  readonly left: number;
  readonly top: number;
  readonly right: number;
  readonly bottom: number;
}

/** A numbered report on a map: its place, and the place of its number. */
export interface Marker {
  readonly key: number;
  readonly at: PagePoint;
  readonly label: PagePoint;
}

export const MARKER_RADIUS = 5;
const CLEARANCE = 0.5;
const STEPS = [0, 14, 25] as const;
const DIRECTIONS = 8;

/**
 * Numbers for positions on a map, in their order from 1. A number that would cover an earlier number or a box of `keep_clear`
 * moves to the first free place of sixteen within the frame; without a free place it stays.
 */
export function placeMarkers(
  positions: readonly Position[],
  spotOf: (position: Position) => PagePoint,
  { frame, keep_clear }: { readonly frame: Box; readonly keep_clear: readonly Box[] },
): Marker[] {
  const taken: PagePoint[] = [];
  const isFree = (spot: PagePoint) =>
    isInside(spot, frame) &&
    keep_clear.every((box) => isClearOf(spot, box)) &&
    taken.every((other) => isApart(spot, other));
  return positions.map((position, k) => {
    const at = spotOf(position);
    const label = spotsAround(at).find(isFree) ?? at;
    taken.push(label);
    return { key: k + 1, at, label };
  });
}

function spotsAround({ x, y }: PagePoint): PagePoint[] {
  return STEPS.flatMap((step) =>
    Array.from({ length: step === 0 ? 1 : DIRECTIONS }, (_, k) => {
      const angle = (2 * Math.PI * k) / DIRECTIONS - Math.PI / 4;
      return { x: x + step * Math.cos(angle), y: y + step * Math.sin(angle) };
    }),
  );
}

function isApart(a: PagePoint, b: PagePoint): boolean {
  return Math.hypot(a.x - b.x, a.y - b.y) >= 2 * MARKER_RADIUS + CLEARANCE;
}

/** Whether a number at this spot lies entirely inside a box. */
function isInside({ x, y }: PagePoint, { left, top, right, bottom }: Box): boolean {
  return Math.min(x - left, right - x, y - top, bottom - y) >= MARKER_RADIUS + CLEARANCE;
}

function isClearOf({ x, y }: PagePoint, { left, top, right, bottom }: Box): boolean {
  const across = Math.max(left - x, 0, x - right);
  const down = Math.max(top - y, 0, y - bottom);
  return Math.hypot(across, down) >= MARKER_RADIUS + CLEARANCE;
}
