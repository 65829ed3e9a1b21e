import { promisify } from 'node:util';
import { gunzip } from 'node:zlib';
import { z } from 'zod';
import type { Bbox } from '../../schemas/geo/position.ts';
import type { DataRoot } from '../published/data-root.ts';

/** Where the header of a PMTiles archive (version 3) says where its metadata lie, and how long they are. */
const HEADER_BYTES = 127;
/** Size of the first read: most archives have their metadata in it. */
const BEGIN_BYTES = 16_384;
const METADATA_OFFSET_AT = 24;
const METADATA_BYTES_AT = 32;
const MAGIC = Buffer.from('PMTiles\x03', 'latin1');
/** Metadata of the whole of CONUS take some ten thousand bytes. */
const LARGEST_METADATA_BYTES = 4_000_000;

const inflate = promisify(gunzip);

/** Row, start and end of uncovered blocks. */
type Run = readonly [row: number, start: number, end: number];

/** Checked without zod: an archive has a thousand runs, and a question may need the archives of ninety dates. */
function areRuns(value: unknown): value is readonly Run[] {
  return Array.isArray(value) && value.every(isRun);
}

function isRun(value: unknown): value is Run {
  return Array.isArray(value) && value.length === 3 && value.every((number) => Number.isInteger(number) && number >= 0);
}

/** Blocks of a scan's grid that no radar covers, from its archive; run `[row, start, end]` is blocks start .. end - 1. */
const UncoveredRuns = z.object({
  north: z.number(),
  west: z.number(),
  step_deg: z.number().positive(),
  rows: z.int().nonnegative(),
  cols: z.int().nonnegative(),
  runs: z.custom<readonly Run[]>(areRuns, 'expected runs of three whole numbers'),
});
export type UncoveredRuns = z.infer<typeof UncoveredRuns>;

/** Where one scan had coverage. */
export interface ScanCoverage {
  /** Covered blocks of those that a box touches, and of their neighbours; outside the grid nothing is covered. */
  readonly blocksOver: (box: Bbox) => number;
}

/**
 * Coverage of a scan from its archive; null when the archive has none, or is gone. Throws for a file that is no archive.
 */
export async function readScanCoverage(files: Pick<DataRoot, 'part'>, path: string): Promise<ScanCoverage | null> {
  try {
    const { uncovered } = z.looseObject({ uncovered: UncoveredRuns.optional() }).parse(await readMetadata(files, path));
    return uncovered == null ? null : scanCoverageOf(uncovered);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  }
}

async function readMetadata(files: Pick<DataRoot, 'part'>, path: string): Promise<unknown> {
  const header = await files.part(path, 0, BEGIN_BYTES);
  if (header.length < HEADER_BYTES || !MAGIC.equals(header.subarray(0, MAGIC.length)))
    throw new Error(`${path} is no PMTiles archive`);
  const offset = Number(header.readBigUInt64LE(METADATA_OFFSET_AT));
  const bytes = Number(header.readBigUInt64LE(METADATA_BYTES_AT));
  if (bytes > LARGEST_METADATA_BYTES)
    throw new Error(`${path} has ${bytes} bytes of metadata, expected at most ${LARGEST_METADATA_BYTES}`);
  const isKnown = offset + bytes <= header.length;
  const metadata = isKnown ? header.subarray(offset, offset + bytes) : await files.part(path, offset, bytes);
  if (metadata.length !== bytes) throw new Error(`${path} ends in its metadata`);
  return JSON.parse((await inflate(metadata)).toString('utf8'));
}

/** Coverage by sums over all blocks north-west of each corner, so that any box costs the same. */
export function scanCoverageOf({ north, west, step_deg, rows, cols, runs }: UncoveredRuns): ScanCoverage {
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
    blocksOver: ([boxWest, boxSouth, boxEast, boxNorth]) => {
      const top = clamped(Math.floor((north - boxNorth) / step_deg) - 1, rows);
      const bottom = clamped(Math.floor((north - boxSouth) / step_deg) + 2, rows);
      const left = clamped(Math.floor((boxWest - west) / step_deg) - 1, cols);
      const right = clamped(Math.floor((boxEast - west) / step_deg) + 2, cols);
      const at = (row: number, col: number) => sums[row * width + col] as number;
      return at(bottom, right) - at(top, right) - at(bottom, left) + at(top, left);
    },
  };
}
