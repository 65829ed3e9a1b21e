import { LATTICE } from '../../schemas/geo/lattice.ts';
import { localScale } from '../../schemas/geo/local-scale.ts';
import type { Position } from '../../schemas/geo/position.ts';
import { SIZE_COLORS, type SizeColor, sizeColor } from '../../schemas/palette.ts';
import { BANDS_MI } from '../../schemas/resources/verification.ts';
import { METRES_PER_MILE } from '../../schemas/units.ts';
import { type Box, MARKER_RADIUS, type Marker, type PagePoint, placeMarkers } from './map-markers.ts';
import type { NotRealMark } from './provenance-words.ts';
import type { ReportEvent } from './report-events.ts';
import type { ReportPixel } from './report-material.ts';
import { type Doc, type Sheet, textWidth, writeLine } from './sheet.ts';
import { INK, MAP_LABEL, MAP_SMALL, type TextStyle, WARNING } from './styles.ts';

/** Side of the square map, points. */
export const MAP_SIDE = 206;
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
const STAMP: TextStyle = { ...MAP_LABEL, size: 9, color: WARNING };

/** Input of a map of an event. */
interface MapInput {
  readonly point: Position;
  readonly event: ReportEvent;
  readonly not_real: NotRealMark | null;
}

/** Map of an event with its upper left corner at a spot: pixels by size, rings, reports by number, scale, north. */
export function drawMap(sheet: Sheet, corner: PagePoint, { point, event, not_real }: MapInput): void {
  const { doc } = sheet;
  const middle = { x: corner.x + MAP_SIDE / 2, y: corner.y + MAP_SIDE / 2 };
  const spotOf = mapProjection(point, middle);
  doc.save();
  doc.rect(corner.x, corner.y, MAP_SIDE, MAP_SIDE).clip();
  doc.rect(corner.x, corner.y, MAP_SIDE, MAP_SIDE).fill(GROUND);
  drawPixels(doc, event.pixels, corner, spotOf);
  veilOutside(doc, corner, middle);
  drawRings(doc, middle);
  drawPoint(doc, middle);
  if (not_real !== null) stampMap(sheet, not_real.map, middle);
  nameRings(sheet, middle);
  const markers = placeMarkers(event.listed, spotOf, {
    frame: boxAround(middle, MAP_SIDE / 2, MAP_SIDE / 2),
    keep_clear: [
      boxAround(middle, MARKER_RADIUS, MARKER_RADIUS),
      ...ringLabels(sheet, middle).map(({ box }) => box),
      scaleBox(corner),
      northBox(corner),
      ...(not_real === null ? [] : [stampBox(sheet, not_real.map, middle)]),
    ],
  });
  // All lines first, so that none crosses out a number.
  for (const marker of markers) drawLeader(doc, marker);
  for (const marker of markers) drawNumber(sheet, marker);
  drawScale(sheet, corner);
  drawNorth(sheet, corner);
  doc.restore();
  doc.rect(corner.x, corner.y, MAP_SIDE, MAP_SIDE).lineWidth(0.7).stroke(RING);
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

/** One path for each colour: separate fills of neighbouring pixels would leave seams. */
function drawPixels(
  doc: Doc,
  pixels: readonly ReportPixel[],
  corner: PagePoint,
  spotOf: (position: Position) => PagePoint,
): void {
  const half = LATTICE.step / 2;
  const boxes = pixels.flatMap(({ lat, lon, max_mm }) => {
    const nw = spotOf({ lat: lat + half, lon: lon - half });
    const se = spotOf({ lat: lat - half, lon: lon + half });
    const is_seen = se.x > corner.x && nw.x < corner.x + MAP_SIDE && se.y > corner.y && nw.y < corner.y + MAP_SIDE;
    return is_seen ? [{ nw, se, color: sizeColor(max_mm).color }] : [];
  });
  const of_color = Map.groupBy(boxes, ({ color }) => color);
  for (const step of SIZE_COLORS) {
    const { color } = step;
    const some = of_color.get(color);
    if (some === undefined) continue;
    for (const { nw, se } of some) doc.rect(nw.x, nw.y, se.x - nw.x, se.y - nw.y);
    doc.lineWidth(0.3).fillAndStroke(color, edgeColor(step));
  }
}

/** Edge of a pixel: dark from 19 mm on, because the colours of 10 and 19 mm are equal when printed in grey. */
export function edgeColor({ category }: SizeColor): string {
  return category === null ? GROUND : RING;
}

/** Draws the area outside the radius paler: it does not count. */
function veilOutside(doc: Doc, corner: PagePoint, middle: PagePoint): void {
  doc.save();
  doc.fillOpacity(0.62).rect(corner.x, corner.y, MAP_SIDE, MAP_SIDE);
  doc.circle(middle.x, middle.y, (BANDS_MI.at(-1) ?? 0) * POINTS_PER_MILE).fill('#ffffff', 'even-odd');
  doc.restore();
}

function drawRings(doc: Doc, middle: PagePoint): void {
  for (const [k, miles] of BANDS_MI.entries()) {
    const radius = miles * POINTS_PER_MILE;
    doc
      .circle(middle.x, middle.y, radius)
      .lineWidth(k === BANDS_MI.length - 1 ? 1 : 0.6)
      .stroke(RING);
  }
}

function boxAround({ x, y }: PagePoint, half_width: number, half_height: number): Box {
  return { left: x - half_width, top: y - half_height, right: x + half_width, bottom: y + half_height };
}

function fillBox(doc: Doc, { left, top, right, bottom }: Box): void {
  doc.rect(left, top, right - left, bottom - top).fill('#ffffff');
}

/** Label of each ring, on the ring south of the point. */
function ringLabels(sheet: Sheet, middle: PagePoint): { label: string; spot: PagePoint; box: Box }[] {
  return BANDS_MI.map((miles) => {
    const label = `${miles} mi`;
    const spot = { x: middle.x, y: middle.y + miles * POINTS_PER_MILE };
    return { label, spot, box: boxAround(spot, textWidth(sheet, label, MAP_LABEL) / 2 + 2, 4.5) };
  });
}

function nameRings(sheet: Sheet, middle: PagePoint): void {
  for (const { label, spot, box } of ringLabels(sheet, middle)) {
    fillBox(sheet.doc, box);
    writeLine(sheet, label, spot.x, spot.y + 2.4, MAP_LABEL, 'center');
  }
}

function drawPoint(doc: Doc, { x, y }: PagePoint): void {
  for (const [width, color] of [
    [3.2, '#ffffff'],
    [1.2, INK],
  ] as const)
    doc
      .moveTo(x - 7, y)
      .lineTo(x + 7, y)
      .moveTo(x, y - 7)
      .lineTo(x, y + 7)
      .lineWidth(width)
      .stroke(color);
  doc.circle(x, y, 2.4).lineWidth(1).fillAndStroke('#ffffff', INK);
}

/** Line from a number that moved aside to its place. */
function drawLeader(doc: Doc, { at, label }: Marker): void {
  if (at === label) return;
  doc.moveTo(at.x, at.y).lineTo(label.x, label.y).lineWidth(0.7).stroke(INK);
  doc.circle(at.x, at.y, 1.6).fill(INK);
}

function drawNumber(sheet: Sheet, { key, label }: Marker): void {
  const { doc } = sheet;
  doc.circle(label.x, label.y, MARKER_RADIUS).lineWidth(0.8).fillAndStroke('#ffffff', INK);
  writeLine(sheet, String(key), label.x, label.y + 2.2, { ...MAP_LABEL, size: key < 100 ? 6.2 : 5 }, 'center');
}

/** The lower left corner, which the outermost ring leaves free. */
function scaleBox({ x, y }: PagePoint): Box {
  return { left: x, top: y + MAP_SIDE - 25, right: x + SCALE_LENGTH + 19, bottom: y + MAP_SIDE };
}

/** One bar for miles and kilometres. */
function drawScale(sheet: Sheet, corner: PagePoint): void {
  const { doc } = sheet;
  const x = corner.x + 7;
  const y = corner.y + MAP_SIDE - 13;
  const mi = SCALE_MI * POINTS_PER_MILE;
  const km = (SCALE_KM * POINTS_PER_MILE) / KM_PER_MILE;
  fillBox(doc, scaleBox(corner));
  doc
    .moveTo(x, y - 3)
    .lineTo(x, y + 3)
    .moveTo(x, y)
    .lineTo(x + SCALE_LENGTH, y)
    .moveTo(x + mi, y)
    .lineTo(x + mi, y - 3)
    .moveTo(x + km, y)
    .lineTo(x + km, y + 3)
    .lineWidth(0.8)
    .stroke(INK);
  writeLine(sheet, `${SCALE_MI} mi`, x + mi, y - 5, MAP_SMALL, 'center');
  writeLine(sheet, `${SCALE_KM} km`, x + km, y + 9, MAP_SMALL, 'center');
}

function northBox({ x, y }: PagePoint): Box {
  return { left: x + MAP_SIDE - 18, top: y + 8, right: x + MAP_SIDE - 8, bottom: y + 28 };
}

function drawNorth(sheet: Sheet, corner: PagePoint): void {
  const { doc } = sheet;
  const x = corner.x + MAP_SIDE - 13;
  const y = corner.y + 8;
  doc.polygon([x, y], [x + 3.6, y + 11], [x, y + 8.4], [x - 3.6, y + 11]).fill(INK);
  writeLine(sheet, 'N', x, y + 19, MAP_LABEL, 'center');
}

function stampBox(sheet: Sheet, text: string, { x, y }: PagePoint): Box {
  return boxAround({ x, y: y - MAP_SIDE / 2 + 10.5 }, textWidth(sheet, text, STAMP) / 2 + 5, 6.5);
}

/** Marks the map itself, because it may be cut out of its page. */
function stampMap(sheet: Sheet, text: string, middle: PagePoint): void {
  const { left, top, right, bottom } = stampBox(sheet, text, middle);
  sheet.doc
    .rect(left, top, right - left, bottom - top)
    .lineWidth(1)
    .fillAndStroke('#ffffff', WARNING);
  writeLine(sheet, text, middle.x, top + 9.6, STAMP, 'center');
}
