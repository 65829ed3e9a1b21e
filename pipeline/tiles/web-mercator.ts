import { LATTICE } from '../../schemas/geo/lattice.ts';

/** Squares of the lattice along one direction: `count` of them from the `first` on, each of `side` pixels. */
interface SquareLine {
  readonly side: number;
  readonly first: number;
  readonly count: number;
}

/** Western edge of each column of squares, and the eastern one of the last, in whole units of a world so many units wide. */
export function columnEdges(line: SquareLine, world: number): Int32Array {
  return edges(line, (col) => world * ((LATTICE.west + col * LATTICE.step) / 360 + 0.5));
}

/** Northern edge of each row of squares, and the southern one of the last, in web Mercator. */
export function rowEdges(line: SquareLine, world: number): Int32Array {
  return edges(line, (row) => world * mercator(LATTICE.north - row * LATTICE.step));
}

function edges({ side, first, count }: SquareLine, place: (pixel: number) => number): Int32Array {
  return Int32Array.from({ length: count + 1 }, (_, k) => Math.round(place((first + k) * side)));
}

/** Share of the world from the north down to a latitude, in web Mercator. */
function mercator(lat: number): number {
  const sine = Math.sin((lat * Math.PI) / 180);
  return 0.5 - Math.log((1 + sine) / (1 - sine)) / (4 * Math.PI);
}
