import { localScale } from '../geo/local-scale.ts';
import type { Position } from '../geo/position.ts';
import type { Ellipse } from './swept-ellipse.ts';

/** Least semi-axis of a footprint, km: a pixel says little about the size of the hail area in it. */
const RADIUS_MIN_KM = 1.5;

/** Area of a storm's hail: the ellipse with the same second moments as its pixels. */
export interface Footprint {
  readonly centre: Position;
  readonly ellipse: Ellipse;
}

/** Footprint of some pixels; without any a circle of the smallest radius around `centre`. */
export function footprint(pixels: readonly Position[], centre: Position): Footprint {
  if (pixels.length === 0)
    return { centre, ellipse: { major_km: RADIUS_MIN_KM, minor_km: RADIUS_MIN_KM, orientation_deg: 0 } };
  const middle = { lat: mean(pixels.map(({ lat }) => lat)), lon: mean(pixels.map(({ lon }) => lon)) };
  const { east, north } = localScale(middle, 1);
  const x = pixels.map(({ lon }) => (lon - middle.lon) * east[0]);
  const y = pixels.map(({ lat }) => (lat - middle.lat) * north[0]);
  const xx = mean(x.map((value) => value * value));
  const yy = mean(y.map((value) => value * value));
  const xy = mean(x.map((value, index) => value * y[index]));
  const spread = Math.hypot((xx - yy) / 2, xy);
  const semiAxis = (variance: number) => Math.max(RADIUS_MIN_KM, 2 * Math.sqrt(Math.max(0, variance)));
  const angle = Math.atan2(2 * xy, xx - yy) / 2; // of the major axis, counter-clockwise from east
  return {
    centre: middle,
    ellipse: {
      major_km: semiAxis((xx + yy) / 2 + spread),
      minor_km: semiAxis((xx + yy) / 2 - spread),
      orientation_deg: (90 - (angle * 180) / Math.PI + 180) % 180,
    },
  };
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}
