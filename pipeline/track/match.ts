import { rootOf } from '../../schemas/geo/union-find.ts';
import { type Body, centroidOf, equivalentRadius, mayContinue, type Prediction, reachKm } from './gate.ts';
import { centroidVariance, mahalanobis2 } from './kalman.ts';
import type { LiveTrack } from './live-tracks.ts';
import { kmPerDegree, type Vector } from './motion.ts';
import { type CellPart, cellAtPixel, maskPixels, sharedPixels } from './track-cell.ts';

/** Overlap that makes a split or a merger, as a share of the object that appears or disappears. */
const ANCESTRY_SHARE = 0.3;
/**
 * A track without a part within reach continues in a part whose overlap covers these shares of the smaller and of the larger of
 * the two masks. Of NOAA's storm objects that keep their number, 14 % change their shape by more than a centroid may move; with
 * these shares 4 % of the links are cut and 1 % lead to another object than NOAA's.
 */
const SAME_SHARE_OF_SMALLER = 0.5;
const SAME_SHARE_OF_LARGER = 0.2;
/**
 * A track splits into branches when at least two of them have this share of its area x size, and all together cover this share
 * of its moved mask. Smaller shares are the remains of a decaying storm.
 */
const BRANCH_STRENGTH_SHARE = 0.2;
const BRANCHES_COVER_SHARE = 0.6;
/** Spread of a branch's velocity about that of the whole: 30 km/h, the deviation of a supercell from the mean wind. */
export const PARTING_VELOCITY_SD_KM_MIN = 30 / 60;
/** After a longer gap between scans, branches are also searched around the mask of the whole. */
const BRANCHES_STAY_MIN = 5;
/** After this many missed scans a track continues only in a cell that its moved mask touches. */
const MISSED_SCANS_FREE = 2;
/** Cost of leaving a track without a part. */
const ALONE_COST = 9;
const MISMATCH_WEIGHT = 2;
const SIZE_WEIGHT = 0.5;
const BUCKET_DEG = 0.25;

/** Links of one scan, by index of the prediction or of the part; -1 for none. */
export interface Matches {
  /** Part that continues each track. */
  readonly partOfTrack: Int32Array;
  /** Track that each part continues. */
  readonly trackOfPart: Int32Array;
  /** For a track without a part: the track whose part covers it. */
  readonly mergedInto: Int32Array;
  /** For a part without a track: the track it split from. */
  readonly parentOfPart: Int32Array;
  /** 1 for a track that continues in a branch out of its reach: the displacement of its centroid is no motion. */
  readonly branched: Uint8Array;
  /** 1 for a track that continues by a change of shape: the displacement of its centroid is no motion. */
  readonly reshaped: Uint8Array;
}

interface Pair {
  readonly track: number;
  readonly part: number;
  readonly cost: number;
}

/** Pixels of each moved mask, and pixels that it shares with each part. */
interface Overlaps {
  readonly shared: readonly ReadonlyMap<number, number>[];
  /** The same for a mask widened by the reach of its branches. */
  readonly reached: readonly ReadonlyMap<number, number>[];
  readonly pixels: readonly number[];
}

/**
 * Links between the tracks and the parts of a scan: continuations, mergers and splits.
 * `flow`: steering flow at each part, km/min. A part with `held_by` stays with that track.
 */
