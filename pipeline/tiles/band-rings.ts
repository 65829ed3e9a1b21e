/** A cut of a band grid with a border of empty squares around it: `width` x `height` squares, the border included. */
interface BandCut {
  readonly width: number;
  readonly height: number;
  readonly bands: Uint8Array;
}

/** A connected area of squares of one band: its shell, then its holes. A ring is x, y, x, y, … in corners of the cut, not closed. */
export interface BandArea {
  readonly band: number;
  readonly rings: readonly Int32Array[];
}

/** From a square to the next in a heading: east, south, west, north. */
const EAST = 0;
const SOUTH = 1;
const WEST = 2;

/** Work arrays of `traceBands`, reused for every cut that fits into them; all 0 between two cuts. */
interface Scratch {
  /** Area of each square, counted from 1: a square belongs to its northern or western neighbour's, or begins a ring. */
  readonly areaOf: Int32Array;
  /** 1 for a square whose northern edge was walked along. */
  readonly walked: Uint8Array;
  /** Place of a corner in the ring that is walked, counted from 1; only corners where squares touch diagonally come twice. */
  readonly placeOf: Int32Array;
}

/** Work arrays for cuts of at most `squares` squares. */
export function scratchFor(squares: number): Scratch {
  return { areaOf: new Int32Array(squares), walked: new Uint8Array(squares), placeOf: new Int32Array(squares) };
}

/**
 * Outlines of the areas of every band. Squares that touch only at a corner are separate areas, and no ring passes through a
 * corner twice, so that every area is a valid polygon. With y to the south shells run clockwise, holes counter-clockwise,
 * without collinear corners. Areas come from north, then west.
 */
export function traceBands({ width, height, bands }: BandCut, { areaOf, walked, placeOf }: Scratch): BandArea[] {
  const areas: { band: number; rings: Int32Array[] }[] = [];
  const steps = Int32Array.of(1, width, -1, -width);
  let path = new Int32Array(1024);
  let squares = new Int32Array(1024);

  /** Walks the ring whose first edge is the northern one of a square; the squares of the ring are on the right. */
  const walk = (first: number): void => {
    const band = bands[first];
    const loops: Int32Array[] = [];
    const touching: number[] = [];
    let length = 0;
    let count = 0;
    let known = 0;
    let square = first;
    let heading = EAST;
    do {
      if (heading === EAST) walked[square] = 1;
      if (areaOf[square] > 0) known = areaOf[square];
      else {
        if (count === squares.length) squares = doubled(squares);
        squares[count++] = square;
      }
      // The two squares beyond the edge that was just walked.
      const right = square + steps[heading];
      const left = right + steps[(heading + 3) & 3];
      const goesOn = bands[right] === band;
      const turnsLeft = bands[left] === band;
      if (goesOn && !turnsLeft) {
        square = right;
        continue;
      }
      // A corner has the number of the square south-east of it.
      const corner =
        heading === EAST
          ? square + 1
          : heading === SOUTH
            ? square + width + 1
            : heading === WEST
              ? square + width
              : square;
      if (turnsLeft && !goesOn) {
        const place = placeOf[corner];
        if (place > 0) {
          loops.push(path.slice(2 * (place - 1), length));
          length = 2 * (place - 1);
          while (placeOf[touching.at(-1) as number] > place) placeOf[touching.pop() as number] = 0;
        } else touching.push(corner);
        placeOf[corner] = length / 2 + 1;
      }
      if (length === path.length) path = doubled(path);
      const y = Math.trunc(corner / width);
      path[length++] = corner - y * width;
      path[length++] = y;
      if (turnsLeft && goesOn) {
        square = left;
        heading = (heading + 3) & 3;
      } else heading = (heading + 1) & 3;
    } while (square !== first || heading !== EAST);
    for (const corner of touching) placeOf[corner] = 0;
    loops.push(path.slice(0, length));
    // The squares of a shell are all new; a hole has squares of its area above it, which are known.
    if (known === 0) known = areas.push({ band, rings: [] });
    for (let i = 0; i < count; i++) areaOf[squares[i]] = known;
    const { rings } = areas[known - 1];
    for (const loop of loops) {
      if (isShell(loop)) rings.unshift(loop);
      else rings.push(loop);
    }
  };

  for (let square = width; square < width * (height - 1); square++) {
    const band = bands[square];
    if (band === 0) continue;
    const isBelowOther = bands[square - width] !== band;
    if (areaOf[square] === 0) {
      if (bands[square - 1] === band) areaOf[square] = areaOf[square - 1];
      else if (!isBelowOther) areaOf[square] = areaOf[square - width];
    }
    if (isBelowOther && walked[square] === 0) walk(square);
  }
  areaOf.fill(0, 0, bands.length);
  walked.fill(0, 0, bands.length);
  return areas;
}

function doubled(array: Int32Array): Int32Array<ArrayBuffer> {
  const larger = new Int32Array(2 * array.length);
  larger.set(array);
  return larger;
}

/** True when a ring runs clockwise with y to the south. */
function isShell(ring: Int32Array): boolean {
  let sum = 0;
  let x0 = ring[ring.length - 2];
  let y0 = ring[ring.length - 1];
  for (let i = 0; i < ring.length; i += 2) {
    const x = ring[i];
    const y = ring[i + 1];
    sum += x0 * y - x * y0;
    x0 = x;
    y0 = y;
  }
  return sum > 0;
}
