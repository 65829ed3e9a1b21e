import type { Lattice } from '../../schemas/geo/lattice.ts';
import { otherLattice } from '../read/other-lattice.ts';
import { namedLattice } from '../sources/names.ts';

/** Files of a source that no scan of a data root can be made from, by their names. */
export interface LeftAlone {
  /** Raw files of the regions of other lattices, with the lattice of each. */
  readonly other_lattice_files: readonly { readonly file: string; readonly reason: string }[];
  readonly unknown_files: readonly string[];
}

/** Splits the names that a data root of this lattice does not take. */
export function leftAlone(names: readonly string[], lattice: Lattice): LeftAlone {
  const reasonOf = (file: string) => {
    const named = namedLattice(file);
    return named === null || named === lattice ? null : otherLattice(named, lattice);
  };
  const files = names.map((file) => ({ file, reason: reasonOf(file) }));
  return {
    other_lattice_files: files.flatMap(({ file, reason }) => (reason === null ? [] : [{ file, reason }])),
    unknown_files: files.flatMap(({ file, reason }) => (reason === null ? [file] : [])),
  };
}
