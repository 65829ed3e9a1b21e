import { LATTICES } from '../../schemas/geo/lattice.ts';
import type { Endpoint } from '../endpoint.ts';
import { ApiError } from '../errors.ts';
import type { Services } from '../services.ts';
import type { CallMiddleware } from '../state.ts';

/** Calls whose answers count on the pixels, cells, states or forecasts of CONUS. */
const CONUS_ONLY = [
  '/v1/events',
  '/v1/exports',
  '/v1/hail/forecast',
  '/v1/hail/history',
  '/v1/hail/nowcast',
  '/v1/hail/outlook',
  '/v1/hail/risk',
  '/v1/hail/swaths',
  '/v1/outlooks/spc',
  '/v1/portfolio',
  '/v1/areas',
  '/v1/alerts',
  '/v1/verify',
  '/alerts',
  '/hail/forecast',
  '/hail/history',
  '/locations',
];

/**
 * Refuses what is answered for CONUS alone while the service has a data root of another lattice, before anything is charged: an
 * answer would count pixels where there are others. Passes while the root cannot be read: that has refusals of its own.
 */
export function requireLattice({ path }: Endpoint, services: Services): CallMiddleware {
  const isBound = CONUS_ONLY.some((start) => path === start || path.startsWith(`${start}/`));
  return (_ctx, next) => {
    if (!isBound || services.catalog.failure() !== null) return next();
    const { lattice } = services.catalog.edition();
    if (lattice.name === LATTICES.conus.name) return next();
    throw new ApiError(
      'feature_not_available',
      `${path} is answered for the CONUS lattice alone, and this service serves the ${lattice.title} lattice`,
    );
  };
}