export function matchParts(
  predictions: readonly Prediction[],
  parts: readonly CellPart[],
  flow: readonly Vector[],
): Matches {
  const owner = cellAtPixel(parts);
  const shared = predictions.map((p) => sharedPixels(p.track.mask, p.rows_south, p.cols_east, owner));
  const overlaps: Overlaps = {
    shared,
    reached: predictions.map((p, track) => {
      if (p.track.missed_scans > 0 || p.minutes <= BRANCHES_STAY_MIN) return shared[track];
      // A pixel of 0.01 degrees stands for a kilometre.
      const reach_px = Math.round(PARTING_VELOCITY_SD_KM_MIN * p.minutes);
      return sharedPixels(p.track.mask, p.rows_south, p.cols_east, owner, reach_px);
    }),
    pixels: predictions.map((p) => maskPixels(p.track.mask)),
  };
  const matches: Matches = {
    partOfTrack: new Int32Array(predictions.length).fill(-1),
    trackOfPart: new Int32Array(parts.length).fill(-1),
    mergedInto: new Int32Array(predictions.length).fill(-1),
    parentOfPart: new Int32Array(parts.length).fill(-1),
    branched: new Uint8Array(predictions.length),
    reshaped: new Uint8Array(predictions.length),
  };
  parts.forEach((part, index) => {
    if (part.held_by !== null) link(matches, part.held_by, index);
  });
  const pairs = candidatePairs(predictions, parts, flow, overlaps, matches);
  for (const cluster of clusters(pairs, predictions.length, parts.length))
    for (const pair of cheapest(cluster)) link(matches, pair.track, pair.part);

  const allowed = new Set(pairs.map((pair) => pair.track * parts.length + pair.part));
  const mayLink = (track: number, part: number) => allowed.has(track * parts.length + part);
  followBranches(predictions, parts, flow, overlaps, matches);
  followShapes(parts, overlaps, matches);
  findMergers(predictions, overlaps, matches, mayLink);
  return matches;
}

function link(matches: Matches, track: number, part: number): void {
  matches.partOfTrack[track] = part;
  matches.trackOfPart[part] = track;
}

/** Pairs of tracks and parts within reach of each other, by track, then part. */
function candidatePairs(
  predictions: readonly Prediction[],
  parts: readonly CellPart[],
  flow: readonly Vector[],
  overlaps: Overlaps,
  matches: Matches,
): Pair[] {
  const buckets = bucketParts(parts);
  const largest_radius_km = parts.reduce((most, part) => Math.max(most, equivalentRadius(part.area_km2)), 0);
  return predictions.flatMap((prediction, track) => {
    if (matches.partOfTrack[track] !== -1) return [];
    return partsWithin(buckets, prediction, reachKm(prediction, largest_radius_km)).flatMap((index) => {
      const part = parts[index];
      if (part.held_by !== null || !mayContinue(prediction, part, flow[index])) return [];
      const common = overlaps.shared[track]?.get(index) ?? 0;
      if (common === 0 && prediction.track.missed_scans >= MISSED_SCANS_FREE) return [];
      const iou = common / (overlaps.pixels[track] + part.rows.length - common);
      return [{ track, part: index, cost: linkCost(prediction, part, iou) }];
    });
  });
}

/** Half the squared distance in standard deviations, the mask's mismatch, and the changes of area and size. */
function linkCost({ track, motion }: Prediction, part: CellPart, iou: number): number {
  const d2 = mahalanobis2(motion, centroidOf(part), centroidVariance(equivalentRadius(part.area_km2)));
  const area = Math.abs(Math.log(part.area_km2 / track.area_km2));
  const size = Math.abs(Math.log(part.estimated_size_mm / track.estimated_size_mm));
  return d2 / 2 + MISMATCH_WEIGHT * (1 - iou) + area + SIZE_WEIGHT * size;
}

/** Parts by quarter-degree bucket of their centroid. */
function bucketParts(parts: readonly CellPart[]): Map<string, number[]> {
  return Map.groupBy(parts.keys(), (index) => {
    const { centroid_lat, centroid_lon } = parts[index];
    return `${Math.floor(centroid_lat / BUCKET_DEG)} ${Math.floor(centroid_lon / BUCKET_DEG)}`;
  });
}

/** Parts in the buckets around a prediction, ascending: all within the radius, and some beyond. */
function partsWithin(buckets: ReadonlyMap<string, number[]>, { motion }: Prediction, radius_km: number): number[] {
  const north = radius_km / kmPerDegree(motion.lat).north;
  const east = (1.05 * radius_km) / kmPerDegree(motion.lat).east; // 5 % for the meridians that close in northwards
  const found: number[] = [];
  for (let row = Math.floor((motion.lat - north) / BUCKET_DEG); row <= (motion.lat + north) / BUCKET_DEG; row++)
    for (let col = Math.floor((motion.lon - east) / BUCKET_DEG); col <= (motion.lon + east) / BUCKET_DEG; col++)
      found.push(...(buckets.get(`${row} ${col}`) ?? []));
  return found.sort((a, b) => a - b);
}

