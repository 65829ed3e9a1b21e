import type { Pixel } from './clip.ts';
import type { Rectangle } from './map-view.ts';

/** A label to be placed next to the point `x`, `y`. */
export interface LabelWish extends PlacedLabel {
  /** Distance from the point, pixels. */
  readonly gap: number;
}

/** A label with its box. */
export interface PlacedLabel extends Rectangle {
  readonly text: string;
}

/** Free space around a label, pixels. */
const MARGIN_PX = 3;

/**
 * Labels placed greedily in the order of `wishes`: each at one of eight positions around its point where it lies within
 * `area` and overlaps neither a placed label nor an obstacle: at the one that hides the fewest of the points `seen`, the first
 * of several. A label without such a position is omitted.
 */
export function placeLabels(
  wishes: readonly LabelWish[],
  area: Rectangle,
  obstacles: readonly Rectangle[],
  seen: readonly Pixel[] = [],
): PlacedLabel[] {
  const taken = [...obstacles];
  return wishes.flatMap((wish) => {
    const [box] = candidates(wish)
      .filter((place) => fits(place, area, taken))
      .map((place) => ({ ...place, hidden: seen.filter((point) => holds(place, point)).length }))
      .sort((a, b) => a.hidden - b.hidden);
    if (!box) return [];
    const { hidden, ...place } = box;
    taken.push(place);
    return [{ ...place, text: wish.text }];
  });
}

function holds({ x, y, width, height }: Rectangle, [px, py]: Pixel): boolean {
  return px >= x && px <= x + width && py >= y && py <= y + height;
}

/** True when a box lies within an area and clear of obstacles. */
export function fits(box: Rectangle, area: Rectangle, obstacles: readonly Rectangle[]): boolean {
  return (
    box.x >= area.x + MARGIN_PX &&
    box.y >= area.y + MARGIN_PX &&
    box.x + box.width <= area.x + area.width - MARGIN_PX &&
    box.y + box.height <= area.y + area.height - MARGIN_PX &&
    !obstacles.some((other) => overlap(box, other))
  );
}

/** Possible boxes of a label: right, left, above, below, then the corners. */
function candidates({ x, y, width, height, gap }: LabelWish): Rectangle[] {
  const right = x + gap;
  const left = x - gap - width;
  const middle = x - width / 2;
  const above = y - gap - height;
  const below = y + gap;
  return [
    [right, y - height / 2],
    [left, y - height / 2],
    [middle, above],
    [middle, below],
    [right, above],
    [left, above],
    [right, below],
    [left, below],
  ].map(([bx, by]) => ({ x: bx as number, y: by as number, width, height }));
}

function overlap(a: Rectangle, b: Rectangle): boolean {
  return (
    a.x < b.x + b.width + MARGIN_PX &&
    b.x < a.x + a.width + MARGIN_PX &&
    a.y < b.y + b.height + MARGIN_PX &&
    b.y < a.y + a.height + MARGIN_PX
  );
}
