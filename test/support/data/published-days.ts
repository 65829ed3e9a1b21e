import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { HailField } from '../../../pipeline/grid.ts';
import { commit } from '../../../pipeline/publish/commit.ts';
import { deriveTables } from '../../../pipeline/publish/day-products.ts';
import type { StagedFile } from '../../../pipeline/publish/edit.ts';
import { openRoot } from '../../../pipeline/publish/open-root.ts';
import { publishedManifest, type Root } from '../../../pipeline/publish/root.ts';
import { dataFileName } from '../../../pipeline/publish/stage.ts';
import { stageRows } from '../../../pipeline/publish/tables.ts';
import { hailField, readGrid } from '../../../pipeline/read/mrms.ts';
import type { Table } from '../../../schemas/columns.ts';
import { geohash } from '../../../schemas/geo/geohash.ts';
import { colLon, rowLat } from '../../../schemas/geo/lattice.ts';
import { layout } from '../../../schemas/layout.ts';
import { ingestedAt } from '../../../schemas/manifest.ts';
import type { Provenance } from '../../../schemas/provenance.ts';
import { DETECTION_MIN_MM, SIZE_BANDS } from '../../../schemas/size.ts';
import {
  type Cell,
  cells,
  type DayMax,
  type Detection,
  dayMax,
  detections,
  type TrackPoint,
  tracks,
} from '../../../schemas/tables/radar.ts';
import { dayMaxRow, NO_COMPANIONS } from './rows.ts';
import { sharedData } from './shared-folder.ts';

/** Rows of a closed storm date, published without scans. */
interface DayRows {
  readonly day_max: readonly DayMax[];
  readonly detections: readonly Detection[];
  readonly cells: readonly Cell[];
  readonly tracks?: readonly TrackPoint[];
}

interface PublishedDay {
  readonly storm_date: string;
  readonly rows: DayRows;
}

/** Publishes closed storm dates: the rows given, and what the pipeline derives from them (tiers, the event day). */
export async function publishDays(
  path: string,
  days: readonly PublishedDay[],
  provenance: Provenance,
  now_ms: number,
): Promise<void> {
  const root = await openRoot(path, 'test', 0, now_ms);
  try {
    for (const { storm_date, rows } of days) {
      const stage = async (table: Table, tableRows: readonly Record<string, unknown>[]) => {
        if (tableRows.length === 0) return [];
        const staged = join(root.staging, `${table.name}-${storm_date}.parquet`);
        const facts = await stageRows(root.engine, table, tableRows, staged, provenance);
        const name = dataFileName(layout.table(table.name, storm_date), 'day', facts.sha256, 'parquet');
        const covers = { segment: 'test', first_scan: null, last_scan: null };
        return [{ staged, entry: { path: name, kind: 'table' as const, table: table.name, ...covers, ...facts } }];
      };
      const files = [
        ...(await stage(dayMax, rows.day_max)),
        ...(await stage(detections, rows.detections)),
        ...(await stage(cells, rows.cells)),
        ...(await stage(tracks, rows.tracks ?? [])),
      ];
      await publishFiles(root, storm_date, provenance, files, now_ms);
    }
  } finally {
    await root.close();
  }
}

/** Publishes staged files as the only ones of a closed date, and the tables that the pipeline derives from them. */
async function publishFiles(
  root: Root,
  storm_date: string,
  provenance: Provenance,
  add_files: readonly StagedFile[],
  now_ms: number,
): Promise<void> {
  const { storm_day_start_hour } = root;
  const date = { partition: storm_date, provenance, storm_day_start_hour, closed: true };
  const tablesOf = (files: readonly StagedFile[]) => [...new Set(files.flatMap(({ entry }) => entry.table ?? []))];
  const previous = await root.manifest(storm_date);
  const drop_segments = [...new Set(previous?.files.map(({ segment }) => segment))];
  await commit(root, [{ ...date, drop_segments, add_files, changed_tables: tablesOf(add_files) }], now_ms);
  const manifest = await publishedManifest(root, storm_date);
  const { files } = await deriveTables(root, manifest);
  const ingested_at = ingestedAt(manifest);
  await commit(root, [{ ...date, add_files: files, changed_tables: tablesOf(files), ingested_at }], now_ms);
}

/** Rows of hail that stood still: a field as it is in each scan, a detection for every pixel >= 10 mm of every scan. */
export function standingHail(storm_date: string, field: HailField, scan_times: readonly number[]): DayRows {
  const day_max: DayMax[] = [];
  const seen: Detection[] = [];
  const [first_ms, last_ms] = [scan_times[0], scan_times.at(-1) as number];
  for (let r = 0; r < field.window.rows; r++)
    for (let i = field.rowStart[r]; i < field.rowStart[r + 1]; i++) {
      const max_mm = field.tenths[i] / 10;
      if (max_mm < 5) continue;
      const [row, col] = [field.window.row0 + r, field.col[i]];
      const [lat, lon] = [rowLat(row), colLon(col)];
      const place = { row, col, lat, lon, geohash5: geohash(lat, lon, 5) };
      const isSeen = max_mm >= DETECTION_MIN_MM;
      const counts = {
        detection_scans: isSeen ? scan_times.length : 0,
        severe_scans: max_mm >= SIZE_BANDS[0].threshold_mm ? scan_times.length : 0,
      };
      const times = {
        max_time: first_ms,
        first_detected: isSeen ? first_ms : null,
        last_detected: isSeen ? last_ms : null,
      };
      day_max.push(dayMaxRow({ storm_date, ...place, max_mm, ...counts, ...times }));
      if (isSeen)
        for (const scan_time of scan_times)
          seen.push(detection({ storm_date, scan_time, ...place, estimated_size_mm: max_mm }));
    }
  return { day_max, detections: seen, cells: [] };
}

type DetectionFields = Pick<
  Detection,
  'storm_date' | 'scan_time' | 'row' | 'col' | 'lat' | 'lon' | 'geohash5' | 'estimated_size_mm'
>;

function detection(fields: DetectionFields): Detection {
  return {
    ...fields,
    ml_predicted_size_mm: fields.estimated_size_mm,
    ml_probability: 0.5,
    confidence: 0.5,
    scan_count: 1,
    cell_index: null,
    track_id: null,
    ...NO_COMPANIONS,
    flag_small: false,
    flag_single_scan: false,
    flag_extreme: false,
  };
}

/** Storm date of the real 24-hour maximum, and a data clock some days later. */
export const REAL_DATE = '2024-02-28';
export const REAL_NOW_MS = Date.parse('2024-03-02T00:00:00Z');
const REAL_FILE = 'MRMS_MESH_Max_1440min_00.50_20240228-100000.grib2';

/** The real 24-hour maximum of 28 Feb 2024 as a day maximum, as if all of it had been seen in one scan. */
export function realDay(): PublishedDay {
  const field = hailField(readGrid(readFileSync(sharedData('mrms', REAL_FILE)), REAL_FILE));
  return { storm_date: REAL_DATE, rows: standingHail(REAL_DATE, field, [Date.parse(`${REAL_DATE}T03:00:00Z`)]) };
}
