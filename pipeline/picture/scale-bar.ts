import { BASEMAP } from '../../schemas/palette.ts';
import { METRES_PER_MILE } from '../../schemas/units.ts';
import type { MapView, Rectangle } from './map-view.ts';
import { element, text } from './svg.ts';

const SCALE_STEPS_KM = [5, 10, 20, 25, 50, 100, 200, 250, 500, 1000];
const SCALE_MAX_PX = 170;

/** Where the scale bar stands: the lower right corner of the map. */
export function scaleBox({ x, y, width, height }: Rectangle): Rectangle {
  return { x: x + width - SCALE_MAX_PX - 28, y: y + height - 62, width: SCALE_MAX_PX + 18, height: 40 };
}

/** A bar of a round number of kilometres, true in the middle of the map. */
export function drawScaleBar(view: MapView): string {
  const km = SCALE_STEPS_KM.findLast((step) => step / view.km_per_px <= SCALE_MAX_PX) ?? SCALE_STEPS_KM[0];
  const length = km / view.km_per_px;
  const right = view.area.x + view.area.width - 24;
  const y = view.area.y + view.area.height - 32;
  const line = `M${(right - length).toFixed(1)} ${y - 4}V${y}H${right}V${y - 4}`;
  return [
    element('path', { d: line, fill: 'none', stroke: '#ffffff', 'stroke-width': 4, opacity: 0.8 }),
    element('path', { d: line, fill: 'none', stroke: BASEMAP.ink, 'stroke-width': 1.3 }),
    text(`${km} km · ${Math.round((1000 * km) / METRES_PER_MILE)} mi`, right - length / 2, y - 9, {
      'font-size': 11,
      fill: BASEMAP.ink,
      'text-anchor': 'middle',
      stroke: '#ffffff',
      'stroke-width': 3,
      'paint-order': 'stroke',
    }),
  ].join('\n');
}
