import { colLon, pixelAreaKm2, rowLat } from '../../schemas/geo/lattice.ts';
import { equivalentRadius, MATURE_SCANS, mayContinue, type Prediction } from './gate.ts';
import { offsetKm, type Vector } from './motion.ts';
import {
  type CellAtPixel,
  type CellPart,
  eachPixel,
  maskPixels,
  pixelKey,
  sharedPixels,
  type TrackCell,
} from './track-cell.ts';

/** A track claims a cell that covers this share of its moved mask. */
const CLAIM_SHARE = 0.4;
/** Cores nearer than this are one core: the smallest distance of two peaks when a cell is split. */
const CORES_APART_MIN_KM = 5;
/** Two storms cross when their velocities differ by more than this many standard deviations of the difference. */
const CROSSING_SDS = 2;
/** A storm smaller than this share of the other one is absorbed, it does not cross. */
const CROSSING_AREA_SHARE = 0.5;
/** Smallest area of a part, that of the smallest cell. */
const PART_AREA_MIN_KM2 = 4;
/** A part below this share of its track's last area has been absorbed. */
const PART_AREA_SHARE_MIN = 0.3;

/**
 * The cells of a scan, partitioned among the tracks whose moved masks they cover.
 *
 * Cores that touch at the threshold for some scans stay two storms. Each pixel goes to the track whose moved mask contains it, to
 * both where two storms cross, the remaining pixels to the nearest track. A track whose part is too small, too far away or too
 * near to a larger one gets no part and merges. `owner`: `cellAtPixel` of the cells; `flow`: steering flow at each cell, km/min.
 */
export function partitionCells(
  cells: readonly TrackCell[],
  owner: CellAtPixel,
  predictions: readonly Prediction[],
  flow: readonly Vector[],
): CellPart[] {
  const claims = claimsOn(cells, owner, predictions);
  return cells.flatMap((cell, index) => {
    const whole: CellPart = { ...cell, cell: index, part: 0, held_by: null, crossing: false };
    const claimants = apart(claims[index], predictions);
    return claimants.length < 2 ? [whole] : divide(whole, claimants, predictions, flow[index]);
  });
}

/** Predictions that claim each cell, the one with the largest area first. */
function claimsOn(cells: readonly TrackCell[], owner: CellAtPixel, predictions: readonly Prediction[]): number[][] {
  const claims: number[][] = cells.map(() => []);
  predictions.forEach(({ track, rows_south, cols_east }, index) => {
    const enough = CLAIM_SHARE * maskPixels(track.mask);
    for (const [cell, pixels] of sharedPixels(track.mask, rows_south, cols_east, owner))
      if (pixels >= enough) claims[cell]?.push(index);
  });
  const area = (index: number) => predictions[index].track.area_km2;
  for (const claimants of claims) claimants.sort((a, b) => area(b) - area(a) || a - b);
  return claims;
}

/** The claimants that are at least CORES_APART_MIN_KM from every larger one, or cross it. */
function apart(claimants: readonly number[], predictions: readonly Prediction[]): number[] {
  const kept: number[] = [];
  for (const index of claimants) {
    const at = predictions[index].motion;
    const free = kept.every((other) => {
      const off = offsetKm(at, predictions[other].motion);
      return Math.hypot(off.east, off.north) >= CORES_APART_MIN_KM || cross(predictions[index], predictions[other]);
    });
    if (free) kept.push(index);
  }
  return kept;
}

/** True for two storms whose known motions are too different for one storm: each goes straight on through the other. */
function cross(a: Prediction, b: Prediction): boolean {
  if (Math.min(a.track.settled_scans, b.track.settled_scans) < MATURE_SCANS) return false;
  const [one_km2, other_km2] = [a.track.area_km2, b.track.area_km2];
  if (Math.min(one_km2, other_km2) < CROSSING_AREA_SHARE * Math.max(one_km2, other_km2)) return false;
  const apart = Math.hypot(a.motion.east_km_min - b.motion.east_km_min, a.motion.north_km_min - b.motion.north_km_min);
  return apart > CROSSING_SDS * Math.sqrt(a.motion.vv + b.motion.vv);
}

