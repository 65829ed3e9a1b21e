import { UsageError } from '../../pipeline/error.ts';
import { equivalentRadius } from '../../pipeline/track/gate.ts';
import { kmPerDegree, medianVelocity, offsetKm, type Vector } from '../../pipeline/track/motion.ts';
import { maskOf, type TrackCell } from '../../pipeline/track/track-cell.ts';
import type { ObjectFrame, ScoredPoint } from './track-scores.ts';

/** What the two trackers call the columns that are needed: TINT, tobac, ours. */
const COLUMNS = {
  track: ['uid', 'cell', 'track_id'],
  time: ['time'],
  lat: ['lat', 'latitude'],
  lon: ['lon', 'longitude'],
} as const;
/** A position's motion is the straight line through this much of its past. */
const PAST_MIN = 16;
/** A track's position belongs to an object from this distance of its centre on, or within its radius, km. */
const NEAR_KM = 5;

/** Positions of another tracker's table, in order of time; rows without a track (tobac's cell -1) are left out. */
export function readPeerTracks(csv: string, subject: string): ScoredPoint[] {
  const [header = '', ...lines] = csv.trim().split(/\r?\n/);
  const names = header.split(',').map((name) => name.trim().replaceAll('"', ''));
  const column = (wanted: readonly string[]): number => {
    const at = names.findIndex((name) => wanted.includes(name));
    if (at === -1)
      throw new UsageError(`${subject} has columns ${names.join(', ')}, expected one of ${wanted.join(', ')}`);
    return at;
  };
  const at = {
    track: column(COLUMNS.track),
    time: column(COLUMNS.time),
    lat: column(COLUMNS.lat),
    lon: column(COLUMNS.lon),
  };
  return lines
    .map((line, k) => {
      const values = line.split(',').map((value) => value.trim().replaceAll('"', ''));
      const time = (values[at.time] ?? '').replace(' ', 'T').replace(/(\.\d+)?(Z|[+]00:?00)?$/, 'Z');
      const point: ScoredPoint = {
        track_id: values[at.track] ?? '',
        scan_time: Date.parse(time),
        lat: Number(values[at.lat]),
        lon: Number(values[at.lon]),
        size: 0,
        reshaped: false,
      };
      if ([point.scan_time, point.lat, point.lon].some(Number.isNaN))
        throw new UsageError(`${subject} line ${k + 2} is '${line}', expected a time and a position`);
      return point;
    })
    .filter(({ track_id }) => track_id !== '-1' && track_id !== '')
    .sort((a, b) => a.scan_time - b.scan_time);
}

/** Objects of some frames with the motion of the peer's track on each; where it has none, the median of its others. */
export function peerFrames(
  points: readonly ScoredPoint[],
  frames: readonly { readonly scan_time: number; readonly cells: readonly TrackCell[] }[],
): ObjectFrame[] {
  const tracks = Map.groupBy(points, ({ track_id }) => track_id);
  return frames.map(({ scan_time, cells }) => {
    const here = points.filter((point) => point.scan_time === scan_time);
    const velocities = here.map(({ track_id }) => straightVelocity(tracks.get(track_id) as ScoredPoint[], scan_time));
    const usual = medianVelocity(velocities.filter((velocity) => velocity !== null));
    return {
      scan_time,
      objects: cells.map((cell) => {
        const nearest = nearestTo(cell, here);
        return { mask: maskOf(cell.rows, cell.cols), velocity: (nearest === -1 ? null : velocities[nearest]) ?? usual };
      }),
    };
  });
}

function nearestTo(cell: TrackCell, points: readonly ScoredPoint[]): number {
  const centre = { lat: cell.centroid_lat, lon: cell.centroid_lon };
  let best = -1;
  let best_km = Math.max(NEAR_KM, equivalentRadius(cell.area_km2));
  points.forEach((point, k) => {
    const off = offsetKm(centre, point);
    const away_km = Math.hypot(off.east, off.north);
    if (away_km > best_km) return;
    best = k;
    best_km = away_km;
  });
  return best;
}

/** Slope of the least-squares line through a track's positions of the last minutes, km/min; null of one. */
function straightVelocity(track: readonly ScoredPoint[], until: number): Vector | null {
  const past = track.filter(({ scan_time }) => scan_time <= until && scan_time >= until - PAST_MIN * 60_000);
  if (past.length < 2) return null;
  const mean = (of: (point: ScoredPoint) => number) => past.reduce((sum, point) => sum + of(point), 0) / past.length;
  const [time, lat, lon] = [mean((p) => p.scan_time), mean((p) => p.lat), mean((p) => p.lon)];
  const slope = (of: (point: ScoredPoint) => number) =>
    past.reduce((sum, p) => sum + ((p.scan_time - time) / 60_000) * of(p), 0) /
    past.reduce((sum, p) => sum + ((p.scan_time - time) / 60_000) ** 2, 0);
  const km = kmPerDegree(lat);
  return { east: km.east * slope((p) => p.lon - lon), north: km.north * slope((p) => p.lat - lat) };
}
