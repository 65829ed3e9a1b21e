import type { BlockedShare } from './beam.ts';
import { LATTICE, latRow, lonCol } from './lattice.ts';
import type { Position } from './position.ts';

/** What a terrain model says: the blockage of radar beams, and the ground. */
export interface Blockage {
  /** Radars inside the terrain model; beams of any other count as free. */
  readonly radars: ReadonlySet<string>;
  /** Blocked share on the ray of the nearest whole azimuth; 0 for a tilt without rows. */
  readonly blocked: BlockedShare;
  /** Mean height of the model in the cell of a place, m above sea level; null where it is not known. */
  readonly groundM: (position: Position) => number | null;
}

/** Columns of the table `blockage` in its order: by radar, tilt, azimuth and distance. */
interface BlockageColumns {
  readonly radar_id: ArrayLike<string>;
  readonly tilt_deg: ArrayLike<number>;
  readonly azimuth_deg: ArrayLike<number>;
  readonly distance_km: ArrayLike<number>;
  readonly blocked: ArrayLike<number>;
}

/** Columns of a row of the table `ground`. */
type GroundColumns = Readonly<Record<'row' | 'col' | 'ground_m', number>>;

const AZIMUTHS = 360;
/** Pixels of the lattice along a side of a cell of the table `ground`. */
export const GROUND_CELL_PX = 10;
export const GROUND_ROWS = LATTICE.rows / GROUND_CELL_PX;
export const GROUND_COLS = LATTICE.cols / GROUND_CELL_PX;
const UNKNOWN_M = -32_768;

/** Index of both tables in memory: five bytes a step, the start of each ray, and two bytes a cell. */
export function blockageOf(columns: BlockageColumns, cells: Iterable<GroundColumns>): Blockage {
  const distance_km = Float32Array.from(columns.distance_km);
  const percent = Uint8Array.from(columns.blocked, (share) => Math.round(100 * share));
  const radars = raysOf(columns);
  const heights_m = new Int16Array(GROUND_ROWS * GROUND_COLS).fill(UNKNOWN_M);
  for (const { row, col, ground_m } of cells) heights_m[groundIndex(row) * GROUND_COLS + groundIndex(col)] = ground_m;
  return {
    radars: new Set(radars.keys()),
    blocked: (site_id, azimuth_deg, asked_km, tilt_deg) => {
      const starts = radars.get(site_id)?.get(tilt_deg);
      if (starts === undefined) return 0;
      const azimuth = Math.round(azimuth_deg) % AZIMUTHS;
      const first = starts[azimuth];
      const last = lastUpTo(distance_km, asked_km, first, starts[azimuth + 1]);
      return last < first ? 0 : percent[last] / 100;
    },
    groundM: ({ lat, lon }) => {
      const [row, col] = [groundIndex(latRow(lat)), groundIndex(lonCol(lon))];
      if (row < 0 || row >= GROUND_ROWS || col < 0 || col >= GROUND_COLS) return null;
      const height_m = heights_m[row * GROUND_COLS + col];
      return height_m === UNKNOWN_M ? null : height_m;
    },
  };
}

/** Row or column among the cells of the table `ground`, from that of the lattice. */
export function groundIndex(pixel: number): number {
  return Math.floor(pixel / GROUND_CELL_PX);
}

/**
 * By radar and tilt: index of the first step of each azimuth, followed by the index after the last step. Throws RangeError when
 * the steps are not in the table's order.
 */
function raysOf({ radar_id, tilt_deg, azimuth_deg }: BlockageColumns): Map<string, Map<number, Uint32Array>> {
  const radars = new Map<string, Map<number, Uint32Array>>();
  for (let begin = 0; begin < radar_id.length; ) {
    const [radar, tilt] = [radar_id[begin] as string, tilt_deg[begin]];
    const starts = new Uint32Array(AZIMUTHS + 1);
    let index = begin;
    for (let azimuth = 0; azimuth < AZIMUTHS; azimuth++) {
      starts[azimuth] = index;
      while (radar_id[index] === radar && tilt_deg[index] === tilt && azimuth_deg[index] === azimuth) index++;
    }
    starts[AZIMUTHS] = index;
    const tilts = radars.get(radar) ?? new Map<number, Uint32Array>();
    if (index === begin || tilts.has(tilt)) throw new RangeError(`step ${begin} of ${radar} is out of order`);
    radars.set(radar, tilts.set(tilt, starts));
    begin = index;
  }
  return radars;
}

/** Index of the last distance up to `asked_km` in a range of indices; `first` - 1 when there is none. */
function lastUpTo(distance_km: Float32Array, asked_km: number, first: number, end: number): number {
  let [low, high] = [first, end];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (distance_km[middle] <= asked_km) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}
