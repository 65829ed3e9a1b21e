import type { Position } from '../../schemas/geo/position.ts';
import { BASEMAP, sizeColor } from '../../schemas/palette.ts';
import { SIZE_BANDS } from '../../schemas/size.ts';
import type { Pixel } from './clip.ts';
import { fits, type LabelWish, type PlacedLabel, placeLabels } from './labels.ts';
import type { MapView, Rectangle } from './map-view.ts';
import { element, linePath, text } from './svg.ts';
import { inches } from './words.ts';

/** A storm as a dot: at the position of its peak on a day, at its current position in a scan. */
export interface Storm extends Position {
  readonly mm: number;
  /** Position after the lead time; null on a day and while the motion is unknown. */
  readonly ahead: Position | null;
}

const MAX_LABELS = 14;
const LABEL_PX = 11.5;
/** Width of a letter as a share of the font size. */
const LETTER = 0.58;
const ARROW_PX = 7;
/** Gap between a storm's dot and its label, pixels. */
const CLEAR_PX = 4;

/** Path of a storm: a thin line over a wider light one. */
export function drawPath(view: MapView, path: readonly Position[]): string {
  const d = linePath(
    view,
    path.map(({ lat, lon }) => [lon, lat]),
  );
  const line = { d, fill: 'none', 'stroke-linejoin': 'round', 'stroke-linecap': 'round' };
  return [
    element('path', { ...line, stroke: '#ffffff', 'stroke-width': 3.4, opacity: 0.75 }),
    element('path', { ...line, stroke: BASEMAP.track, 'stroke-width': 1.3, opacity: 0.85 }),
  ].join('');
}

/** A storm's dot, and an arrow to its position after the lead time. */
export function drawStorm(view: MapView, storm: Storm): string {
  const [x, y] = view.project(storm.lon, storm.lat);
  if (!storm.ahead) return drawDot(x, y, storm.mm);
  const [tipX, tipY] = view.project(storm.ahead.lon, storm.ahead.lat);
  return drawArrow(x, y, tipX, tipY) + drawDot(x, y, storm.mm);
}

/** Dot of a storm in the colour of its size. */
export function drawDot(x: number, y: number, mm: number): string {
  return element('circle', {
    cx: x,
    cy: y,
    r: radius(mm),
    fill: sizeColor(mm).color,
    stroke: BASEMAP.ink,
    'stroke-width': 1.1,
  });
}

/** Radius of a storm's dot, pixels; it grows with the size of the hail. */
function radius(mm: number): number {
  return 2.2 + Math.min(mm, 100) / 32;
}

/** An arrow between two points of the picture. */
export function drawArrow(x: number, y: number, tipX: number, tipY: number): string {
  const angle = (Math.atan2(tipY - y, tipX - x) * 180) / Math.PI;
  return [
    element('path', {
      d: `M${x.toFixed(1)} ${y.toFixed(1)}L${tipX.toFixed(1)} ${tipY.toFixed(1)}`,
      stroke: BASEMAP.ink,
      'stroke-width': 1.4,
    }),
    element('path', {
      d: `M0 0L${-ARROW_PX} ${-ARROW_PX / 2}V${ARROW_PX / 2}Z`,
      fill: BASEMAP.ink,
      transform: `translate(${tipX.toFixed(1)} ${tipY.toFixed(1)}) rotate(${angle.toFixed(1)})`,
    }),
  ].join('');
}

/**
 * Size labels of the largest storms in view that reach the smallest size band, as many as fit clear of the obstacles,
 * off the outline of the hail where there is room. `storms`: smallest first.
 */
export function labelStorms(
  view: MapView,
  storms: readonly Storm[],
  kept: readonly Rectangle[],
  outline: readonly Pixel[],
): PlacedLabel[] {
  const severe = storms
    .filter((storm) => storm.mm >= SIZE_BANDS[0].threshold_mm)
    .map((storm) => ({ storm, dot: dotBox(view, storm) }))
    .filter(({ dot }) => fits(dot, view.area, []))
    .reverse();
  const wishes = severe.map(({ storm, dot }): LabelWish => {
    const label = `${inches(storm.mm, 1)} · ${Math.round(storm.mm)} mm`;
    return {
      x: dot.x + dot.width / 2,
      y: dot.y + dot.height / 2,
      width: label.length * LABEL_PX * LETTER,
      height: LABEL_PX + 3,
      text: label,
      gap: dot.width / 2 + CLEAR_PX,
    };
  });
  const obstacles = severe.slice(0, 3 * MAX_LABELS).flatMap(({ storm, dot }) => [dot, ...arrowTip(view, storm)]);
  return placeLabels(wishes, view.area, [...kept, ...obstacles], outline).slice(0, MAX_LABELS);
}

function dotBox(view: MapView, storm: Storm): Rectangle {
  const [x, y] = view.project(storm.lon, storm.lat);
  return square(x, y, radius(storm.mm));
}

function arrowTip(view: MapView, { ahead }: Storm): Rectangle[] {
  if (!ahead) return [];
  const [x, y] = view.project(ahead.lon, ahead.lat);
  return [square(x, y, ARROW_PX / 2)];
}

function square(x: number, y: number, half: number): Rectangle {
  return { x: x - half, y: y - half, width: 2 * half, height: 2 * half };
}

/** A label with a light halo. */
export function drawLabel(label: PlacedLabel): string {
  return text(label.text, label.x, label.y + label.height / 2 + LABEL_PX * 0.36, {
    'font-size': LABEL_PX,
    'font-weight': 600,
    fill: BASEMAP.ink,
    stroke: '#ffffff',
    'stroke-width': 3,
    'stroke-linejoin': 'round',
    'paint-order': 'stroke',
  });
}
