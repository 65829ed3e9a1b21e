import { offsetKm } from '../../schemas/geo/distance.ts';
import { colLon, LATTICE, rowLat } from '../../schemas/geo/lattice.ts';
import type { Position } from '../../schemas/geo/position.ts';
import { SIZE_COLORS, type SizeColor, sizeColor } from '../../schemas/palette.ts';
import { BANDS_MI } from '../../schemas/resources/verification.ts';
import { SIZE_BANDS } from '../../schemas/size.ts';
import { METRES_PER_MILE, MM_PER_INCH } from '../../schemas/units.ts';
import { INK, WARNING } from './blocks.ts';
import type { ReportEvent, ReportPixel } from './report-material.ts';
import type { NotRealMark } from './sentences.ts';

/** A place on the map, points. */
interface Spot {
  readonly x: number;
  readonly y: number;
}

/** A part of the map, points. */
type Box = readonly [left: number, top: number, right: number, bottom: number];

/** Side of the square map, points. */
export const MAP_SIDE = 176;
const MIDDLE: Spot = { x: MAP_SIDE / 2, y: MAP_SIDE / 2 };
const SQUARE = `M0 0H${MAP_SIDE}V${MAP_SIDE}H0Z`;
const LEGEND_TOP = MAP_SIDE + 6;
const LEGEND_STEP = MAP_SIDE / SIZE_COLORS.length;
const HEIGHT = LEGEND_TOP + 26;
/** From the point to each side of the map, miles: a little more than the outermost ring. */
const HALF_MI = 5.5;
const POINTS_PER_MILE = MAP_SIDE / (2 * HALF_MI);
const POINTS_PER_KM = (POINTS_PER_MILE * 1000) / METRES_PER_MILE;
const GROUND = '#fdfdfb';
const RING = '#3d4f5d';
/** The bar of the scale is two kilometres long, with a mark at one mile. */
const SCALE_LENGTH = 2 * POINTS_PER_KM;
const LABEL_SIZE = 6.5;
const SMALL_SIZE = 6.2;
/** Size of the dot of a ground report. */
const DOT_RADIUS = 2.6;
/** Numbers of a map are written with two decimals. */
const FRACTION = /-?\d+\.\d{3,}(e-?\d+)?/g;

/** The lower left corner, which the outermost ring leaves free. */
const SCALE_BOX: Box = [0, MAP_SIDE - 25, SCALE_LENGTH + 19, MAP_SIDE];

/** Map of an event with its colours, as SVG: pixels by size, rings, dots of reports, scale, north, sizes below. */
export function eventMap(point: Position, event: ReportEvent, not_real: NotRealMark | null): string {
  const spotOf = projection(point);
  return [
    `<svg width="${MAP_SIDE}" height="${HEIGHT}" viewBox="-0.5 -0.5 ${MAP_SIDE + 1} ${HEIGHT + 1}">`,
    `<path d="${SQUARE}" fill="${GROUND}"/>`,
    pixels(event.pixels, spotOf),
    veil(),
    ...BANDS_MI.map((miles, k) =>
      circle(MIDDLE, miles * POINTS_PER_MILE, 'none', RING, k === BANDS_MI.length - 1 ? 1 : 0.6),
    ),
    cross(3.2, '#ffffff'),
    cross(1.2, INK),
    circle(MIDDLE, 2.4, '#ffffff', INK, 1),
    ...BANDS_MI.map(ringLabel),
    ...event.listed.map((report) => circle(spotOf(report), DOT_RADIUS, '#ffffff', INK, 1.4)),
    not_real === null ? '' : stamp(not_real.map),
    scaleBar(),
    `<path d="M${MAP_SIDE - 13} 8l3.6 11l-3.6 -2.6l-3.6 2.6Z" fill="${INK}"/>`,
    label('N', MAP_SIDE - 13, 27, LABEL_SIZE),
    `<path d="${SQUARE}" fill="none" stroke="${RING}" stroke-width="0.7"/>`,
    ...SIZE_COLORS.map(legendStep),
    '</svg>',
  ]
    .join('')
    .replace(FRACTION, (number) => String(Number(Number(number).toFixed(2))));
}

/** Projection around the point by distance and direction. */
function projection(point: Position): (position: Position) => Spot {
  return (position) => {
    const { east_km, north_km } = offsetKm(point, position);
    return { x: MIDDLE.x + east_km * POINTS_PER_KM, y: MIDDLE.y - north_km * POINTS_PER_KM };
  };
}

