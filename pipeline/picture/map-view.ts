import { EARTH_RADIUS_KM, RAD_PER_DEG } from '../../schemas/geo/constants.ts';
import type { Bbox, Position } from '../../schemas/geo/position.ts';

/** A rectangle of the picture, pixels from its top left corner. */
export interface Rectangle {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

/** Map projection onto a rectangle of the picture. */
export interface MapView {
  readonly area: Rectangle;
  readonly km_per_px: number;
  /** Bounding box of the visible area. */
  readonly visible: Bbox;
  /** Pixel of a position. */
  readonly project: (lon: number, lat: number) => readonly [x: number, y: number];
  /** Position of a pixel. */
  readonly locate: (x: number, y: number) => Position;
}

/** Sample points on each side of the box and of the area when one is fitted into the other. */
const SIDE_POINTS = 24;

/**
 * Albers equal-area conic map that fits `bbox` into `area`, with north up at its centre.
 * Source: Snyder 1987, Map Projections: A Working Manual, 14; on a sphere.
 */
export function fitView(bbox: Bbox, area: Rectangle): MapView {
  const [west, south, east, north] = bbox;
  const conic = albers((west + east) / 2, south + (north - south) / 6, north - (north - south) / 6);
  const edge = along(bbox).map(([lon, lat]) => conic.forward(lon, lat));
  const xs = edge.map(([x]) => x);
  const ys = edge.map(([, y]) => y);
  const [left, right, bottom, top] = [Math.min(...xs), Math.max(...xs), Math.min(...ys), Math.max(...ys)];
  const km_per_px = Math.max((right - left) / area.width, (top - bottom) / area.height);
  const middle = { x: area.x + area.width / 2, y: area.y + area.height / 2 };
  const [cx, cy] = [(left + right) / 2, (bottom + top) / 2];

  const project = (lon: number, lat: number): readonly [number, number] => {
    const [x, y] = conic.forward(lon, lat);
    return [middle.x + (x - cx) / km_per_px, middle.y - (y - cy) / km_per_px];
  };
  const locate = (x: number, y: number): Position =>
    conic.inverse(cx + (x - middle.x) * km_per_px, cy - (y - middle.y) * km_per_px);
  const corners = along([area.x, area.y, area.x + area.width, area.y + area.height]).map(([x, y]) => locate(x, y));
  const lons = corners.map((corner) => corner.lon);
  const lats = corners.map((corner) => corner.lat);
  const visible: Bbox = [Math.min(...lons), Math.min(...lats), Math.max(...lons), Math.max(...lats)];
  return { area, km_per_px, visible, project, locate };
}

/** Points along the sides of a box. */
function along([west, south, east, north]: Bbox): [number, number][] {
  return Array.from({ length: SIDE_POINTS + 1 }, (_, i): [number, number][] => {
    const x = west + ((east - west) * i) / SIDE_POINTS;
    const y = south + ((north - south) * i) / SIDE_POINTS;
    return [
      [x, south],
      [x, north],
      [west, y],
      [east, y],
    ];
  }).flat();
}

/** Albers' conic about a meridian with two standard parallels; kilometres. */
function albers(lon0: number, parallel1: number, parallel2: number) {
  const n = (Math.sin(parallel1 * RAD_PER_DEG) + Math.sin(parallel2 * RAD_PER_DEG)) / 2;
  const c = Math.cos(parallel1 * RAD_PER_DEG) ** 2 + 2 * n * Math.sin(parallel1 * RAD_PER_DEG);
  return {
    forward(lon: number, lat: number): readonly [number, number] {
      const rho = (EARTH_RADIUS_KM * Math.sqrt(c - 2 * n * Math.sin(lat * RAD_PER_DEG))) / n;
      const theta = n * (lon - lon0) * RAD_PER_DEG;
      return [rho * Math.sin(theta), -rho * Math.cos(theta)];
    },
    inverse(x: number, y: number): Position {
      const rho = Math.hypot(x, y);
      const sine = (c - ((rho * n) / EARTH_RADIUS_KM) ** 2) / (2 * n);
      const theta = Math.atan2(x, -y);
      return { lat: Math.asin(Math.max(-1, Math.min(1, sine))) / RAD_PER_DEG, lon: lon0 + theta / RAD_PER_DEG / n };
    },
  };
}
