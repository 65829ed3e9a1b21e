import { PMTiles } from 'pmtiles';
import { z } from 'zod';
import type { Bbox } from '../../schemas/geo/position.ts';
import type { DataRoot } from '../published/data-root.ts';
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
export async function readDetections(engine: Engine, paths: readonly string[], scan_ms: number) {
  if (paths.length === 0) return { length: 0, lat: [], lon: [], size_mm: [], confidence: [], track_id: [] };
  const columns = await engine.columns<Exclude<keyof ScanDetections, 'length'>>(DETECTIONS_SQL, [paths, scan_ms]);
  return { length: columns.lat.length, ...columns } as ScanDetections;
}

const count = z.int().nonnegative();

/** Blocks of a scan's grid that no radar covers, from its archive; run `[row, start, end]` is blocks start .. end - 1. */
const UncoveredRuns = z.object({
  north: z.number(),
  west: z.number(),
  step_deg: z.number().positive(),
  rows: count,
  cols: count,
  runs: z.array(z.tuple([count, count, count])),
});
export type UncoveredRuns = z.infer<typeof UncoveredRuns>;
const Metadata = z.looseObject({ uncovered: UncoveredRuns.optional() });

/** Where one scan had coverage. */
export type ScanCoverage = ReturnType<typeof scanCoverageOf>;

/** Coverage of a scan from its archive; null when the archive has none, or is gone. Throws for a file that is no archive. */
export async function readScanCoverage(files: Pick<DataRoot, 'part'>, path: string): Promise<ScanCoverage | null> {
  const archive = new PMTiles({
    getKey: () => path,
    getBytes: async (first, length) => ({ data: Uint8Array.from(await files.part(path, first, length)).buffer }),
  });
  try {
    const { uncovered } = Metadata.parse(await archive.getMetadata());
    return uncovered === undefined ? null : scanCoverageOf(uncovered);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw new Error(`${path} is no scan archive`, { cause: error });
  }
}

/** Coverage by sums over all blocks north-west of each corner, so that any box costs the same. */
function scanCoverageOf({ north, west, step_deg, rows, cols, runs }: UncoveredRuns) {
  const covered = new Uint8Array(rows * cols).fill(1);
  for (const [row, start, end] of runs) covered.fill(0, row * cols + start, row * cols + Math.min(end, cols));
  const width = cols + 1;
  const sums = new Uint32Array((rows + 1) * width);
  for (let row = 0; row < rows; row++)
    for (let col = 0, line = 0; col < cols; col++) {
      line += covered[row * cols + col];
      sums[(row + 1) * width + col + 1] = sums[row * width + col + 1] + line;
    }
  const clamped = (value: number, most: number) => Math.max(0, Math.min(most, value));
  return {
    /** Covered blocks of those that a box touches, and of their neighbours; outside the grid nothing is covered. */
    blocksOver: ([boxWest, boxSouth, boxEast, boxNorth]: Bbox): number => {
      const top = clamped(Math.floor((north - boxNorth) / step_deg) - 1, rows);
      const bottom = clamped(Math.floor((north - boxSouth) / step_deg) + 2, rows);
      const left = clamped(Math.floor((boxWest - west) / step_deg) - 1, cols);
      const right = clamped(Math.floor((boxEast - west) / step_deg) + 2, cols);
      const at = (row: number, col: number) => sums[row * width + col] as number;
      return at(bottom, right) - at(top, right) - at(bottom, left) + at(top, left);
    },
  };
}