/** Parts of one cell. A claimant whose part is too small leaves its pixels to the others. */
function divide(
  whole: CellPart,
  claimants: readonly number[],
  predictions: readonly Prediction[],
  flow: Vector,
): CellPart[] {
  if (claimants.length < 2) return [whole];
  const holders = claimants.map((index) => predictions[index]);
  const parts = shareOut(whole, holders).map((pixels, part) => partOf(whole, pixels, part));
  const absorbed = parts.findLastIndex((part, k) => part.area_km2 < smallestPartKm2(holders[k]));
  if (absorbed !== -1) {
    const others = claimants.filter((_, k) => k !== absorbed);
    return divide(whole, others, predictions, flow);
  }
  return parts.map((part, k) => {
    const holds = mayContinue(holders[k], part, flow);
    return holds
      ? { ...part, held_by: claimants[k], crossing: holders.some((other) => cross(holders[k], other)) }
      : part;
  });
}

function smallestPartKm2({ track }: Prediction): number {
  return Math.max(PART_AREA_MIN_KM2, PART_AREA_SHARE_MIN * track.area_km2);
}

/** Pixels of the cell that each holder gets, as ascending indices. */
function shareOut(cell: TrackCell, holders: readonly Prediction[]): number[][] {
  const indexAt = new Map<number, number>();
  for (let i = 0; i < cell.rows.length; i++) indexAt.set(pixelKey(cell.rows[i], cell.cols[i]), i);
  const holder = claimMasks(cell, holders, indexAt);
  grow(cell, holder, indexAt);
  const shares: number[][] = holders.map(() => []);
  holder.forEach((k, i) => {
    shares[k]?.push(i);
  });
  holders.forEach((own, k) => {
    const crossed = holders.map((other) => other !== own && cross(own, other));
    if (!crossed.includes(true)) return;
    eachPixel(own.track.mask, own.rows_south, own.cols_east, (key) => {
      const i = indexAt.get(key);
      if (i !== undefined && crossed[holder[i]]) shares[k]?.push(i);
    });
    shares[k]?.sort((a, b) => a - b);
  });
  return shares;
}

/** Holder of each pixel under a moved mask, -1 elsewhere. Under two masks: the holder whose centroid is nearer, in units of its radius. */
function claimMasks(cell: TrackCell, holders: readonly Prediction[], indexAt: ReadonlyMap<number, number>): Int32Array {
  const holder = new Int32Array(cell.rows.length).fill(-1);
  const distance = new Float64Array(cell.rows.length).fill(Number.POSITIVE_INFINITY);
  holders.forEach(({ track, motion, rows_south, cols_east }, k) => {
    const radius_km = equivalentRadius(track.area_km2);
    eachPixel(track.mask, rows_south, cols_east, (key) => {
      const i = indexAt.get(key);
      if (i === undefined) return;
      const off = offsetKm(motion, {
        lat: rowLat(cell.rows[i]),
        lon: colLon(cell.cols[i]),
      });
      const radii = Math.hypot(off.east, off.north) / radius_km;
      if (radii >= distance[i]) return;
      distance[i] = radii;
      holder[i] = k;
    });
  });
  return holder;
}

/** Grows the holders into the pixels without one, ring by ring. */
function grow(cell: TrackCell, holder: Int32Array, indexAt: ReadonlyMap<number, number>): void {
  let front = [...holder.keys()].filter((i) => holder[i] !== -1);
  while (front.length > 0) {
    const next: number[] = [];
    for (const from of front)
      for (let south = -1; south <= 1; south++)
        for (let east = -1; east <= 1; east++) {
          const to = indexAt.get(pixelKey(cell.rows[from] + south, cell.cols[from] + east));
          if (to === undefined || holder[to] !== -1) continue;
          holder[to] = holder[from];
          next.push(to);
        }
    front = next;
  }
}

/** A part of a cell with its own area, size and centroid. */
function partOf(whole: CellPart, pixels: readonly number[], part: number): CellPart {
  let weight = 0;
  let lat = 0;
  let lon = 0;
  let area_km2 = 0;
  let max_tenths = 0;
  for (const i of pixels) {
    const tenths = whole.tenths[i];
    weight += tenths;
    lat += tenths * rowLat(whole.rows[i]);
    lon += tenths * colLon(whole.cols[i]);
    area_km2 += pixelAreaKm2(whole.rows[i]);
    max_tenths = Math.max(max_tenths, tenths);
  }
  const centroid = { lat: lat / weight, lon: lon / weight };
  return {
    ...whole,
    ...centroid,
    centroid_lat: centroid.lat,
    centroid_lon: centroid.lon,
    area_km2,
    estimated_size_mm: Math.min(whole.estimated_size_mm, max_tenths / 10),
    rows: Uint16Array.from(pixels, (i) => whole.rows[i]),
    cols: Uint16Array.from(pixels, (i) => whole.cols[i]),
    tenths: Uint16Array.from(pixels, (i) => whole.tenths[i]),
    part,
  };
}
