import type { MultiPolygon } from '../../../schemas/geo/rings.ts';
import { findConflicts } from '../../../schemas/geo/validity.ts';

/** Why a MultiPolygon is not valid; null when it is. */
export function isValidMultiPolygon(polygons: MultiPolygon): string | null {
  return findConflicts(polygons)[0]?.reason ?? null;
}
