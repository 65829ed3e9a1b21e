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

/** Depth of lists around a number. */
const DEPTH = { POLYGON: 3, MULTIPOLYGON: 4 } as const;

/**
 * Polygons of the WKT of a POLYGON or MULTIPOLYGON in two dimensions, empty ones included; a polygon comes back as a
 * MultiPolygon of one. Throws SyntaxError on any other text.
 */
export function multiPolygonFromWkt(wkt: string): MultiPolygon {
  const [, type, body] = /^\s*(MULTIPOLYGON|POLYGON)\s*(EMPTY|\(.*\))\s*$/i.exec(wkt) ?? [];
  const kind = type?.toUpperCase();
  if (body === undefined || (kind !== 'POLYGON' && kind !== 'MULTIPOLYGON')) throw unreadable(wkt);
  if (body.toUpperCase() === 'EMPTY') return [];
  const lists = parseLists(body, wkt);
  if (!isNested(lists, DEPTH[kind])) throw unreadable(wkt);
  return (kind === 'POLYGON' ? [lists] : lists) as MultiPolygon;
}

const NUMBER = /^-?\d+(\.\d+)?([eE][+-]?\d+)?$/;

/** Nested lists of a WKT body: parentheses as lists, `x y` as a list of two numbers. */
function parseLists(body: string, wkt: string): unknown {
  const json = body
    .split(/([(),])/)
    .map((token) => {
      const text = token.trim();
      if (text === '(') return '[';
      if (text === ')') return ']';
      if (text === ',' || text === '') return text;
      const numbers = text.split(/\s+/);
      if (numbers.length !== 2 || !numbers.every((number) => NUMBER.test(number))) throw unreadable(wkt);
      return `[${numbers.map(Number).join(',')}]`;
    })
    .join('');
  try {
    return JSON.parse(json);
  } catch (cause) {
    throw unreadable(wkt, { cause });
  }
}

function isNested(value: unknown, depth: number): boolean {
  if (depth === 0) return typeof value === 'number';
  return Array.isArray(value) && value.every((item) => isNested(item, depth - 1));
}

function unreadable(wkt: string, options?: ErrorOptions): SyntaxError {
  const found = wkt.length > 60 ? `${wkt.slice(0, 60)}…` : wkt;
  return new SyntaxError(`geometry is '${found}', expected the WKT of a polygon or multipolygon`, options);
}
