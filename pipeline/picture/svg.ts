import type { MultiPolygon } from '../../schemas/geo/rings.ts';
import type { MapView } from './map-view.ts';

export type Attributes = Readonly<Record<string, string | number>>;

/** One SVG element; numbers are written to a hundredth. `content` is markup already. */
export function element(name: string, attributes: Attributes, content = ''): string {
  const written = Object.entries(attributes)
    .map(([key, value]) => ` ${key}="${typeof value === 'number' ? number(value) : markup(value)}"`)
    .join('');
  return content === '' ? `<${name}${written}/>` : `<${name}${written}>${content}</${name}>`;
}

/** A line of text at a position. */
export function text(content: string, x: number, y: number, attributes: Attributes): string {
  return element('text', { x, y, ...attributes }, markup(content));
}

/** Path data of a line of `[lon, lat]`. */
export function linePath(view: MapView, line: readonly number[][]): string {
  return line.map((position, i) => `${i === 0 ? 'M' : 'L'}${point(view, position)}`).join('');
}

/** Path data of polygons; holes come out with either fill rule. */
export function polygonPath(view: MapView, polygons: MultiPolygon): string {
  return polygons.flatMap((polygon) => polygon.map((ring) => `${linePath(view, ring.slice(0, -1))}Z`)).join('');
}

function point(view: MapView, [lon, lat]: readonly number[]): string {
  const [x, y] = view.project(lon as number, lat as number);
  return `${number(x)} ${number(y)}`;
}

function number(value: number): string {
  return String(Math.round(value * 100) / 100);
}

function markup(value: string): string {
  return value.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');
}
