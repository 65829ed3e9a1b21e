import { gunzipSync, gzipSync } from 'node:zlib';
import { CELL_GROW_MM } from '../../schemas/size.ts';
import { type DetectionHistory, emptyDetectionHistory } from '../detect/history.ts';
import type { TrackProbability } from '../detect/table-rows.ts';
import type { HailField, ScanInput } from '../grid.ts';
import { type LiveTracks, noLiveTracks } from '../track/live-tracks.ts';

/** Scans separated by a longer gap do not depend on each other. */
export const TRACKING_MAX_GAP_MS = 30 * 60_000;

/** Pixels >= 5 mm of a scan, as plain numbers; the next scan compares its own field with them. */
interface PreviousScan {
  readonly scan_time: number;
  readonly window: HailField['window'];
  readonly rows: readonly number[];
  readonly cols: readonly number[];
  readonly tenths: readonly number[];
}

/** State that a scan leaves for the next one. Plain data: encoding and decoding gives an equal state. */
export interface TrackingState {
  /** Time of the last scan; null before the first. */
  readonly scan_time: number | null;
  readonly detect: DetectionHistory;
  readonly tracks: LiveTracks;
  /** Probabilities published last for each live track, by track_id. */
  readonly probabilities: Readonly<Record<string, TrackProbability>>;
  readonly previousScan: PreviousScan | null;
}

export const emptyTrackingState: TrackingState = {
  scan_time: null,
  detect: emptyDetectionHistory,
  tracks: noLiveTracks,
  probabilities: {},
  previousScan: null,
};

/** State at an instant: empty when the last scan is too long ago. */
export function stateAt(state: TrackingState, time_ms: number): TrackingState {
  return state.scan_time !== null && time_ms - state.scan_time > TRACKING_MAX_GAP_MS ? emptyTrackingState : state;
}

/** The checkpoint as bytes: the same state gives the same bytes. Its names are those of version 1 of the file. */
export function encodeTrackingState(state: TrackingState): Uint8Array {
  const { scan_time, detect, tracks, probabilities: judged, previousScan } = state;
  return gzipSync(JSON.stringify({ scan_time, detect, tracks, judged, echo: previousScan }), { level: 1 });
}

export function decodeTrackingState(bytes: Uint8Array): TrackingState {
  const { judged: probabilities, echo: previousScan, ...rest } = JSON.parse(gunzipSync(bytes).toString('utf8'));
  return { ...rest, probabilities, previousScan };
}

/** Field of a scan as the next one compares with it. */
export function toPreviousScan({ scan_time, mesh }: Pick<ScanInput, 'scan_time' | 'mesh'>): PreviousScan {
  const rows: number[] = [];
  const cols: number[] = [];
  const tenths: number[] = [];
  for (let r = 0; r < mesh.window.rows; r++) {
    for (let i = mesh.rowStart[r]; i < mesh.rowStart[r + 1]; i++) {
      if (mesh.tenths[i] < CELL_GROW_MM * 10) continue;
      rows.push(mesh.window.row0 + r);
      cols.push(mesh.col[i]);
      tenths.push(mesh.tenths[i]);
    }
  }
  return { scan_time, window: mesh.window, rows, cols, tenths };
}

/** The field of the scan before, from 5 mm on; its coverage is not stored. */
export function previousField({ window, rows, cols, tenths }: PreviousScan): HailField {
  const rowStart = new Uint32Array(window.rows + 1);
  for (const row of rows) rowStart[row - window.row0 + 1]++;
  for (let r = 0; r < window.rows; r++) rowStart[r + 1] += rowStart[r];
  return {
    window,
    rowStart,
    col: Uint16Array.from(cols),
    tenths: Uint16Array.from(tenths),
    covered_px: 0,
    uncovered_px: 0,
  };
}