/** One path for each colour, cut at the frame: separate fills of neighbouring pixels would leave seams. */
function pixels(all: readonly ReportPixel[], spotOf: (position: Position) => Spot): string {
  const half = LATTICE.step / 2;
  const inFrame = (value: number) => Math.min(MAP_SIDE, Math.max(0, value));
  const of_color = Map.groupBy(all, ({ max_mm }) => sizeColor(max_mm));
  return SIZE_COLORS.map((step) => {
    const boxes = (of_color.get(step) ?? []).map(({ row, col }) => {
      const [lat, lon] = [rowLat(row), colLon(col)];
      const nw = spotOf({ lat: lat + half, lon: lon - half });
      const se = spotOf({ lat: lat - half, lon: lon + half });
      const [left, right, top, bottom] = [inFrame(nw.x), inFrame(se.x), inFrame(nw.y), inFrame(se.y)];
      return left < right && top < bottom ? `M${left} ${top}H${right}V${bottom}H${left}Z` : '';
    });
    return `<path d="${boxes.join('')}" fill="${step.color}" stroke="${edgeColor(step)}" stroke-width="0.3"/>`;
  }).join('');
}

/** Edge of a pixel: dark from 19 mm on, because the colours of 10 and 19 mm are equal when printed in grey. */
function edgeColor({ category }: SizeColor): string {
  return category === null ? GROUND : RING;
}

/** Makes the area outside the radius paler: it does not count. */
function veil(): string {
  const radius = (BANDS_MI.at(-1) ?? 0) * POINTS_PER_MILE;
  const half = `A${radius} ${radius} 0 0 0`;
  const ring = `M${MIDDLE.x - radius} ${MIDDLE.y}${half} ${MIDDLE.x + radius} ${MIDDLE.y}${half} ${MIDDLE.x - radius} ${MIDDLE.y}Z`;
  return `<path d="${SQUARE}${ring}" fill="#ffffff" fill-opacity="0.62" fill-rule="evenodd"/>`;
}

function cross(width: number, color: string): string {
  return `<path d="M${MIDDLE.x - 7} ${MIDDLE.y}h14M${MIDDLE.x} ${MIDDLE.y - 7}v14" stroke="${color}" stroke-width="${width}"/>`;
}

/** One bar for miles and kilometres. */
function scaleBar(): string {
  const y = MAP_SIDE - 13;
  const [mi, km] = [7 + POINTS_PER_MILE, 7 + SCALE_LENGTH];
  return [
    rect(SCALE_BOX),
    `<path d="M7 ${y - 3}v6M7 ${y}h${SCALE_LENGTH}M${mi} ${y}v-3M${km} ${y}v3" stroke="${INK}" stroke-width="0.8"/>`,
    label('1 mi', mi, y - 5, SMALL_SIZE, { weight: 'normal' }),
    label('2 km', km, y + 9, SMALL_SIZE, { weight: 'normal' }),
  ].join('');
}

/** Colour of the pixels with the size from which it applies: the inches of its band, which begins at the mm below. */
function legendStep(step: SizeColor, k: number): string {
  const left = k * LEGEND_STEP;
  const last = k === SIZE_COLORS.length - 1;
  const band = SIZE_BANDS.find(({ category }) => category === step.category);
  const inches = (band?.inches ?? step.mm_min / MM_PER_INCH).toFixed(2);
  const below = { weight: 'normal', anchor: 'start' } as const;
  return [
    rect([left, LEGEND_TOP, left + LEGEND_STEP, LEGEND_TOP + 7], step.color, edgeColor(step), 0.3),
    label(`${inches}${last ? ' in' : ''}`, left, LEGEND_TOP + 14.5, SMALL_SIZE, below),
    label(`${step.mm_min}${last ? ' mm' : ''}`, left, LEGEND_TOP + 22, SMALL_SIZE, below),
  ].join('');
}

/** Label on a ring, south of the point. */
function ringLabel(miles: number): string {
  const y = MIDDLE.y + miles * POINTS_PER_MILE;
  return rect([MIDDLE.x - 10, y - 4.5, MIDDLE.x + 10, y + 4.5]) + label(`${miles} mi`, MIDDLE.x, y + 2.4, LABEL_SIZE);
}

/** A mark on the map itself, because it may be cut out of its page. */
function stamp(text: string): string {
  const half_width = 3.6 * text.length;
  const box: Box = [MIDDLE.x - half_width, 4, MIDDLE.x + half_width, 17];
  return rect(box, '#ffffff', WARNING, 1) + label(text, MIDDLE.x, 13.6, 9, { color: WARNING });
}

function rect([left, top, right, bottom]: Box, fill = '#ffffff', stroke = 'none', width = 0): string {
  return `<path d="M${left} ${top}H${right}V${bottom}H${left}Z" fill="${fill}" stroke="${stroke}" stroke-width="${width}"/>`;
}

function circle({ x, y }: Spot, radius: number, fill: string, stroke = 'none', width = 0): string {
  return `<circle cx="${x}" cy="${y}" r="${radius}" fill="${fill}" stroke="${stroke}" stroke-width="${width}"/>`;
}

/** A text with its baseline at `y`. */
function label(
  text: string,
  x: number,
  y: number,
  size: number,
  { weight = 'bold', anchor = 'middle', color = INK as string } = {},
): string {
  return `<text x="${x}" y="${y}" font-family="Arimo" font-weight="${weight}" font-size="${size}" text-anchor="${anchor}" fill="${color}">${text}</text>`;
}
