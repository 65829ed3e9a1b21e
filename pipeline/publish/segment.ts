import { LATTICE } from '../../schemas/geo/lattice.ts';
import { layout } from '../../schemas/layout.ts';
import type { CommittedScan, Manifest } from '../../schemas/manifest.ts';
import { SCAN_TABLES } from '../../schemas/tables/index.ts';
import type {
  Cell,
  DayMax,
  Detection,
  Frame,
  ProbSevereObject,
  TrackPoint,
  Uncovered,
} from '../../schemas/tables/radar.ts';
import { scanId, scanTime } from '../../schemas/time.ts';
import type { StagedFile } from './edit.ts';
import type { Root } from './root.ts';
import { stageBytes, stageTable } from './stage.ts';

/** Row of the frames table, without the path and size of the scan tiles. */
export type FrameShape = Omit<Frame, 'tile_path' | 'tile_bytes'>;

/** A run of blocks that no radar covered in one scan, as a rectangle of the lattice. */
export type UncoveredPatch = Pick<Uncovered, 'row_first' | 'row_last' | 'col_first' | 'col_last'>;

/** Products of one scan. */
export interface ScanProducts {
  readonly scan_time: number;
  readonly storm_date: string;
  readonly simulated: boolean;
  readonly inputs: string;
  readonly detections: readonly Detection[];
  readonly cells: readonly Cell[];
  readonly tracks: readonly TrackPoint[];
  readonly probsevere: readonly ProbSevereObject[];
  readonly frame: FrameShape;
  /** Areas without radar coverage; null where the coverage is not known. */
  readonly uncovered: readonly UncoveredPatch[] | null;
  readonly archive: Uint8Array;
  /** Null, or left out, for a scan without reflectivity. */
  readonly reflectivity?: Reflectivity | null;
}

/** The archive of the reflectivity of a scan. */
interface Reflectivity {
  /** Hash of the file that the archive is made from. */
  readonly inputs: string;
  /** Null when the archive that was made from that file is published already. */
  readonly archive: Uint8Array | null;
}

/** Consecutive scans of one storm date that are published, compacted and replaced together. */
export interface Segment {
  readonly name: string;
  readonly scans: readonly CommittedScan[];
  readonly files: readonly StagedFile[];
}

/** Name of a segment: its scan, or its first and last scan. */
export function segmentName(firstScan: string, lastScan: string): string {
  return firstScan === lastScan ? firstScan : `${firstScan}_${lastScan}`;
}

/**
 * Segment of the archive of a scan's reflectivity. It differs from that of the scan: compaction does not touch it, it stays
 * when a scan is made again from the same composite, and it expires.
 */
function reflectivitySegment(scan_id: string): string {
  return `reflectivity-${scan_id}`;
}

/**
 * Writes the files of a segment into staging and reads them back.
 * `products` are scans of one storm date in order of time, `dayMaxRows` their day maximum, `state` the checkpoint after them.
 */
