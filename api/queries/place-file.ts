import { detections } from '../../schemas/tables/detections.ts';
import type { Queries } from '../duckdb.ts';
import type { FileView } from './file-memory.ts';
import { FILES } from './select.ts';

/** The scans that saw a detection in each geohash5 place, of one file of detections. */
export interface PlaceFile {
  readonly bytes: number;
  /** Instants of the scans that saw hail in a place, in no order, each once; epoch milliseconds. */
  readonly scansOf: (geohash5: string) => readonly number[];
}

const SCANS_SQL = `
  SELECT geohash5, string_agg(DISTINCT epoch_ms(scan_time)::VARCHAR, ' ') AS scans FROM ${FILES} GROUP BY geohash5`;
/** What a place takes beside the text of its scans: its name and its entry. */
const PLACE_BYTES = 120;

/** The places of a file of detections, as a memory of files keeps them. */
export const PLACE_FILE: FileView<PlaceFile> = {
  name: detections.name,
  read: async (queries: Queries, path: string) => {
    const rows = await queries.rows<{ geohash5: string; scans: string }>(SCANS_SQL, [[path]]);
    // As text: an array for each place would take several times the memory.
    const scans = new Map(rows.map((row) => [row.geohash5, row.scans]));
    return {
      bytes: rows.reduce((sum, row) => sum + row.scans.length + PLACE_BYTES, 0),
      scansOf: (geohash5) => scans.get(geohash5)?.split(' ').map(Number) ?? [],
    };
  },
};
