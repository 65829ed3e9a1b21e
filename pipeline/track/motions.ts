import type { Position } from '../../schemas/geo/position.ts';
import type { LiveTracks, TrackPointShape } from './live-tracks.ts';

/** From where to where the storms went that have a cell in this scan and in the one before. */
export function motionsSince(
  before: LiveTracks,
  points: readonly TrackPointShape[],
): { from: Position; to: Position }[] {
  const last = new Map(before.tracks.map((live) => [live.track_id, live]));
  return points.flatMap((point) => {
    const from = last.get(point.track_id);
    if (point.state !== 'tracked' || from === undefined || from.last_seen !== before.scan_time) return [];
    return { from: { lat: from.lat, lon: from.lon }, to: { lat: point.lat, lon: point.lon } };
  });
}
