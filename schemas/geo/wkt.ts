import type { MultiPolygon, Polygon, Ring } from './rings.ts';

/** `POLYGON ((…))` of a polygon, coordinates as JavaScript prints them: shortest text that reads back the same. */
export function polygonToWkt(polygon: Polygon): string {
  return `POLYGON ${polygonText(polygon)}`;
}

/** `MULTIPOLYGON (((…)))`, or `MULTIPOLYGON EMPTY`. */
export function multiPolygonToWkt(polygons: MultiPolygon): string {
  return polygons.length === 0 ? 'MULTIPOLYGON EMPTY' : `MULTIPOLYGON (${polygons.map(polygonText).join(', ')})`;
}

function polygonText(polygon: Polygon): string {
  return `(${polygon.map(ringText).join(', ')})`;
}

function ringText(ring: Ring): string {
  return `(${ring.map((position) => position.join(' ')).join(', ')})`;
}

const NUMBER = /^-?\d+(\.\d+)?([eE][+-]?\d+)?$/;

/**
 * Polygons of the WKT of a POLYGON or MULTIPOLYGON in two dimensions, empty ones included; a polygon comes back as a
 * MultiPolygon of one. Throws SyntaxError naming what was found on anything else.
 */
export function multiPolygonFromWkt(wkt: string): MultiPolygon {
  const parts = /^\s*(MULTIPOLYGON|POLYGON)\s*(EMPTY|\(.*\))\s*$/is.exec(wkt);
  if (!parts) throw new SyntaxError(`geometry is '${excerpt(wkt)}', expected a WKT polygon or multipolygon`);
  const body = (parts[2] as string).toUpperCase();
  if (body === 'EMPTY') return [];
  const nested = JSON.parse(toJson(body, wkt)) as Polygon | MultiPolygon;
  return (parts[1] as string).toUpperCase() === 'POLYGON' ? [nested as Polygon] : (nested as MultiPolygon);
}

/** Parentheses become brackets and `x y` becomes `[x,y]`; whatever is not a number between them is refused. */
function toJson(body: string, wkt: string): string {
  return body
    .split(/([(),])/)
    .map((token) => {
      const text = token.trim();
      if (text === '(') return '[';
      if (text === ')') return ']';
      if (text === ',' || text === '') return text;
      const numbers = text.split(/\s+/);
      if (numbers.length !== 2 || !numbers.every((number) => NUMBER.test(number)))
        throw new SyntaxError(`position is '${excerpt(text)}' in '${excerpt(wkt)}', expected two numbers`);
      return `[${numbers.map(Number).join(',')}]`;
    })
    .join('');
}

function excerpt(text: string): string {
  return text.length > 60 ? `${text.slice(0, 60)}…` : text;
}