/** Groups of pairs that share a track or a part, directly or through other pairs, in order of their first pair. */
function clusters(pairs: readonly Pair[], tracks: number, parts: number): Pair[][] {
  const parent = Int32Array.from({ length: tracks + parts }, (_, i) => i);
  for (const pair of pairs) parent[rootOf(parent, tracks + pair.part)] = rootOf(parent, pair.track);
  return [...Map.groupBy(pairs, (pair) => rootOf(parent, pair.track)).values()];
}

function ascending(values: Iterable<number>): number[] {
  return [...new Set(values)].sort((a, b) => a - b);
}

/** Cheapest assignment of one cluster, exact. */
function cheapest(cluster: readonly Pair[]): Pair[] {
  const tracks = ascending(cluster.map((pair) => pair.track));
  const parts = ascending(cluster.map((pair) => pair.part));
  const rowOf = new Map(tracks.map((track, row) => [track, row]));
  const columnOf = new Map(parts.map((part, column) => [part, column]));
  const at = (pair: Pair) => [rowOf.get(pair.track) as number, columnOf.get(pair.part) as number] as const;
  const cost = new Float64Array(tracks.length * parts.length).fill(Number.POSITIVE_INFINITY);
  for (const pair of cluster) {
    const [row, column] = at(pair);
    cost[row * parts.length + column] = pair.cost;
  }
  const columnOfRow = assign(cost, tracks.length, parts.length, ALONE_COST);
  return cluster.filter((pair) => {
    const [row, column] = at(pair);
    return columnOfRow[row] === column;
  });
}

/** Area x size: the strongest branch of a split or a merger keeps the id. */
export function strength(body: { readonly area_km2: number; readonly estimated_size_mm: number }): number {
  return body.area_km2 * body.estimated_size_mm;
}

/**
 * Links the branches of split storms, found by overlap with the moved mask: the centroid jumps at a split, the pixels do not.
 * The strongest branch keeps the id and becomes the parent of the others. A part with `held_by` stays with that track.
 */
function followBranches(
  predictions: readonly Prediction[],
  parts: readonly CellPart[],
  flow: readonly Vector[],
  overlaps: Overlaps,
  matches: Matches,
): void {
  const { partOfTrack, trackOfPart, parentOfPart, branched } = matches;
  const strengthOf = (part: number) => strength(parts[part]);
  const near = branchesOf(parts, overlaps.shared);
  branchesOf(parts, overlaps.reached).forEach((far, track) => {
    const branches = breaksInto(predictions[track], track, far, parts, flow, overlaps) ? far : near[track];
    const free = branches.filter((part) => trackOfPart[part] === -1);
    const [first] = free;
    if (first === undefined) return;
    const own = partOfTrack[track];
    const prediction = predictions[track];
    if (own === -1 && !breaksInto(prediction, track, free, parts, flow, overlaps)) return;
    const movable = own === -1 || (branches.includes(own) && parts[own].held_by === null);
    const rivals = own === -1 ? free : [own, ...free];
    const strongest = movable ? rivals.reduce((best, at) => (strengthOf(at) > strengthOf(best) ? at : best)) : own;
    if (strongest !== own) {
      if (own !== -1) trackOfPart[own] = -1;
      branched[track] = 1;
      link(matches, track, strongest);
    }
    for (const part of rivals) if (part !== strongest) parentOfPart[part] = track;
  });
}

