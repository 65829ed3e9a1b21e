import type { Bbox, Position } from '../../schemas/geo/position.ts';
import { detections } from '../../schemas/tables/radar.ts';
import type { Edition } from '../published/catalog.ts';
import type { Engine, Queries } from '../published/duckdb.ts';
import type { FileMemory, FileView, Sized } from './file-memory.ts';
import { FILES } from './sql.ts';

/** Scans with a detection in each geohash5 place, of one file of detections. */
interface PlaceScans extends Sized {
  /** Epoch milliseconds, each once, in no order. */
  readonly scansOf: (geohash5: string) => readonly number[];
}

const FILE_SQL = `
  SELECT geohash5, string_agg(DISTINCT epoch_ms(scan_time)::VARCHAR, ' ') AS scans FROM ${FILES} GROUP BY geohash5`;
/** Memory of a place in addition to the text of its scans: its name and its map entry. */
const PLACE_BYTES = 120;

const PLACE_SCANS: FileView<PlaceScans> = {
  name: detections.name,
  read: async (queries: Queries, path: string) => {
    const rows = await queries.rows<{ geohash5: string; scans: string }>(FILE_SQL, [[path]]);
    // As text: an array for each place would take several times the memory.
    const scans = new Map(rows.map((row) => [row.geohash5, row.scans]));
    return {
      bytes: rows.reduce((sum, row) => sum + row.scans.length + PLACE_BYTES, 0),
      scansOf: (geohash5) => scans.get(geohash5)?.split(' ').map(Number) ?? [],
    };
  },
};

const PLACE_SQL = `
  SELECT DISTINCT epoch_ms(scan_time)::DOUBLE AS scan_time FROM ${FILES} WHERE geohash5 = $2 AND storm_date = $3::DATE`;

/** Side of a geohash5, degrees, rounded up: other pixels of a pixel's place lie at most this far from it. */
const PLACE_DEG = 0.044;

/** Scans of a storm date with a detection in the geohash5 place of a pixel, ascending, epoch milliseconds. */
export async function placeScans(
  { engine, files }: { readonly engine: Engine; readonly files: FileMemory },
  edition: Edition,
  { storm_date, geohash5, lat, lon }: Position & { readonly storm_date: string; readonly geohash5: string },
): Promise<number[]> {
  const bbox: Bbox = [lon - PLACE_DEG, lat - PLACE_DEG, lon + PLACE_DEG, lat + PLACE_DEG];
  const { inMemory, unread } = files.split(PLACE_SCANS, edition.paths(detections.name, [storm_date], { bbox }));
  const scans = new Set(inMemory.flatMap(({ scansOf }) => scansOf(geohash5)));
  if (unread.length > 0) {
    const { scan_time } = await engine.numbers<'scan_time'>(PLACE_SQL, [unread, geohash5, storm_date]);
    for (const time of scan_time) scans.add(time);
  }
  return [...scans].sort((a, b) => a - b);
}
