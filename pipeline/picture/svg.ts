import type { MultiPolygon } from '../../schemas/geo/rings.ts';
import { clipRing, type Pixel, visibleParts } from './clip.ts';
import type { MapView, Rectangle } from './map-view.ts';

type Attributes = Readonly<Record<string, string | number>>;

/** One SVG element; numbers are rounded to a hundredth. `content` is markup. */
export function element(name: string, attributes: Attributes, content = ''): string {
  const written = Object.entries(attributes)
    .map(([key, value]) => ` ${key}="${typeof value === 'number' ? number(value) : escaped(value)}"`)
    .join('');
  return content === '' ? `<${name}${written}/>` : `<${name}${written}>${content}</${name}>`;
}

/** A line of text at a position. */
export function text(content: string, x: number, y: number, attributes: Attributes): string {
  return element('text', { x, y, ...attributes }, escaped(content));
}

/** Margin around the map that lines and areas are drawn into, pixels, so that no stroke along a clipped edge shows. */
const MARGIN_PX = 8;

/** Path data of the visible part of a line of `[lon, lat]`. */
export function linePath(view: MapView, line: readonly number[][]): string {
  return visibleParts(pixels(view, line), beyond(view.area)).map(path).join('');
}

/** Path data of the visible part of polygons; holes work with either fill rule. */
export function polygonPath(view: MapView, polygons: MultiPolygon): string {
  return polygons
    .flat()
    .map((ring) => clipRing(pixels(view, ring.slice(0, -1)), beyond(view.area)))
    .map((ring) => (ring.length === 0 ? '' : `${path(ring)}Z`))
    .join('');
}

function beyond({ x, y, width, height }: Rectangle): Rectangle {
  return { x: x - MARGIN_PX, y: y - MARGIN_PX, width: width + 2 * MARGIN_PX, height: height + 2 * MARGIN_PX };
}

function pixels(view: MapView, line: readonly number[][]): Pixel[] {
  return line.map(([lon, lat]) => view.project(lon, lat));
}

function path(line: readonly Pixel[]): string {
  return line.map(([x, y], i) => `${i === 0 ? 'M' : 'L'}${number(x)} ${number(y)}`).join('');
}

function number(value: number): string {
  return String(Math.round(value * 100) / 100);
}

/** Text with the special characters of XML escaped. */
export function escaped(value: string): string {
  return value.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');
}