/** Branches of each track, ascending: its moved mask covers ANCESTRY_SHARE of the part, and more than any other mask. */
function branchesOf(parts: readonly CellPart[], shared: Overlaps['shared']): number[][] {
  const most = new Int32Array(parts.length);
  const from = new Int32Array(parts.length).fill(-1);
  shared.forEach((of, track) => {
    for (const [part, common] of of) {
      if (common <= most[part]) continue;
      most[part] = common;
      from[part] = track;
    }
  });
  const branches: number[][] = shared.map(() => []);
  parts.forEach(({ rows }, part) => {
    if (most[part] >= ANCESTRY_SHARE * rows.length) branches[from[part]]?.push(part);
  });
  return branches;
}

/** True when a track splits into these branches: they are strong enough, cover its moved mask and lie together within its reach. */
function breaksInto(
  prediction: Prediction,
  track: number,
  branches: readonly number[],
  parts: readonly CellPart[],
  flow: readonly Vector[],
  { reached, pixels }: Overlaps,
): boolean {
  const own = branches.map((part) => parts[part]);
  const strong = own.filter((part) => strength(part) >= BRANCH_STRENGTH_SHARE * strength(prediction.track));
  if (strong.length < 2) return false;
  const covered = branches.reduce((sum, part) => sum + (reached[track]?.get(part) ?? 0), 0);
  if (covered < BRANCHES_COVER_SHARE * pixels[track]) return false;
  return mayContinue(prediction, together(own), flow[branches[0]]);
}

/** Centre of gravity and area of several parts together. */
function together(parts: readonly CellPart[]): Body {
  let weight = 0;
  let lat = 0;
  let lon = 0;
  let area_km2 = 0;
  for (const part of parts) {
    const tenths = part.tenths.reduce((sum, value) => sum + value, 0);
    weight += tenths;
    lat += tenths * part.centroid_lat;
    lon += tenths * part.centroid_lon;
    area_km2 += part.area_km2;
  }
  return { centroid_lat: lat / weight, centroid_lon: lon / weight, area_km2 };
}

/**
 * Links a moved mask with a part that overlaps it, where neither has another link: a change of shape. Pixels that join or leave
 * at the threshold move a centroid further than a storm moves. The largest overlap is linked first.
 */
function followShapes(parts: readonly CellPart[], { shared, pixels }: Overlaps, matches: Matches): void {
  const { partOfTrack, trackOfPart, parentOfPart, reshaped } = matches;
  const pairs = shared.flatMap((of, track) =>
    [...of].flatMap(([part, common]) => {
      const mayBeSame = partOfTrack[track] === -1 && trackOfPart[part] === -1 && parentOfPart[part] === -1;
      return mayBeSame && isSame(common, pixels[track], parts[part].rows.length) ? [{ track, part, common }] : [];
    }),
  );
  pairs.sort((a, b) => b.common - a.common || a.track - b.track || a.part - b.part);
  for (const { track, part } of pairs) {
    if (partOfTrack[track] !== -1 || trackOfPart[part] !== -1) continue;
    reshaped[track] = 1;
    link(matches, track, part);
  }
}

/** True when two sets of pixels with this overlap are one object in two shapes. */
function isSame(common: number, pixels: number, others: number): boolean {
  const [smaller, larger] = pixels < others ? [pixels, others] : [others, pixels];
  return common >= SAME_SHARE_OF_SMALLER * smaller && common >= SAME_SHARE_OF_LARGER * larger;
}

/**
 * Mergers: a track without a part merges into the track whose part covers its mask. The stronger of the two continues, but a
 * parent before its child. A track does not merge into one that began after it was last seen.
 */
