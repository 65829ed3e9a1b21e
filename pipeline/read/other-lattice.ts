import type { Lattice } from '../../schemas/geo/lattice.ts';

/** Reason why a grid of one lattice does not go into a data root of another, with the setting that a root for it needs. */
export function otherLattice(found: Lattice, wanted: Lattice): string {
  return `is a grid of the ${found.title} lattice, expected one of the ${wanted.title} lattice, which this data root holds; a root of its own takes it with HAIL_LATTICE=${found.name}`;
}

/** True for such a reason in a root that has the lattice of the grid by now: it takes the file. */
export function isNoReasonOn(lattice: Lattice, reason: string): boolean {
  return reason.endsWith(`takes it with HAIL_LATTICE=${lattice.name}`);
}
