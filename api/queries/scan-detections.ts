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

/** Detections of every scan of the live window by its time, epoch milliseconds; a scan without hail has none. */
export function liveDetections({ detections }: LiveSnapshot): (scan_ms: number) => ScanDetections {
  const times = detections.column('scan_time');
  const byScan = Map.groupBy(Array.from(times).keys(), (row) => times[row] as number);
  return (scan_ms) => {
    const rows = byScan.get(scan_ms) ?? [];
    const column = <Value>(values: ArrayLike<Value>) => rows.map((row) => values[row] as Value);
    return {
      length: rows.length,
      lat: column(detections.column('lat')),
      lon: column(detections.column('lon')),
      size_mm: column(detections.column('estimated_size_mm')),
      confidence: column(detections.column('confidence')),
      track_id: column(detections.column('track_id')),
    };
  };
}

const DETECTIONS_SQL = `
  SELECT lat, lon, estimated_size_mm AS size_mm, confidence, track_id
  FROM ${FILES} WHERE epoch_ms(scan_time) = $2 ORDER BY "row", col`;

/** Detections of a scan from the published tables: for one that the live window no longer holds. */
export async function readDetections(
  engine: Engine,
  paths: readonly string[],
  scan_ms: number,
): Promise<ScanDetections> {
  if (paths.length === 0) return { length: 0, lat: [], lon: [], size_mm: [], confidence: [], track_id: [] };
  const columns = await engine.columns<Exclude<keyof ScanDetections, 'length'>>(DETECTIONS_SQL, [paths, scan_ms]);
  return { length: columns.lat.length, ...columns } as ScanDetections;
}
