import { decimal } from '../units.ts';

/** Degrees of latitude and longitude, WGS84. */
export interface Position {
  readonly lat: number;
  readonly lon: number;
}

/** West, south, east, north in degrees: minLon,minLat,maxLon,maxLat of the interface. */
export type Bbox = readonly [west: number, south: number, east: number, north: number];

/** The smallest box around boxes; null for none. */
export function enclosing(boxes: Iterable<Bbox>): Bbox | null {
  let box: Bbox | null = null;
  for (const next of boxes) {
    const [west, south, east, north]: Bbox = box ?? next;
    box = [Math.min(west, next[0]), Math.min(south, next[1]), Math.max(east, next[2]), Math.max(north, next[3])];
  }
  return box;
}

/** True when two boxes overlap or touch. */
export function boxesMeet(a: Bbox, b: Bbox): boolean {
  return a[0] <= b[2] && b[0] <= a[2] && a[1] <= b[3] && b[1] <= a[3];
}

/** The globe as a box. */
const GLOBE: Bbox = [-180, -90, 180, 90];

/**
 * Box of four numbers, west, south, east, north; or its fault: `form` for anything but four numbers, `bounds` for an edge outside
 * `within`, `order` where west is not below east or south not below north.
 */
export function checkBbox(edges: readonly unknown[], within = GLOBE): Bbox | 'form' | 'bounds' | 'order' {
  const [west, south, east, north] = edges;
  if (edges.length !== 4 || !isNumber(west) || !isNumber(south) || !isNumber(east) || !isNumber(north)) return 'form';
  if (Math.min(west, east) < within[0] || Math.max(west, east) > within[2]) return 'bounds';
  if (Math.min(south, north) < within[1] || Math.max(south, north) > within[3]) return 'bounds';
  return west < east && south < north ? [west, south, east, north] : 'order';
}

function isNumber(value: unknown): value is number {
  return typeof value === 'number' && !Number.isNaN(value);
}

/** Box of the text `west,south,east,north`, or its fault as `checkBbox` names it. */
export function parseBbox(text: string, within?: Bbox): Bbox | 'form' | 'bounds' | 'order' {
  return checkBbox(text.split(',').map(decimal), within);
}

/** CONUS as the interface defines it, edges included, degrees: a box around the 48 states. */
export const CONUS = { south: 24, north: 50, west: -125, east: -66 } as const;

/** True for a position in the interface's CONUS. */
export function isInConus({ lat, lon }: Position): boolean {
  return lat >= CONUS.south && lat <= CONUS.north && lon >= CONUS.west && lon <= CONUS.east;
}

/** Outline of a box, counter-clockwise from its south-west corner, closed. */
export function boxRing([west, south, east, north]: Bbox): number[][] {
  return [
    [west, south],
    [east, south],
    [east, north],
    [west, north],
    [west, south],
  ];
}
