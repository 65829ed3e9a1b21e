import type { Engine } from '../published/duckdb.ts';
import type { LiveSnapshot } from '../published/live.ts';
import { FILES } from './sql.ts';

/** Detections of one scan as columns; row k of each is detection k. */
export interface ScanDetections {
  readonly length: number;
  readonly lat: ArrayLike<number>;
  readonly lon: ArrayLike<number>;
  readonly size_mm: ArrayLike<number>;
  readonly confidence: ArrayLike<number>;
  readonly track_id: ArrayLike<string | null>;
}

/** Detections of every scan of the live window by its time, epoch milliseconds; a scan without hail is left out. */
export function liveDetections({ detections }: LiveSnapshot): (scan_ms: number) => ScanDetections {
  const times = detections.column('scan_time');
  const rangeOf = new Map<number, { first: number; end: number }>();
  for (let k = 0; k < detections.length; k++) {
    const range = rangeOf.get(times[k] as number);
    if (range === undefined) rangeOf.set(times[k] as number, { first: k, end: k + 1 });
    else range.end = k + 1; // rows come scan by scan
  }
  return (scan_ms) => {
    const { first, end } = rangeOf.get(scan_ms) ?? { first: 0, end: 0 };
    return {
      length: end - first,
      lat: part(detections.column('lat'), first, end),
      lon: part(detections.column('lon'), first, end),
      size_mm: part(detections.column('estimated_size_mm'), first, end),
      confidence: part(detections.column('confidence'), first, end),
      track_id: part(detections.column('track_id'), first, end),
    };
  };
}

function part<Value>(column: ArrayLike<Value>, first: number, end: number): ArrayLike<Value> {
  return Array.from({ length: end - first }, (_, k) => column[first + k] as Value);
}

/** Detections of a scan from the published tables: for one that the live window no longer holds. */
export async function readDetections(
  engine: Engine,
  paths: readonly string[],
  scan_ms: number,
): Promise<ScanDetections> {
  if (paths.length === 0) return NONE;
  const rows = await engine.rows<{
    lat: number;
    lon: number;
    size_mm: number;
    confidence: number;
    track_id: string | null;
  }>(
    `SELECT lat, lon, estimated_size_mm AS size_mm, confidence, track_id
     FROM ${FILES} WHERE epoch_ms(scan_time) = $2 ORDER BY "row", col`,
    [paths, scan_ms],
  );
  return {
    length: rows.length,
    lat: rows.map(({ lat }) => lat),
    lon: rows.map(({ lon }) => lon),
    size_mm: rows.map(({ size_mm }) => size_mm),
    confidence: rows.map(({ confidence }) => confidence),
    track_id: rows.map(({ track_id }) => track_id),
  };
}

const NONE: ScanDetections = { length: 0, lat: [], lon: [], size_mm: [], confidence: [], track_id: [] };