export async function stageSegment(
  { engine, staging }: Root,
  products: readonly ScanProducts[],
  dayMaxRows: readonly DayMax[],
  state: Uint8Array,
): Promise<Segment> {
  const [first, last] = [products[0], products.at(-1) as ScanProducts];
  const [firstScan, lastScan] = [scanId(first.scan_time), scanId(last.scan_time)];
  const name = segmentName(firstScan, lastScan);
  const date = first.storm_date;
  const provenance = first.simulated ? 'simulated' : 'observed';
  const covers = { segment: name, first_scan: firstScan, last_scan: lastScan };

  const files: StagedFile[] = [];
  const frames: Frame[] = [];
  const scans: CommittedScan[] = [];
  const archives: StagedFile[] = [];
  for (const { scan_time, inputs, frame, archive, reflectivity } of products) {
    const scan_id = scanId(scan_time);
    const scan = { segment: name, first_scan: scan_id, last_scan: scan_id };
    const place = { folder: layout.scanTiles(date), stem: scan_id };
    const tiles = await stageBytes(staging, 'scan-tiles', archive, place, scan, frame.max_size_mm);
    files.push(tiles);
    frames.push({ ...frame, tile_path: tiles.entry.path, tile_bytes: tiles.entry.bytes });
    scans.push({ scan_id, segment: name, inputs, ...(reflectivity ? { reflectivity: reflectivity.inputs } : {}) });
    const painted = reflectivity?.archive ?? null;
    if (painted === null) continue;
    const own = { ...scan, segment: reflectivitySegment(scan_id) };
    const folder = layout.reflectivityTiles(date);
    archives.push(await stageBytes(staging, 'reflectivity-tiles', painted, { ...place, folder }, own, null));
  }
  files.push(...archives);
  const checkpoint = { folder: layout.stateDate(date), stem: lastScan };
  files.push(await stageBytes(staging, 'state', state, checkpoint, covers, null));

  const rows: Readonly<Record<(typeof SCAN_TABLES)[number]['name'], readonly Record<string, unknown>[]>> = {
    detections: products.flatMap((scan) => scan.detections),
    cells: products.flatMap((scan) => scan.cells),
    tracks: products.flatMap((scan) => scan.tracks),
    probsevere: products.flatMap((scan) => scan.probsevere),
    frames,
    uncovered: uncoveredRows(products),
    'day-max': dayMaxRows,
  };
  for (const table of SCAN_TABLES) {
    if (rows[table.name].length === 0) continue;
    const destination = { folder: layout.table(table.name, date), stem: name };
    files.push(await stageTable(engine, staging, table, { rows: rows[table.name] }, provenance, destination, covers));
  }
  return { name, scans, files };
}

/** Rows of the scans of one storm date, given in order of time. A block that stays uncovered from scan to scan is one row. */
export function uncoveredRows(
  scans: readonly Pick<ScanProducts, 'scan_time' | 'storm_date' | 'uncovered'>[],
): Uncovered[] {
  const rows: Uncovered[] = [];
  let open = new Map<number, Uncovered>();
  for (const { scan_time, storm_date, uncovered } of scans) {
    const next = new Map<number, Uncovered>();
    for (const patch of uncovered ?? []) {
      const known = open.get(keyOf(patch));
      const row = known ?? { storm_date, ...patch, first_scan: scan_time, last_scan: scan_time, scans: 0 };
      if (known === undefined) rows.push(row);
      row.last_scan = scan_time;
      row.scans += 1;
      next.set(keyOf(patch), row);
    }
    open = next;
  }
  return rows;
}

function keyOf({ row_first, row_last, col_first, col_last }: UncoveredPatch): number {
  return ((row_first * LATTICE.cols + col_first) * LATTICE.cols + col_last) * LATTICE.cols + (row_last - row_first);
}

/**
 * Segments of published archives of reflectivity that are outdated when `segments` replace `drop_segments`: their scan is dropped,
 * or made from another composite, or brings a new archive.
 */
export function replacedReflectivity(
  previous: Manifest | null,
  drop_segments: readonly string[],
  segments: readonly Segment[],
): string[] {
  const before = new Map(previous?.scans.map((scan) => [scan.scan_id, scan]));
  const after = new Map(segments.flatMap(({ scans }) => scans).map((scan) => [scan.scan_id, scan]));
  const added = new Set(segments.flatMap(({ files }) => files).map(({ entry }) => entry.segment));
  const isReplaced = (scan_id: string): boolean => {
    const [old, made] = [before.get(scan_id), after.get(scan_id)];
    if (added.has(reflectivitySegment(scan_id)) || old === undefined) return true;
    return made === undefined ? drop_segments.includes(old.segment) : made.reflectivity !== old.reflectivity;
  };
  return scansWithReflectivity(previous).filter(isReplaced).map(reflectivitySegment);
}

/** Segments of the published archives of reflectivity of scans up to an instant. */
export function expiredReflectivity(manifest: Manifest, until_ms: number): string[] {
  const expired = scansWithReflectivity(manifest).filter((scan_id) => scanTime(scan_id) <= until_ms);
  return expired.map(reflectivitySegment);
}

function scansWithReflectivity(manifest: Manifest | null): string[] {
  const archives = manifest?.files.filter(({ kind }) => kind === 'reflectivity-tiles') ?? [];
  return archives.flatMap(({ first_scan }) => first_scan ?? []);
}
