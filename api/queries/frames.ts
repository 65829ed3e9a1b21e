import { z } from 'zod';
import type { Engine } from '../published/duckdb.ts';
import { FILES } from './sql.ts';

const Storms = z.array(z.object({ lat: z.number(), lon: z.number(), mm: z.number() }));

/** A scan and the picture published for it. */
interface ScanFrame {
  readonly scan_id: string;
  /** Epoch milliseconds. */
  readonly scan_time: number;
  readonly max_size_mm: number | null;
  readonly max_prob: number | null;
  /** Tracked storms, largest first. */
  readonly storms: z.infer<typeof Storms>;
  /** Archive, relative to the data root. */
  readonly tile_path: string;
}

/** Frames of some files of the frames table, oldest first. */
export async function readFrames(engine: Engine, paths: readonly string[]): Promise<ScanFrame[]> {
  if (paths.length === 0) return [];
  const rows = await engine.rows<Omit<ScanFrame, 'storms'> & { storms: string }>(
    `SELECT scan_id, epoch_ms(scan_time)::DOUBLE AS scan_time, max_size_mm, max_prob, storms, tile_path
     FROM ${FILES} ORDER BY scan_time`,
    [paths],
  );
  return rows.map((row) => ({ ...row, storms: Storms.parse(JSON.parse(row.storms)) }));
}
