import type { Ring } from '../../schemas/geo/rings.ts';
import { openThread } from '../published/thread.ts';
import { type AreaShape, type GeometryFault, isFault, submittedRing } from '../rules/area-geometry.ts';

/** 20,000 positions take 0.5 s of processor time, 1 s on a thread that has just started. */
const LIMIT_MS = 2_000;

const shapeOnThread = openThread<Ring, AreaShape | GeometryFault>({
  entry: new URL('./area-thread.ts', import.meta.url),
  subject: 'the check of a polygon',
  limit_ms: LIMIT_MS,
});

/** Shape of a polygon area from its GeoJSON, or its fault; computed on a separate thread. Throws ApiError overloaded. */
export async function areaShape(geometry: unknown): Promise<AreaShape | GeometryFault> {
  const ring = submittedRing(geometry);
  return isFault(ring) ? ring : await shapeOnThread(ring);
}
