import { layout } from '../../schemas/layout.ts';
import type { CommittedScan, Manifest } from '../../schemas/manifest.ts';
import { scanId, scanTime } from '../../schemas/time.ts';
import type { StagedFile } from './edit.ts';
import { stageTiles } from './stage.ts';

/** The archive of the reflectivity of a scan. */
export interface Reflectivity {
  /** Hash of the file that the archive is made from. */
  readonly inputs: string;
  /** Null when the archive that was made from that file is published already. */
  readonly archive: Uint8Array | null;
}

interface PaintedScan {
  readonly scan_time: number;
  readonly storm_date: string;
  readonly reflectivity?: Reflectivity | null;
}

/** Scans and files that are published together. */
interface Added {
  readonly scans: readonly CommittedScan[];
  readonly files: readonly StagedFile[];
}

/**
 * Segment of the archive of a scan's reflectivity. It differs from that of the scan: compaction does not touch it, it stays
 * when a scan is made again from the same composite, and it expires.
 */
function segmentOf(scan_id: string): string {
  return `reflectivity-${scan_id}`;
}

/** Writes the reflectivity archives of scans that have one into staging. */
export async function stageReflectivity(staging: string, scans: readonly PaintedScan[]): Promise<StagedFile[]> {
  const staged: StagedFile[] = [];
  for (const { scan_time, storm_date, reflectivity } of scans) {
    const archive = reflectivity?.archive ?? null;
    if (archive === null) continue;
    const id = scanId(scan_time);
    const destination = { folder: layout.reflectivityTiles(storm_date), stem: id };
    const covers = { segment: segmentOf(id), first_scan: id, last_scan: id };
    staged.push(await stageTiles(staging, 'reflectivity-tiles', archive, destination, covers, null));
  }
  return staged;
}

/**
 * Segments of published archives that are outdated when `segments` replace `drop_segments`: their scan is dropped, or made
 * from another composite, or brings a new archive.
 */
export function replacedReflectivity(
  previous: Manifest | null,
  drop_segments: readonly string[],
  segments: readonly Added[],
): string[] {
  const before = new Map(previous?.scans.map((scan) => [scan.scan_id, scan]));
  const after = new Map(segments.flatMap(({ scans }) => scans).map((scan) => [scan.scan_id, scan]));
  const added = new Set(segments.flatMap(({ files }) => files).map(({ entry }) => entry.segment));
  const isReplaced = (scan_id: string): boolean => {
    const [old, made] = [before.get(scan_id), after.get(scan_id)];
    if (added.has(segmentOf(scan_id)) || old === undefined) return true;
    return made === undefined ? drop_segments.includes(old.segment) : made.reflectivity !== old.reflectivity;
  };
  return archivedScans(previous).filter(isReplaced).map(segmentOf);
}

/** Segments of the published archives of scans up to an instant. */
export function expiredReflectivity(manifest: Manifest | null, until_ms: number): string[] {
  return archivedScans(manifest)
    .filter((scan_id) => scanTime(scan_id) <= until_ms)
    .map(segmentOf);
}

/** Scans with a published archive. */
function archivedScans(manifest: Manifest | null): string[] {
  return (manifest?.files ?? []).flatMap(({ kind, first_scan }) =>
    kind === 'reflectivity-tiles' ? (first_scan ?? []) : [],
  );
}
