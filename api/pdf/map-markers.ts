import type { Position } from '../../schemas/geo/position.ts';

/** A place on the page, points. */
export interface Spot {
  readonly x: number;
  readonly y: number;
}

/** A numbered report on a map: where it was, and where its number stands. */
export interface Marker {
  readonly key: number;
  readonly at: Spot;
  readonly label: Spot;
}

export const MARKER_RADIUS = 5;
const STEPS = [0, 14, 25] as const;
const DIRECTIONS = 8;

/**
 * Numbers for positions on a map, in their order from 1. A number that would cover an earlier one or what is to be
 * kept clear moves aside, in the first of sixteen places that is free; where none is, it stays.
 */
export function placeMarkers(
  positions: readonly Position[],
  spotOf: (position: Position) => Spot,
  keep_clear: readonly Spot[],
): Marker[] {
  const taken = [...keep_clear];
  return positions.map((position, k) => {
    const at = spotOf(position);
    const label = spotsAround(at).find((spot) => taken.every((other) => isClear(spot, other))) ?? at;
    taken.push(label);
    return { key: k + 1, at, label };
  });
}

function spotsAround({ x, y }: Spot): Spot[] {
  return STEPS.flatMap((step) =>
    Array.from({ length: step === 0 ? 1 : DIRECTIONS }, (_, k) => {
      const angle = (2 * Math.PI * k) / DIRECTIONS - Math.PI / 4;
      return { x: x + step * Math.cos(angle), y: y + step * Math.sin(angle) };
    }),
  );
}

function isClear(a: Spot, b: Spot): boolean {
  return Math.hypot(a.x - b.x, a.y - b.y) >= 2 * MARKER_RADIUS + 0.5;
}
