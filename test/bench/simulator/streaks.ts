import { LATTICES, rowLat, type Window } from '../../../schemas/geo/lattice.ts';
import type { MaximumField } from './field-statistics.ts';
import { patchesOf } from './patches.ts';

/** Threshold of a streak, tenths of a millimetre, its least length and least length over width: it has an axis then. */
const STREAK_TENTHS = 100;
const STREAK_LENGTH_KM = 15;
const STREAK_ASPECT = 3;
/** Length of the pieces that the ridge line is drawn through. */
const PIECE_KM = 4;
/** Distance within which streaks are neighbours. */
const NEIGHBOUR_KM = 200;

/** A long swath of hail as a line. */
export interface Streak {
  /** Its middle, km from the corner of the grid. */
  readonly east_km: number;
  readonly north_km: number;
  /** Direction of its axis counted from east, degrees; the same after half a turn. */
  readonly axis_deg: number;
  /** Root mean square distance of its ridge line from its axis, as a share of its length. */
  readonly off_axis: number;
}

/** Swaths of at least 10 mm that are 15 km long, and three times as long as wide. */
export function streaksOf({ window, tenths }: MaximumField): Streak[] {
  const members = [...tenths].flatMap(([pixel, value]) => (value >= STREAK_TENTHS ? [pixel] : []));
  return patchesOf(members, window)
    .filter(({ length_km, width_km }) => length_km >= STREAK_LENGTH_KM && length_km >= STREAK_ASPECT * width_km)
    .map(({ members, length_km }) =>
      streakOf(
        members.map((pixel) => spotOf(pixel, window, tenths)),
        length_km,
      ),
    );
}

/** Differences of the axes of all pairs of streaks that are neighbours, 0 to 90 degrees. */
export function axesApart(streaks: readonly Streak[]): number[] {
  return streaks.flatMap((one, i) =>
    streaks
      .slice(0, i)
      .filter((other) => Math.hypot(one.east_km - other.east_km, one.north_km - other.north_km) <= NEIGHBOUR_KM)
      .map((other) => {
        const turn = Math.abs(one.axis_deg - other.axis_deg) % 180;
        return Math.min(turn, 180 - turn);
      }),
  );
}

/** A pixel of a streak: place, km, and hail. */
interface Spot {
  readonly east_km: number;
  readonly north_km: number;
  readonly tenths: number;
}

function spotOf(pixel: number, window: Window, tenths: MaximumField['tenths']): Spot {
  const row = window.row0 + Math.floor(pixel / window.cols);
  return {
    east_km: 1.1132 * Math.cos((rowLat(LATTICES.conus, row) * Math.PI) / 180) * (pixel % window.cols),
    north_km: -1.112 * row,
    tenths: tenths.get(pixel) ?? 0,
  };
}

function streakOf(spots: readonly Spot[], length_km: number): Streak {
  const mean = (value: (spot: Spot) => number) => spots.reduce((sum, spot) => sum + value(spot), 0) / spots.length;
  const east_km = mean((spot) => spot.east_km);
  const north_km = mean((spot) => spot.north_km);
  const xx = mean((spot) => (spot.east_km - east_km) ** 2);
  const yy = mean((spot) => (spot.north_km - north_km) ** 2);
  const xy = mean((spot) => (spot.east_km - east_km) * (spot.north_km - north_km));
  const axis = Math.atan2(2 * xy, xx - yy) / 2;
  const along = (spot: Spot) => (spot.east_km - east_km) * Math.cos(axis) + (spot.north_km - north_km) * Math.sin(axis);
  const aside = (spot: Spot) => (spot.north_km - north_km) * Math.cos(axis) - (spot.east_km - east_km) * Math.sin(axis);
  // The ridge line: the mean distance from the axis of each piece, weighted by its hail.
  const pieces = [...Map.groupBy(spots, (spot) => Math.floor(along(spot) / PIECE_KM)).values()];
  const ridge_km = pieces.map((piece) => {
    const hail = piece.reduce((sum, spot) => sum + spot.tenths, 0);
    return piece.reduce((sum, spot) => sum + spot.tenths * aside(spot), 0) / hail;
  });
  const rms_km = Math.sqrt(ridge_km.reduce((sum, km) => sum + km * km, 0) / ridge_km.length);
  return { east_km, north_km, axis_deg: (axis * 180) / Math.PI, off_axis: rms_km / length_km };
}
