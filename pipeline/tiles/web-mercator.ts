import { LATTICE } from '../../schemas/geo/lattice.ts';

/** Squares of a lattice along one direction: `count` squares of `side` pixels from index `first` on. */
interface SquareLine {
  readonly side: number;
  readonly first: number;
  readonly count: number;
}

/** Western edge of each column of squares and the eastern edge of the last, in units of a world that is `world` units wide. */
export function columnEdges(line: SquareLine, world: number): Int32Array {
  return edges(line, (col) => world * ((LATTICE.west + col * LATTICE.step) / 360 + 0.5));
}

/** Northern edge of each row of squares and the southern edge of the last, in Web Mercator. */
export function rowEdges(line: SquareLine, world: number): Int32Array {
  return edges(line, (row) => world * mercator(LATTICE.north - row * LATTICE.step));
}

function edges({ side, first, count }: SquareLine, place: (pixel: number) => number): Int32Array {
  return Int32Array.from({ length: count + 1 }, (_, k) => Math.round(place((first + k) * side)));
}

/** Web Mercator y of a latitude: 0 at the northern edge of the world, 1 at the southern. */
function mercator(lat: number): number {
  const sine = Math.sin((lat * Math.PI) / 180);
  return 0.5 - Math.log((1 + sine) / (1 - sine)) / (4 * Math.PI);
}
