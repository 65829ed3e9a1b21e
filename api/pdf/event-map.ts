import { LATTICE } from '../../schemas/geo/lattice.ts';
import { localScale } from '../../schemas/geo/local-scale.ts';
import type { Position } from '../../schemas/geo/position.ts';
import { SIZE_COLORS, type SizeColor, sizeColor } from '../../schemas/palette.ts';
import { BANDS_MI } from '../../schemas/resources/verification.ts';
import { SIZE_BANDS } from '../../schemas/size.ts';
import { METRES_PER_MILE, MM_PER_INCH } from '../../schemas/units.ts';
import { INK, WARNING } from './blocks.ts';
import { textWidth } from './fonts.ts';
import { type Box, MARKER_RADIUS, type Marker, type PagePoint, placeMarkers } from './map-markers.ts';
import type { NotRealMark } from './provenance-words.ts';
import type { ReportEvent } from './report-events.ts';
import type { ReportPixel } from './report-material.ts';

/** Side of the square map, points. */
export const MAP_SIDE = 206;
const MIDDLE: PagePoint = { x: MAP_SIDE / 2, y: MAP_SIDE / 2 };
const FRAME: Box = { left: 0, top: 0, right: MAP_SIDE, bottom: MAP_SIDE };
const LEGEND_TOP = MAP_SIDE + 6;
const LEGEND_STEP = MAP_SIDE / SIZE_COLORS.length;
const HEIGHT = LEGEND_TOP + 26;
/** From the point to each side of the map, miles: a little more than the outermost ring. */
const HALF_MI = 5.5;
/** Scale of the map, points of the page. */
export const POINTS_PER_MILE = MAP_SIDE / (2 * HALF_MI);
const KM_PER_MILE = METRES_PER_MILE / 1000;
/** Reach of the local scale of kilometres per degree, degrees. */
const REACH_DEG = 0.1;
const GROUND = '#fdfdfb';
const RING = '#3d4f5d';
const SCALE_MI = 1;
const SCALE_KM = 2;
const SCALE_LENGTH = Math.max(SCALE_MI, SCALE_KM / KM_PER_MILE) * POINTS_PER_MILE;
const LABEL_SIZE = 6.5;
const SMALL_SIZE = 6.2;
const STAMP_SIZE = 9;

/** The lower left corner, which the outermost ring leaves free. */
const SCALE_BOX: Box = { left: 0, top: MAP_SIDE - 25, right: SCALE_LENGTH + 19, bottom: MAP_SIDE };
const NORTH_BOX: Box = { left: MAP_SIDE - 18, top: 8, right: MAP_SIDE - 8, bottom: 28 };
/** Label of each ring, on the ring south of the point. */
const RING_LABELS = BANDS_MI.map((miles) => {
  const label = `${miles} mi`;
  const spot = { x: MIDDLE.x, y: MIDDLE.y + miles * POINTS_PER_MILE };
  return { label, spot, box: boxAround(spot, textWidth(label, LABEL_SIZE, 'bold') / 2 + 2, 4.5) };
});