function findMergers(
  predictions: readonly Prediction[],
  { shared, pixels }: Overlaps,
  matches: Matches,
  mayLink: (track: number, part: number) => boolean,
): void {
  const { partOfTrack, trackOfPart, mergedInto, branched } = matches;
  const trackAt = (index: number): LiveTrack => predictions[index].track;
  const isChild = (child: number, of: number) => trackAt(child).parent_track_id === trackAt(of).track_id;
  const mayEndIn = (lost: number, survivor: number) =>
    trackAt(survivor).first_detected <= trackAt(lost).last_seen && !isChild(survivor, lost);
  predictions.forEach(({ track }, index) => {
    if (partOfTrack[index] !== -1) return;
    const taken = [...shared[index]].filter(([part]) => trackOfPart[part] !== -1);
    const [into, common] = largest(taken);
    if (into === -1 || common < ANCESTRY_SHARE * pixels[index]) return;
    const other = trackOfPart[into];
    const goesOn = strength(track) > strength(trackAt(other)) && mayLink(index, into) && !isChild(index, other);
    if (goesOn || isChild(other, index)) {
      partOfTrack[other] = -1;
      mergedInto.forEach((survivor, lost) => {
        if (survivor === other) mergedInto[lost] = mayEndIn(lost, index) ? index : -1;
      });
      mergedInto[other] = mayEndIn(other, index) ? index : -1;
      branched[index] = mayLink(index, into) ? 0 : 1;
      link(matches, index, into);
    } else if (mayEndIn(index, other)) mergedInto[index] = other;
  });
}

/** The entry with the largest value, the lowest index among equals; [-1, 0] of none. */
function largest(entries: readonly (readonly [index: number, value: number])[]): readonly [number, number] {
  let best: readonly [number, number] = [-1, 0];
  for (const entry of entries) if (entry[1] > best[1] || (entry[1] === best[1] && entry[0] < best[0])) best = entry;
  return best;
}

/**
 * Minimum-cost assignment of rows to columns: the column of each row, -1 for a row left alone.
 *
 * `cost`: rows x columns, row-major, Infinity where a pair is forbidden. A row left alone costs `alone` (a dummy column per row);
 * a column left alone costs 0. Ties go to the lowest column.
 * Source: Jonker & Volgenant 1987, Computing 38, 325-340: shortest augmenting paths over reduced costs, O(n^3).
 */
export function assign(cost: Float64Array, rows: number, columns: number, alone: number): Int32Array {
  const all = columns + rows;
  const rowOfColumn = new Int32Array(all).fill(-1);
  const rowPrice = new Float64Array(rows);
  const columnPrice = new Float64Array(all);
  const distance = new Float64Array(all);
  const cameFrom = new Int32Array(all);
  const done = new Uint8Array(all);
  const costAt = (row: number, column: number): number => {
    if (column < columns) return cost[row * columns + column];
    return column - columns === row ? alone : Number.POSITIVE_INFINITY;
  };

  for (let start = 0; start < rows; start++) {
    distance.fill(Number.POSITIVE_INFINITY);
    done.fill(0);
    let row = start;
    let reached = -1;
    let travelled = 0;
    while (reached < 0 || rowOfColumn[reached] !== -1) {
      if (reached >= 0) row = rowOfColumn[reached];
      let nearest = -1;
      for (let column = 0; column < all; column++) {
        if (done[column]) continue;
        const reduced = costAt(row, column) - rowPrice[row] - columnPrice[column];
        if (travelled + reduced < distance[column]) {
          distance[column] = travelled + reduced;
          cameFrom[column] = reached;
        }
        if (nearest < 0 || distance[column] < distance[nearest]) nearest = column;
      }
      reached = nearest;
      travelled = distance[reached];
      done[reached] = 1;
    }
    rowPrice[start] = rowPrice[start] + travelled;
    for (let column = 0; column < all; column++) {
      if (!done[column] || column === reached) continue;
      const slack = travelled - distance[column];
      const owner = rowOfColumn[column];
      rowPrice[owner] = rowPrice[owner] + slack;
      columnPrice[column] = columnPrice[column] - slack;
    }
    while (reached >= 0) {
      const before = cameFrom[reached];
      rowOfColumn[reached] = before >= 0 ? rowOfColumn[before] : start;
      reached = before;
    }
  }

  const columnOfRow = new Int32Array(rows).fill(-1);
  for (let column = 0; column < columns; column++)
    if (rowOfColumn[column] >= 0) columnOfRow[rowOfColumn[column]] = column;
  return columnOfRow;
}
