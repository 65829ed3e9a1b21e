import { ATTRIBUTIONS } from '../../schemas/provenance.ts';
import { type Swath, swaths } from '../../schemas/tables/derived.ts';
import { type Cell, cells, type Detection, detections, type TrackPoint, tracks } from '../../schemas/tables/radar.ts';
import { scanTime, stormDate } from '../../schemas/time.ts';
import { openEngine } from '../duckdb.ts';
import { NotFound } from '../error.ts';
import { gridBounds } from '../publish/day-products.ts';
import { readNewest, tablePaths } from '../publish/manifests.ts';
import { readLattice, requireReadableRoot } from '../publish/root-name.ts';
import { readRows } from '../publish/tables.ts';
import type { PictureData } from './picture.ts';

/** Subject of a picture: a storm date or a scan. */
export type PictureSubject = { readonly date: string } | { readonly scan_id: string };

/** Published rows of a picture, read without a lock. Throws NotFound when nothing is published for the subject. */
export async function readPicture(
  dataRoot: string,
  subject: PictureSubject,
  storm_day_start_hour: number,
): Promise<PictureData> {
  await requireReadableRoot(dataRoot);
  const date = 'date' in subject ? subject.date : stormDate(scanTime(subject.scan_id), storm_day_start_hour);
  const [name, what] = 'date' in subject ? [subject.date, 'storm date'] : [subject.scan_id, 'scan'];
  const manifest = await readNewest(dataRoot, date);
  const last =
    'date' in subject ? manifest?.scans.at(-1) : manifest?.scans.find((scan) => scan.scan_id === subject.scan_id);
  const isPublished = last !== undefined || ('date' in subject && manifest?.files.length !== 0);
  if (manifest === null || !isPublished)
    throw new NotFound('picture', name, `is not published under ${dataRoot}, expected a published ${what}`);
  const lattice = await readLattice(dataRoot);
  const engine = await openEngine();
  try {
    const paths = (table: string) => tablePaths(dataRoot, manifest, table);
    const data_time = last === undefined ? null : scanTime(last.scan_id);
    const until = data_time === null ? 'true' : `scan_time <= make_timestamp(${data_time * 1000})`;
    const basics = {
      data_time,
      simulated: manifest.source === 'simulated',
      attribution: ATTRIBUTIONS[manifest.source],
      tracks: await readRows<TrackPoint>(engine, tracks, paths('tracks'), until),
      lattice,
      bounds: await gridBounds(engine, paths('frames'), lattice),
    };
    if ('date' in subject)
      return {
        kind: 'day',
        ...basics,
        storm_date: date,
        swaths: await readRows<Swath>(engine, swaths, paths('swaths')),
      };
    const scan_time = scanTime(subject.scan_id);
    const ofScan = `scan_time = make_timestamp(${scan_time * 1000})`;
    return {
      kind: 'scan',
      ...basics,
      scan_time,
      detections: await readRows<Detection>(engine, detections, paths('detections'), ofScan),
      cells: await readRows<Cell>(engine, cells, paths('cells'), ofScan),
    };
  } finally {
    engine.close();
  }
}
