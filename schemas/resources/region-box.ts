import { z } from 'zod';
import type { Bbox } from '../geo/position.ts';
import * as wire from './fields.ts';

/** Box that an answer covers. */
export const RegionBox = z
  .object({
    minLat: wire.lat('Southern edge.'),
    maxLat: wire.lat('Northern edge.'),
    minLon: wire.lon('Western edge.'),
    maxLon: wire.lon('Eastern edge.'),
  })
  .meta({ id: 'RegionBox', description: 'The box used: as asked, clipped to CONUS; that of the state; or CONUS.' });
export type RegionBox = z.infer<typeof RegionBox>;

const DECIMALS = 1e5;

/** A box with edges of five decimals; unrounded where rounding would leave nothing between them. */
export function regionBox([west, south, east, north]: Bbox): RegionBox {
  const [minLat, maxLat] = edges(south, north);
  const [minLon, maxLon] = edges(west, east);
  return { minLat, maxLat, minLon, maxLon };
}

function edges(low: number, high: number): [number, number] {
  const rounded = (deg: number) => Math.round(deg * DECIMALS) / DECIMALS;
  return rounded(low) < rounded(high) ? [rounded(low), rounded(high)] : [low, high];
}

/** True where a region is given once: by a box, by a state, or not at all, which is CONUS. */
export function isOneRegion({ bbox, state }: { readonly bbox?: unknown; readonly state?: unknown }): boolean {
  return (bbox ?? null) === null || (state ?? null) === null;
}
/** The refusal of both a box and a state. */
export const ONE_REGION = { path: ['bbox'], error: 'is given together with state, expected one of them' };
