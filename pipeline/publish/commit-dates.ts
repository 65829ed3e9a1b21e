import { DAILY, ingestedAt, type Manifest, REFLECTIVITY } from '../../schemas/manifest.ts';
import type { MixedProvenance } from '../../schemas/provenance.ts';
import { DAY_TABLES } from '../../schemas/tables/index.ts';
import { MS_PER_HOUR } from '../../schemas/time.ts';
import { type Publisher, publishDates, publishedManifest } from './commit.ts';
import { DERIVED_SEGMENT, deriveDay } from './day-products.ts';
import { type Edit, editOf, type ProductTimes, type StagedFile, samePartition } from './edit.ts';
import { newestScan } from './published-dates.ts';
import { expiredReflectivity, replacedReflectivity } from './reflectivity.ts';
import type { ScanProducts, Segment } from './segment.ts';

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
  publisher: Publisher,
  commits: readonly DateCommit[],
  fresh: readonly ScanProducts[],
  now_ms: number,
): Promise<void> {
  const redone = commits.some((date) => date.drop_segments.length > 0);
  const edits: Edit[] = [];
  for (const date of commits) {
    const previous = await publisher.dates.manifest(date.storm_date);
    edits.push(scanEdit(date, previous, publisher.storm_day_start_hour));
  }
  await publishDates(publisher, edits, now_ms, fresh, redone);
}

function scanEdit(date: DateCommit, previous: Manifest | null, storm_day_start_hour: number): Edit {
  const { storm_date, provenance, drop_segments, segments, feeds } = date;
  const files = segments.flatMap((segment) => segment.files);
  const replaced = replacedReflectivity(previous, drop_segments, segments);
  const isPainted = replaced.length > 0 || files.some(({ entry }) => entry.kind === 'reflectivity-tiles');
  const tables = files.map((file) => file.entry.table).filter((table) => table !== null);
  return editOf(
    { partition: storm_date, provenance, storm_day_start_hour, closed: false },
    {
      drop_segments: [...drop_segments, ...replaced],
      feeds,
      add_scans: segments.flatMap((segment) => segment.scans),
      add_files: files,
      // A scan without hail changes every table, too: that there was no hail is an answer.
      changed_tables: [
        ...new Set([...tables, 'detections', 'cells', 'tracks', 'day-max']),
        ...(isPainted ? [REFLECTIVITY] : []),
      ],
    },
  );
}

/** Publishes files that belong to no scan of a date, in place of segments; without files those segments are removed. */
export async function publishFiles(
  publisher: Publisher,
  storm_date: string,
  provenance: MixedProvenance,
  drop_segments: readonly string[],
  add_files: readonly StagedFile[],
  closed: boolean,
  now_ms: number,
): Promise<void> {
  const previous = await publisher.dates.manifest(storm_date);
  const dropped = previous?.files.filter((file) => drop_segments.includes(file.segment));
  const touched = [...(dropped ?? []), ...add_files.map(({ entry }) => entry)];
  const changed_tables = [...new Set(touched.flatMap(({ table }) => table ?? []))];
  const { storm_day_start_hour } = publisher;
  const isMadeOfRows = touched.length > 0 && touched.every(({ segment }) => segment === DERIVED_SEGMENT);
  const ingested_at = previous !== null && isMadeOfRows ? ingestedAt(previous) : null;
  const edit = editOf(
    { partition: storm_date, provenance, storm_day_start_hour, closed },
    { drop_segments, add_files, changed_tables, ingested_at },
  );
  await publishDates(publisher, [edit], now_ms);
}

/** Draws tiers, the event day and the daily archive of a date again. */
export async function deriveDate(publisher: Publisher, storm_date: string, now_ms: number): Promise<void> {
  const { engine, path, staging } = publisher;
  const manifest = await publishedManifest(publisher, storm_date);
  const add_files = await deriveDay(engine, path, staging, manifest);
  const edit = editOf(samePartition(manifest), {
    drop_segments: [DERIVED_SEGMENT],
    add_files,
    changed_tables: changedDayTables(manifest, add_files),
    ingested_at: ingestedAt(manifest),
  });
  await publishDates(publisher, [edit], now_ms);
}

/** True when scans were published since the tiers, the event day and the daily archive of a date were drawn. */
export function isDerivationDue({ table_commits }: Pick<Manifest, 'table_commits'>): boolean {
  const { [DAILY]: drawn = 0, ...tables } = table_commits;
  const derived = new Set<string>([...DAY_TABLES.map(({ name }) => name), REFLECTIVITY]);
  return Object.entries(tables).some(([table, commit]) => !derived.has(table) && commit > drawn);
}

/** Day tables whose content differs from that of the manifest, and the mark that they were drawn. */
export function changedDayTables(manifest: Manifest, files: readonly StagedFile[]): string[] {
  const hashOf = (entries: Manifest['files'], table: string) => entries.find((file) => file.table === table)?.sha256;
  const entries = files.map((file) => file.entry);
  return [
    DAILY,
    ...DAY_TABLES.map(({ name }) => name).filter((name) => hashOf(manifest.files, name) !== hashOf(entries, name)),
  ];
}

/** Removes everything from the manifest of a date, so that data of the other provenance can replace it. */
export async function clearDate(publisher: Publisher, storm_date: string, now_ms: number): Promise<void> {
  const manifest = await publishedManifest(publisher, storm_date);
  const drop_segments = [...new Set(manifest.files.map((file) => file.segment))];
  const changed_tables = Object.keys(manifest.table_commits);
  const edit = editOf(samePartition(manifest), { closed: false, drop_segments, changed_tables });
  await publishDates(publisher, [edit], now_ms, [], true);
}

/**
 * Removes the archives of reflectivity from the manifests whose scans are `keep_hours` or more older than the newest scan.
 * Returns their count; the sweep deletes the files.
 */
export async function expireReflectivity(publisher: Publisher, keep_hours: number, now_ms: number): Promise<number> {
  const { heads, manifest: manifestOf } = publisher.dates;
  // Counted from the newest scan: a clock that was set wrong removes nothing.
  const from_ms = keep_hours === 0 ? now_ms : Math.min(now_ms, newestScan(heads.values()) ?? now_ms);
  const edits: Edit[] = [];
  for (const { partition, reflectivity_archives } of heads.values()) {
    const manifest = reflectivity_archives === 0 ? null : await manifestOf(partition);
    const drop_segments = expiredReflectivity(manifest, from_ms - keep_hours * MS_PER_HOUR);
    if (manifest === null || drop_segments.length === 0) continue;
    const ingested_at = ingestedAt(manifest);
    edits.push(editOf(samePartition(manifest), { drop_segments, changed_tables: [REFLECTIVITY], ingested_at }));
  }
  if (edits.length > 0) await publishDates(publisher, edits, now_ms);
  return edits.reduce((sum, { drop_segments }) => sum + drop_segments.length, 0);
}
