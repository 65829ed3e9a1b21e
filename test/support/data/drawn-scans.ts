import { mkdir, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { SIMULATED_STATUS } from '../../../pipeline/read/mrms.ts';
import { bucketPath } from '../../../pipeline/simulate/evening.ts';
import { MISSING } from '../../../pipeline/simulate/fields.ts';
import { writeGrib2 } from '../../../pipeline/simulate/grib2-writer.ts';
import { SCAN_PRODUCT, type SourceFile } from '../../../pipeline/sources/names.ts';
import { latRow, lonCol, type Window } from '../../../schemas/geo/lattice.ts';
import type { Position } from '../../../schemas/geo/position.ts';
import type { Provenance } from '../../../schemas/provenance.ts';

/** A disk of hail: MESH falls from the middle to 5 mm at the rim, or is the same everywhere for a patch of single pixels. */
export interface Blob extends Position {
  readonly mm: number;
  /** Radius in pixels, 0: one pixel. */
  readonly radius_px: number;
}

const RIM_MM = 5;
/** Octet 20 of section 1, the production status, in a GRIB2 file: sections begin at byte 16. */
const STATUS_AT = 16 + 19;

/** MESH of a scan in tenths of a millimetre, row-major from the north-west corner of the window; the largest counts where blobs overlap. */
function tenthsOf(window: Window, blobs: readonly Blob[]): Int16Array {
  const tenths = new Int16Array(window.rows * window.cols).fill(MISSING);
  for (const { lat, lon, mm, radius_px } of blobs) {
    const [row, col] = [latRow(lat) - window.row0, lonCol(lon) - window.col0];
    for (let r = Math.max(0, row - radius_px); r <= Math.min(window.rows - 1, row + radius_px); r++)
      for (let c = Math.max(0, col - radius_px); c <= Math.min(window.cols - 1, col + radius_px); c++) {
        const share = radius_px === 0 ? 0 : Math.hypot(r - row, c - col) / radius_px;
        if (share > 1) continue;
        const at = r * window.cols + c;
        tenths[at] = Math.max(tenths[at] as number, Math.round(10 * (mm - (mm - RIM_MM) * share)));
      }
  }
  return tenths;
}

/** The MESH file of a drawn scan, covered everywhere in its window. */
export async function drawnScan(
  folder: string,
  window: Window,
  scan_time: number,
  blobs: readonly Blob[],
  provenance: Provenance = 'simulated',
): Promise<SourceFile> {
  const tenths = tenthsOf(window, blobs);
  const index = Uint32Array.from(tenths.keys()).filter((at) => tenths[at] !== MISSING);
  const scan = { scan_time, window, index, values: { MESH: Int16Array.from(index, (at) => tenths[at] as number) } };
  const covered = new Uint8Array(tenths.length).fill(1);
  const message = writeGrib2(scan, 'MESH', covered);
  if (message[STATUS_AT] !== SIMULATED_STATUS) throw new Error('the production status is not where it was expected');
  if (provenance === 'observed') message[STATUS_AT] = 0;
  const bytes = gzipSync(message);
  const key = bucketPath('MESH', scan_time);
  const name = basename(key);
  const location = join(folder, name);
  await mkdir(folder, { recursive: true });
  await writeFile(location, bytes);
  return { product: SCAN_PRODUCT, time_ms: scan_time, name, key, bytes: bytes.length, location };
}
