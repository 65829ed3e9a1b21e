import { offsetKm } from '../../schemas/geo/distance.ts';
import { colLon, LATTICE, rowLat } from '../../schemas/geo/lattice.ts';
import type { Position } from '../../schemas/geo/position.ts';
import { SIZE_COLORS, type SizeColor, sizeColor } from '../../schemas/palette.ts';
import { BANDS_MI } from '../../schemas/resources/verification.ts';
import { SIZE_BANDS } from '../../schemas/size.ts';
import { METRES_PER_MILE, MM_PER_INCH } from '../../schemas/units.ts';
import { bandAt } from '../rules/verification.ts';
import { INK, TEXT_WIDTH, WARNING } from './blocks.ts';
import type { Report, ReportEvent, ReportPixel } from './report-material.ts';

/** A place on the map, points from its upper left corner. */
type Spot = readonly [x: number, y: number];

/** Side of the square map, points. */
export const MAP_SIDE = 172;
const MIDDLE = MAP_SIDE / 2;
/** From the point to each side of the map, miles: the outermost ring and a pixel beyond. */
const HALF_MI = 5.75;
const POINTS_PER_MILE = MAP_SIDE / (2 * HALF_MI);
const POINTS_PER_KM = (POINTS_PER_MILE * 1000) / METRES_PER_MILE;
const LEGEND_STEP = TEXT_WIDTH / SIZE_COLORS.length;
const GROUND = '#fdfdfb';
const RING = '#3d4f5d';
/** Numbers of a map are written with two decimals. */
const FRACTION = /-?\d+\.\d{3,}(e-?\d+)?/g;

/** Map of an event, as SVG: pixels within the radius by size, rings, dots of reports, north. */
export function eventMap(point: Position, event: ReportEvent, not_real: Report['not_real']): string {
  const spotOf = (position: Position): Spot => {
    const { east_km, north_km } = offsetKm(point, position);
    return [MIDDLE + east_km * POINTS_PER_KM, MIDDLE - north_km * POINTS_PER_KM];
  };
  const frame = (fill: string, width: number) =>
    `<rect x="0" y="0" width="${MAP_SIDE}" height="${MAP_SIDE}" fill="${fill}" stroke="${RING}" stroke-width="${width}"/>`;
  return [
    `<svg width="${MAP_SIDE}" height="${MAP_SIDE}" viewBox="-0.5 -0.5 ${MAP_SIDE + 1} ${MAP_SIDE + 1}">`,
    frame(GROUND, 0),
    pixels(event.pixels, spotOf),
    ...BANDS_MI.map((miles) => circle([MIDDLE, MIDDLE], miles * POINTS_PER_MILE, 'none', RING, 0.7)),
    ...BANDS_MI.map((miles) => label(`${miles} mi`, [MIDDLE, MIDDLE + miles * POINTS_PER_MILE + 2.3], 20)),
    cross(3.2, '#ffffff'),
    cross(1.2, INK),
    ...event.listed.map((report) => circle(spotOf(report), 2.6, '#ffffff', INK, 1.4)),
    // On the map itself, because it may be cut out of its page.
    ...(not_real === null ? [] : [label(not_real.word.toUpperCase(), [MIDDLE, 14], 118, WARNING)]),
    `<path d="M${MAP_SIDE - 13} 8l3.6 11l-3.6 -2.6l-3.6 2.6Z" fill="${INK}"/>`,
    label('N', [MAP_SIDE - 13, 27], 0),
    frame('none', 0.7),
    '</svg>',
  ]
    .join('')
    .replace(FRACTION, (number) => String(Number(Number(number).toFixed(2))));
}

/** The colours of the pixels, each with the size from which it applies: the inches of its band, which begins at the mm. */
export function legend(): string {
  const steps = SIZE_COLORS.map((step, k) => {
    const box = `<rect x="${k * LEGEND_STEP}" y="0.5" width="${LEGEND_STEP}" height="7" fill="${step.color}" stroke="${edgeColor(step)}" stroke-width="0.3"/>`;
    const band = SIZE_BANDS.find(({ category }) => category === step.category);
    const inches = (band?.inches ?? step.mm_min / MM_PER_INCH).toFixed(2);
    return box + label(`${inches} in (${step.mm_min} mm)`, [(k + 0.5) * LEGEND_STEP, 15], 0);
  });
  return `<svg width="${TEXT_WIDTH}" height="18">${steps.join('')}</svg>`;
}

/** One path for each colour: separate fills of neighbouring pixels would leave seams. */
function pixels(all: readonly ReportPixel[], spotOf: (position: Position) => Spot): string {
  const half = LATTICE.step / 2;
  const within = all.filter(({ distance_m }) => bandAt(distance_m) !== null);
  return Array.from(
    Map.groupBy(within, ({ max_mm }) => sizeColor(max_mm)),
    ([step, of_color]) => {
      const boxes = of_color.map(({ row, col }) => {
        const [lat, lon] = [rowLat(row), colLon(col)];
        const [left, top] = spotOf({ lat: lat + half, lon: lon - half });
        const [right, bottom] = spotOf({ lat: lat - half, lon: lon + half });
        return `M${left} ${top}H${right}V${bottom}H${left}Z`;
      });
      return `<path d="${boxes.join('')}" fill="${step.color}" stroke="${edgeColor(step)}" stroke-width="0.3"/>`;
    },
  ).join('');
}

/** Edge of a pixel: dark from 19 mm on, because the colours of 10 and 19 mm are equal when printed in grey. */
function edgeColor({ category }: SizeColor): string {
  return category === null ? GROUND : RING;
}

function cross(width: number, color: string): string {
  return `<path d="M${MIDDLE - 7} ${MIDDLE}h14M${MIDDLE} ${MIDDLE - 7}v14" stroke="${color}" stroke-width="${width}"/>`;
}

function circle([x, y]: Spot, radius: number, fill: string, stroke: string, width: number): string {
  return `<circle cx="${x}" cy="${y}" r="${radius}" fill="${fill}" stroke="${stroke}" stroke-width="${width}"/>`;
}

/** A text around its baseline on white ground of a width. */
function label(text: string, [x, y]: Spot, width: number, color: string = INK): string {
  const ground = `<rect x="${x - width / 2}" y="${y - 7}" width="${width}" height="9" fill="#ffffff"/>`;
  return `${ground}<text x="${x}" y="${y}" font-family="Arimo" font-weight="bold" font-size="6.5" text-anchor="middle" fill="${color}">${text}</text>`;
}
