import { gunzipSync, gzipSync } from 'node:zlib';
import { type DetectionHistory, emptyDetectionHistory } from '../detect/history.ts';
import type { TrackProbability } from '../detect/table-rows.ts';
import { type LiveTracks, noLiveTracks } from '../track/live-tracks.ts';

/** Scans separated by a longer gap do not depend on each other. */
export const TRACKING_MAX_GAP_MS = 30 * 60_000;

/** State that a scan leaves for the next one. Plain data: encoding and decoding gives an equal state. */
export interface TrackingState {
  /** Time of the last scan; null before the first. */
  readonly scan_time: number | null;
  readonly detect: DetectionHistory;
  readonly tracks: LiveTracks;
  /** Probabilities published last for each live track, by track_id. */
  readonly probabilities: Readonly<Record<string, TrackProbability>>;
}

export const emptyTrackingState: TrackingState = {
  scan_time: null,
  detect: emptyDetectionHistory,
  tracks: noLiveTracks,
  probabilities: {},
};

/** State at an instant: empty when the last scan is too long ago. */
export function stateAt(state: TrackingState, time_ms: number): TrackingState {
  return state.scan_time !== null && time_ms - state.scan_time > TRACKING_MAX_GAP_MS ? emptyTrackingState : state;
}

/** The checkpoint as bytes: the same state gives the same bytes. */
export function encodeTrackingState(state: TrackingState): Uint8Array {
  return gzipSync(JSON.stringify(state), { level: 1 });
}

/** The state of a checkpoint; empty, as after a gap, for one in an earlier layout. */
export function decodeTrackingState(bytes: Uint8Array): TrackingState {
  const state = JSON.parse(gunzipSync(bytes).toString('utf8'));
  return state.tracks.trail === undefined ? emptyTrackingState : state;
}
