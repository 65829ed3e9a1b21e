import type { BlockedShare } from './beam.ts';

/** Blockage of radar beams by terrain. */
export interface Blockage {
  /** Radars inside the terrain model; beams of any other count as free. */
  readonly radars: ReadonlySet<string>;
  /** Blocked share on the ray of the nearest whole azimuth; 0 for a tilt without rows. */
  readonly blocked: BlockedShare;
}

/** Columns of the table `blockage` in its order: by radar, tilt, azimuth and distance. */
interface BlockageColumns {
  readonly radar_id: ArrayLike<string>;
  readonly tilt_deg: ArrayLike<number>;
  readonly azimuth_deg: ArrayLike<number>;
  readonly distance_km: ArrayLike<number>;
  readonly blocked: ArrayLike<number>;
}

const AZIMUTHS = 360;

/** Index of the table in memory: five bytes a step, and the start of each ray. */
export function blockageOf(columns: BlockageColumns): Blockage {
  const distance_km = Float32Array.from(columns.distance_km);
  const percent = Uint8Array.from(columns.blocked, (share) => Math.round(100 * share));
  const radars = raysOf(columns);
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
  };
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