/** Map of an event with its colours, as SVG: pixels by size, rings, reports by number, scale, north, sizes below. */
export function eventMap(point: Position, event: ReportEvent, not_real: NotRealMark | null): string {
  const spotOf = mapProjection(point, MIDDLE);
  const stamp = not_real === null ? null : { text: not_real.map, box: stampBox(not_real.map) };
  const markers = placeMarkers(event.listed, spotOf, {
    frame: FRAME,
    keep_clear: [
      boxAround(MIDDLE, MARKER_RADIUS, MARKER_RADIUS),
      ...RING_LABELS.map(({ box }) => box),
      SCALE_BOX,
      NORTH_BOX,
      ...(stamp === null ? [] : [stamp.box]),
    ],
  });
  const square = `M0 0H${MAP_SIDE}V${MAP_SIDE}H0Z`;
  return [
    `<svg width="${MAP_SIDE}" height="${HEIGHT}" viewBox="-0.5 -0.5 ${MAP_SIDE + 1} ${HEIGHT + 1}">`,
    `<path d="${square}" fill="${GROUND}"/>`,
    pixels(event.pixels, spotOf),
    veil(square),
    ...BANDS_MI.map((miles, k) =>
      circle(MIDDLE, miles * POINTS_PER_MILE, 'none', RING, k === BANDS_MI.length - 1 ? 1 : 0.6),
    ),
    cross(3.2, '#ffffff'),
    cross(1.2, INK),
    circle(MIDDLE, 2.4, '#ffffff', INK, 1),
    ...(stamp === null
      ? []
      : [
          rect(stamp.box, '#ffffff', WARNING, 1),
          label(stamp.text, MIDDLE.x, stamp.box.top + 9.6, STAMP_SIZE, { color: WARNING }),
        ]),
    ...RING_LABELS.flatMap(({ label: text, spot, box }) => [rect(box), label(text, spot.x, spot.y + 2.4, LABEL_SIZE)]),
    // All lines first, so that none crosses out a number.
    ...markers.map(leader),
    ...markers.map(number),
    scaleBar(),
    `<path d="M${MAP_SIDE - 13} 8l3.6 11l-3.6 -2.6l-3.6 2.6Z" fill="${INK}"/>`,
    label('N', MAP_SIDE - 13, 27, LABEL_SIZE),
    `<path d="${square}" fill="none" stroke="${RING}" stroke-width="0.7"/>`,
    ...SIZE_COLORS.map(legendStep),
    '</svg>',
  ].join('');
}

/** Projection around the point: kilometres east and north by the ellipsoid's scale at its latitude. */
export function mapProjection(point: Position, middle: PagePoint): (position: Position) => PagePoint {
  const { east, north } = localScale(point, REACH_DEG);
  const points_per_km = POINTS_PER_MILE / KM_PER_MILE;
  return ({ lat, lon }) => {
    const dy = lat - point.lat;
    const east_km = (lon - point.lon) * (east[0] + dy * (east[1] + dy * east[2]));
    const north_km = dy * (north[0] + dy * north[1]);
    return { x: middle.x + east_km * points_per_km, y: middle.y - north_km * points_per_km };
  };
}

/** One path for each colour, cut at the frame: separate fills of neighbouring pixels would leave seams. */
function pixels(all: readonly ReportPixel[], spotOf: (position: Position) => PagePoint): string {
  const half = LATTICE.step / 2;
  const of_color = Map.groupBy(all, ({ max_mm }) => sizeColor(max_mm));
  return SIZE_COLORS.map((step) => {
    const boxes = (of_color.get(step) ?? []).map(({ lat, lon }) => {
      const nw = spotOf({ lat: lat + half, lon: lon - half });
      const se = spotOf({ lat: lat - half, lon: lon + half });
      const [left, right, top, bottom] = [nw.x, se.x, nw.y, se.y].map(inFrame) as [number, number, number, number];
      return left < right && top < bottom ? `M${left} ${top}H${right}V${bottom}H${left}Z` : '';
    });
    return boxes.length === 0
      ? ''
      : `<path d="${boxes.join('')}" fill="${step.color}" stroke="${edgeColor(step)}" stroke-width="0.3"/>`;
  }).join('');
}

function inFrame(value: number): number {
  return short(Math.min(MAP_SIDE, Math.max(0, value)));
}

/** Edge of a pixel: dark from 19 mm on, because the colours of 10 and 19 mm are equal when printed in grey. */
export function edgeColor({ category }: SizeColor): string {
  return category === null ? GROUND : RING;
}

/** Inches from which a colour applies: those of its size band; the band begins at the mm below. */
export function stepInches({ category, mm_min }: SizeColor): string {
  const band = SIZE_BANDS.find((one) => one.category === category);
  return (band?.inches ?? mm_min / MM_PER_INCH).toFixed(2);
}

/** Makes the area outside the radius paler: it does not count. */
function veil(square: string): string {
  const radius = (BANDS_MI.at(-1) ?? 0) * POINTS_PER_MILE;
  const half = `A${short(radius)} ${short(radius)} 0 0 0`;
  const ring = `M${short(MIDDLE.x - radius)} ${MIDDLE.y}${half} ${short(MIDDLE.x + radius)} ${MIDDLE.y}${half} ${short(MIDDLE.x - radius)} ${MIDDLE.y}Z`;
  return `<path d="${square}${ring}" fill="#ffffff" fill-opacity="0.62" fill-rule="evenodd"/>`;
}

