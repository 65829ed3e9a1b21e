import { BASEMAP, type SizeColor } from '../../schemas/palette.ts';
import { SIZE_BANDS } from '../../schemas/size.ts';
import { METRES_PER_MILE } from '../../schemas/units.ts';
import { drawHatch } from './coverage.ts';
import type { MapView, Rectangle } from './map-view.ts';
import { drawArrow, drawDot } from './storm-layer.ts';
import { element, text } from './svg.ts';
import { inches, thousands } from './words.ts';

/** Size of the picture, pixels, and the rectangle of its map between header and legend. */
export const PAGE = { width: 1200, height: 932 } as const;
export const MAP: Rectangle = { x: 24, y: 96, width: PAGE.width - 48, height: 720 };

/** Content of the header. */
export interface Heading {
  readonly title: string;
  readonly summary: string;
  /** Time of the data in words. */
  readonly time: string;
  readonly attribution: string;
  readonly simulated: boolean;
}

/** Title, summary, time and source of the data; a badge when they are simulated. */
export function drawHeader({ title, summary, time, attribution, simulated }: Heading): string {
  const caution = ['Radar estimate, not a ground measurement', time, `source: ${attribution}`].join('  ·  ');
  return [
    text(title, MAP.x, 42, { 'font-size': 27, 'font-weight': 700, fill: BASEMAP.ink }),
    text(summary, MAP.x, 64, { 'font-size': 13.5, fill: BASEMAP.ink }),
    text(caution, MAP.x, 83, { 'font-size': 12, fill: BASEMAP.faint }),
    simulated ? badge('SIMULATED · NOT REAL WEATHER') : '',
  ].join('\n');
}

function badge(label: string): string {
  const width = 310;
  const x = PAGE.width - MAP.x - width;
  return [
    element('rect', { x, y: 20, width, height: 30, rx: 15, fill: BASEMAP.warning }),
    text(label, x + width / 2, 40, {
      'font-size': 13,
      'font-weight': 700,
      fill: '#ffffff',
      'text-anchor': 'middle',
      'letter-spacing': 0.6,
    }),
  ].join('\n');
}

/** A faint word across the map. */
export function drawWatermark(): string {
  const x = MAP.x + MAP.width / 2;
  const y = MAP.y + MAP.height / 2;
  return text('SIMULATED', x, y + 50, {
    'font-size': 150,
    'font-weight': 700,
    fill: BASEMAP.warning,
    opacity: 0.07,
    'text-anchor': 'middle',
    'letter-spacing': 12,
    transform: `rotate(-18 ${x} ${y})`,
  });
}

/** A sentence in the middle of the map. */
export function drawNote(message: string): string {
  return text(message, MAP.x + MAP.width / 2, MAP.y + MAP.height / 2, {
    'font-size': 20,
    fill: BASEMAP.faint,
    'text-anchor': 'middle',
  });
}

/** A mark at the left end of a line of the legend, and its label. */
export type LegendMark = readonly [draw: (x: number, y: number) => string, label: string];

/**
 * Swatches with inches, millimetres and the area at or above each size, then the marks with their labels.
 * `areas_km2`: by size in millimetres; a size without an entry was not reached.
 */
export function drawLegend(
  steps: readonly SizeColor[],
  areas_km2: ReadonlyMap<number, number>,
  marks: readonly LegendMark[],
): string {
  const top = MAP.y + MAP.height + 34;
  const step = 92;
  const swatches = steps.map(({ mm_min, category, color, ink }, i) => {
    const x = MAP.x + i * step;
    const band = SIZE_BANDS.find((candidate) => candidate.threshold_mm === mm_min);
    return [
      element('rect', { x, y: top, width: step - 2, height: 24, fill: color }),
      text(band ? `${band.inches.toFixed(2)} in` : inches(mm_min, 1), x + (step - 2) / 2, top + 16.5, {
        'font-size': 12.5,
        'font-weight': 600,
        fill: ink,
        'text-anchor': 'middle',
      }),
      text(`${mm_min} mm`, x + (step - 2) / 2, top + 39, {
        'font-size': 11.5,
        fill: BASEMAP.ink,
        'text-anchor': 'middle',
      }),
      text((category ?? 'below nickel').replaceAll('_', ' '), x + (step - 2) / 2, top + 53, {
        'font-size': 10.5,
        fill: BASEMAP.faint,
        'text-anchor': 'middle',
      }),
      text(`${thousands(areas_km2.get(mm_min) ?? 0)} km²`, x + (step - 2) / 2, top + 68, {
        'font-size': 10.5,
        fill: BASEMAP.ink,
        'text-anchor': 'middle',
      }),
    ].join('');
  });
  const x = MAP.x + steps.length * step + 44;
  return [
    text('Estimated hail size, this much or more, and its area', MAP.x, top - 9, {
      'font-size': 11.5,
      'font-weight': 600,
      fill: BASEMAP.faint,
    }),
    ...swatches,
    ...marks.map(([draw, label], i) => {
      const y = top + 12 + 26 * i;
      return draw(x, y) + text(label, x + 46, y + 4, { 'font-size': 12, fill: BASEMAP.ink });
    }),
  ].join('\n');
}

/** Marks of the legend: a line, an arrow, a dot and a hatched field. */
export const MARKS = {
  path: (x: number, y: number) => element('path', { d: `M${x} ${y}h34`, stroke: BASEMAP.track, 'stroke-width': 1.6 }),
  arrow: (x: number, y: number) => drawArrow(x, y, x + 34, y),
  dot: (x: number, y: number) => drawDot(x + 17, y, 38),
  hatch: drawHatch,
} as const;

const SCALE_STEPS_KM = [5, 10, 20, 25, 50, 100, 200, 250, 500, 1000];
const SCALE_MAX_PX = 170;

/** Box of the scale bar in the lower right corner of the map. */
export function scaleBox({ x, y, width, height }: Rectangle): Rectangle {
  return { x: x + width - SCALE_MAX_PX - 28, y: y + height - 62, width: SCALE_MAX_PX + 18, height: 40 };
}

/** Scale bar of a round number of kilometres, exact at the centre of the map. */
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
