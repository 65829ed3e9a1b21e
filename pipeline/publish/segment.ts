import { LATTICE } from '../../schemas/geo/lattice.ts';
import { layout } from '../../schemas/layout.ts';
import type { CommittedScan } from '../../schemas/manifest.ts';
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
import { scanId } from '../../schemas/time.ts';
import type { Engine } from '../duckdb.ts';
import type { StagedFile } from './edit.ts';
import { type Reflectivity, stageReflectivity } from './reflectivity.ts';
import { stageState, stageTable, stageTiles } from './stage.ts';

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
 * Writes the files of a segment into staging and reads them back.
 * `products` are scans of one storm date in order of time, `dayMaxRows` their day maximum, `state` the checkpoint after them.
 */
export async function stageSegment(
  engine: Engine,
  staging: string,
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

  const scanTiles = await Promise.all(products.map((scan) => stageScanTiles(staging, scan, name)));
  const frames = products.map((scan, index): Frame => {
    const { path, bytes } = (scanTiles[index] as StagedFile).entry;
    return { ...scan.frame, tile_path: path, tile_bytes: bytes };
  });
  const rows: Readonly<Record<(typeof SCAN_TABLES)[number]['name'], readonly Record<string, unknown>[]>> = {
    detections: products.flatMap((scan) => scan.detections),
    cells: products.flatMap((scan) => scan.cells),
    tracks: products.flatMap((scan) => scan.tracks),
    probsevere: products.flatMap((scan) => scan.probsevere),
    frames,
    uncovered: uncoveredRows(products),
    'day-max': dayMaxRows,
  };
  const checkpoint = { folder: layout.stateDate(date), stem: lastScan };
  const files: StagedFile[] = [
    ...scanTiles,
    ...(await stageReflectivity(staging, products)),
    await stageState(staging, state, checkpoint, covers),
  ];
  for (const table of SCAN_TABLES) {
    if (rows[table.name].length === 0) continue;
    const destination = { folder: layout.table(table.name, date), stem: name };
    files.push(await stageTable(engine, staging, table, { rows: rows[table.name] }, provenance, destination, covers));
  }
  return {
    name,
    scans: products.map(({ scan_time, inputs, reflectivity }) => ({
      scan_id: scanId(scan_time),
      segment: name,
      inputs,
      ...(reflectivity ? { reflectivity: reflectivity.inputs } : {}),
    })),
    files,
  };
}

function stageScanTiles(staging: string, scan: ScanProducts, segment: string): Promise<StagedFile> {
  const id = scanId(scan.scan_time);
  const destination = { folder: layout.scanTiles(scan.storm_date), stem: id };
  const covers = { segment, first_scan: id, last_scan: id };
  return stageTiles(staging, 'scan-tiles', scan.archive, destination, covers, scan.frame.max_size_mm);
}

/** Coverage of a scan. */
interface ScanOfPatches {
  readonly scan_time: number;
  readonly storm_date: string;
  readonly uncovered: readonly UncoveredPatch[] | null;
}

/** Rows of the scans of one storm date, given in order of time. A block that stays uncovered from scan to scan is one row. */
export function uncoveredRows(scans: readonly ScanOfPatches[]): Uncovered[] {
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