function cross(width: number, color: string): string {
  return `<path d="M${MIDDLE.x - 7} ${MIDDLE.y}h14M${MIDDLE.x} ${MIDDLE.y - 7}v14" stroke="${color}" stroke-width="${width}"/>`;
}

/** Line from a number that moved aside to its place. */
function leader({ at: place, label: spot }: Marker): string {
  return place === spot
    ? ''
    : `<path d="M${at(place)}L${at(spot)}" stroke="${INK}" stroke-width="0.7"/>${circle(place, 1.6, INK)}`;
}

function number({ key, label: spot }: Marker): string {
  const size = key < 100 ? SMALL_SIZE : 5;
  return `${circle(spot, MARKER_RADIUS, '#ffffff', INK, 0.8)}${label(String(key), spot.x, spot.y + 2.2, size)}`;
}

/** One bar for miles and kilometres. */
function scaleBar(): string {
  const y = MAP_SIDE - 13;
  const mi = 7 + SCALE_MI * POINTS_PER_MILE;
  const km = 7 + (SCALE_KM * POINTS_PER_MILE) / KM_PER_MILE;
  return [
    rect(SCALE_BOX),
    `<path d="M7 ${y - 3}v6M7 ${y}h${short(SCALE_LENGTH)}M${short(mi)} ${y}v-3M${short(km)} ${y}v3" stroke="${INK}" stroke-width="0.8"/>`,
    label(`${SCALE_MI} mi`, mi, y - 5, SMALL_SIZE, { weight: 'normal' }),
    label(`${SCALE_KM} km`, km, y + 9, SMALL_SIZE, { weight: 'normal' }),
  ].join('');
}

/** Colour of the pixels with the size from which it applies, in inches and mm. */
function legendStep(step: SizeColor, k: number): string {
  const left = k * LEGEND_STEP;
  const last = k === SIZE_COLORS.length - 1;
  const box = { left, top: LEGEND_TOP, right: left + LEGEND_STEP, bottom: LEGEND_TOP + 7 };
  const below = { weight: 'normal', anchor: 'start' } as const;
  return [
    rect(box, step.color, edgeColor(step), 0.3),
    label(`${stepInches(step)}${last ? ' in' : ''}`, left, LEGEND_TOP + 14.5, SMALL_SIZE, below),
    label(`${step.mm_min}${last ? ' mm' : ''}`, left, LEGEND_TOP + 22, SMALL_SIZE, below),
  ].join('');
}

/** Place of a mark on the map itself, because it may be cut out of its page. */
function stampBox(text: string): Box {
  return boxAround({ x: MIDDLE.x, y: 10.5 }, textWidth(text, STAMP_SIZE, 'bold') / 2 + 5, 6.5);
}

function boxAround({ x, y }: PagePoint, half_width: number, half_height: number): Box {
  return { left: x - half_width, top: y - half_height, right: x + half_width, bottom: y + half_height };
}

function rect({ left, top, right, bottom }: Box, fill = '#ffffff', stroke = 'none', width = 0): string {
  return `<path d="M${short(left)} ${short(top)}H${short(right)}V${short(bottom)}H${short(left)}Z" fill="${fill}" stroke="${stroke}" stroke-width="${width}"/>`;
}

function circle({ x, y }: PagePoint, radius: number, fill: string, stroke = 'none', width = 0): string {
  return `<circle cx="${short(x)}" cy="${short(y)}" r="${short(radius)}" fill="${fill}" stroke="${stroke}" stroke-width="${width}"/>`;
}

/** A text with its baseline at `y`. */
function label(
  text: string,
  x: number,
  y: number,
  size: number,
  { weight = 'bold', anchor = 'middle', color = INK as string } = {},
): string {
  return `<text x="${short(x)}" y="${short(y)}" font-family="Arimo" font-weight="${weight}" font-size="${size}" text-anchor="${anchor}" fill="${color}">${text}</text>`;
}

function at({ x, y }: PagePoint): string {
  return `${short(x)} ${short(y)}`;
}

function short(value: number): number {
  return Number(value.toFixed(2));
}
