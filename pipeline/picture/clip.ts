import type { Rectangle } from './map-view.ts';

/** A position in the picture, pixels. */
export type Pixel = readonly [x: number, y: number];

/** Parts of a line that may show in a rectangle: without the segments beyond one of its sides. */
export function visibleParts(line: readonly Pixel[], { x, y, width, height }: Rectangle): Pixel[][] {
  const isBeyond = ([ax, ay]: Pixel, [bx, by]: Pixel) =>
    Math.max(ax, bx) < x || Math.min(ax, bx) > x + width || Math.max(ay, by) < y || Math.min(ay, by) > y + height;
  const parts: Pixel[][] = [];
  let isOpen = false;
  for (let i = 1; i < line.length; i++) {
    const [from, to] = [line[i - 1], line[i]];
    if (isBeyond(from, to)) isOpen = false;
    else if (isOpen) parts.at(-1)?.push(to);
    else {
      parts.push([from, to]);
      isOpen = true;
    }
  }
  return parts;
}

/**
 * Intersection of a ring with a rectangle; the ring must not repeat its first corner.
 * Source: Sutherland and Hodgman 1974, Reentrant Polygon Clipping.
 */
export function clipRing(ring: readonly Pixel[], { x, y, width, height }: Rectangle): Pixel[] {
  const sides: readonly (readonly [axis: 0 | 1, limit: number, sign: 1 | -1])[] = [
    [0, x, 1],
    [0, x + width, -1],
    [1, y, 1],
    [1, y + height, -1],
  ];
  let kept = [...ring];
  for (const [axis, limit, sign] of sides) {
    const isInside = (corner: Pixel) => sign * (corner[axis] - limit) >= 0;
    kept = kept.flatMap((corner, i): Pixel[] => {
      const previous = kept.at(i - 1) as Pixel;
      const crossing = isInside(previous) === isInside(corner) ? [] : [crossingOf(previous, corner, axis, limit)];
      return isInside(corner) ? [...crossing, corner] : crossing;
    });
  }
  return kept;
}

/** Intersection of the segment between two corners with a line parallel to a side. */
function crossingOf(a: Pixel, b: Pixel, axis: 0 | 1, limit: number): Pixel {
  const share = (limit - a[axis]) / (b[axis] - a[axis]);
  const other = a[1 - axis] + share * (b[1 - axis] - a[1 - axis]);
  return axis === 0 ? [limit, other] : [other, limit];
}
