import { DAILY, ingestedAt, type Manifest, REFLECTIVITY } from '../../schemas/manifest.ts';
import type { MixedProvenance } from '../../schemas/provenance.ts';
import { DAY_TABLES } from '../../schemas/tables/index.ts';
import { addDays, MS_PER_HOUR, utcDate } from '../../schemas/time.ts';
import { commit } from './commit.ts';
import { DERIVED_SEGMENT, deriveDay } from './day-products.ts';
import { type Edit, type ProductTimes, type StagedFile, samePartition } from './edit.ts';
import { newestScan, publishedManifest, type Root } from './root.ts';
import { expiredReflectivity, replacedReflectivity, type ScanProducts, type Segment } from './segment.ts';

/** Segments of one storm date that are published together, in place of others. */
export interface DateCommit {
  readonly storm_date: string;
  readonly provenance: MixedProvenance;
  readonly drop_segments: readonly string[];
  readonly segments: readonly Segment[];
  readonly feeds: ProductTimes;
}

/** Publishes dates together: readers see all of it or none of it. `fresh`: scans whose rows are in memory. */
export async function commitScans(
  root: Root,
  commits: readonly DateCommit[],
  fresh: readonly ScanProducts[],
  now_ms: number,
): Promise<void> {
  const edits: Edit[] = [];
  for (const { storm_date, provenance, drop_segments, segments, feeds } of commits) {
    const add_files = segments.flatMap(({ files }) => files);
    const replaced = replacedReflectivity(await root.manifest(storm_date), drop_segments, segments);
    const isPainted = replaced.length > 0 || add_files.some(({ entry }) => entry.kind === 'reflectivity-tiles');
    const tables = add_files.flatMap(({ entry }) => entry.table ?? []);
    edits.push({
      partition: storm_date,
      provenance,
      storm_day_start_hour: root.storm_day_start_hour,
      closed: false,
      drop_segments: [...drop_segments, ...replaced],
      feeds,
      add_scans: segments.flatMap(({ scans }) => scans),
      add_files,
      // A scan without hail changes every table, too: that there was no hail is an answer.
      changed_tables: [
        ...new Set([...tables, 'detections', 'cells', 'tracks', 'day-max']),
        ...(isPainted ? [REFLECTIVITY] : []),
      ],
    });
  }
  const redone = commits.some(({ drop_segments }) => drop_segments.length > 0);
  await commit(root, edits, now_ms, fresh, redone);
}

/** Draws tiers, the event day and the daily archive of a date again. */
export async function deriveDate(root: Root, storm_date: string, now_ms: number): Promise<void> {
  const manifest = await publishedManifest(root, storm_date);
  const add_files = await deriveDay(root, manifest);
  const edit = {
    ...samePartition(manifest),
    drop_segments: [DERIVED_SEGMENT],
    add_files,
    changed_tables: changedDayTables(manifest, add_files),
    ingested_at: ingestedAt(manifest),
  };
  await commit(root, [edit], now_ms);
}

/** True when scans were published since the tiers, the event day and the daily archive of a date were drawn. */
export function isDerivationDue({ table_commits }: Pick<Manifest, 'table_commits'>): boolean {
  const { [DAILY]: drawn = 0, ...tables } = table_commits;
  const derived = new Set<string>([...DAY_TABLES.map(({ name }) => name), REFLECTIVITY]);
  return Object.entries(tables).some(([table, number]) => !derived.has(table) && number > drawn);
}

/** Day tables whose content differs from that of the manifest, and the mark that they were drawn. */
export function changedDayTables(manifest: Manifest, files: readonly StagedFile[]): string[] {
  const hashOf = (entries: Manifest['files'], table: string) => entries.find((file) => file.table === table)?.sha256;
  const entries = files.map((file) => file.entry);
  const names = DAY_TABLES.map(({ name }) => name);
  return [DAILY, ...names.filter((name) => hashOf(manifest.files, name) !== hashOf(entries, name))];
}

/** Removes everything from the manifest of a date, so that data of the other provenance can replace it. */
export async function clearDate(root: Root, storm_date: string, now_ms: number): Promise<void> {
  const manifest = await publishedManifest(root, storm_date);
  const edit = {
    ...samePartition(manifest),
    closed: false,
    drop_segments: [...new Set(manifest.files.map((file) => file.segment))],
    changed_tables: Object.keys(manifest.table_commits),
  };
  await commit(root, [edit], now_ms, [], true);
}

/**
 * Unpublishes simulated storm dates that lie more than `keep_dates` before the newest scan: their manifests stay, empty, and the
 * sweep deletes their files. Dates with observed data stay.
 */
export async function clearOldSimulated(root: Root, keep_dates: number, now_ms: number): Promise<void> {
  const first = addDays(utcDate(newestData(root, now_ms)), -keep_dates);
  for (const { partition, source, scans } of [...root.heads.values()])
    if (partition < first && source === 'simulated' && scans.count > 0) await clearDate(root, partition, now_ms);
}

/**
 * Removes the archives of reflectivity from the manifests whose scans are `keep_hours` or more older than the newest scan.
 * Returns their count; the sweep deletes the files.
 */
export async function expireReflectivity(root: Root, keep_hours: number, now_ms: number): Promise<number> {
  const from_ms = keep_hours === 0 ? now_ms : newestData(root, now_ms);
  const edits: Edit[] = [];
  let count = 0;
  for (const { partition, reflectivity_archives = 0 } of root.heads.values()) {
    if (reflectivity_archives === 0) continue;
    const manifest = await publishedManifest(root, partition);
    const drop_segments = expiredReflectivity(manifest, from_ms - keep_hours * MS_PER_HOUR);
    if (drop_segments.length === 0) continue;
    const ingested_at = ingestedAt(manifest);
    edits.push({ ...samePartition(manifest), drop_segments, changed_tables: [REFLECTIVITY], ingested_at });
    count += drop_segments.length;
  }
  if (edits.length > 0) await commit(root, edits, now_ms);
  return count;
}

/** Instant from which ages are counted, epoch milliseconds: the newest scan, so that a clock that was set wrong removes nothing. */
function newestData({ heads }: Root, now_ms: number): number {
  return Math.min(now_ms, newestScan(heads.values()) ?? now_ms);
}
