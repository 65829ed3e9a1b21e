import { COLLECTED_TIMES } from '../../schemas/collections.ts';
import type { Table } from '../../schemas/columns.ts';
import { layout } from '../../schemas/layout.ts';
import type { Manifest } from '../../schemas/manifest.ts';
import { combineProvenances, type Provenance } from '../../schemas/provenance.ts';
import { type CollectedReports, type CollectedSpan, collectedReports } from '../../schemas/tables/feeds.ts';
import { MS_PER_DAY, utcDate } from '../../schemas/time.ts';
import { PipelineError } from '../error.ts';
import { readNewest, tablePaths } from '../publish/manifests.ts';
import type { Root } from '../publish/root.ts';
import { readRows } from '../publish/tables.ts';
import { publishUndated, type UndatedSegment } from '../publish/undated.ts';
import { collectedRows, hasStart, isOfSource, type Span, spanAround } from './collected-spans.ts';
import type { Collection, FeedItems } from './define-feed.ts';

/** Rows this near to the turn of a month decide about rows of the other month: corrections, texts of a watch. */
const REACH_MS = 3 * MS_PER_DAY;

export interface PublishOptions {
  readonly now_ms: number;
  /** Provenance of files and tables without rows. */
  readonly provenance: Provenance;
  /** Spans that the poll itself, not a file, covers. */
  readonly collected?: readonly CollectedSpan[];
  /** True when a file of the poll was rejected: its spans do not count as collected. */
  readonly has_rejected?: boolean;
}

/** Adds the rows of files to those stored, and publishes the months that changed. Returns whether any did. */
export async function publishRows(
  root: Root,
  collection: Collection,
  files: readonly FeedItems[],
  options: PublishOptions,
): Promise<boolean> {
  const { now_ms, provenance } = options;
  const { name, table, timeOf, provenanceOf } = collection;
  const manifest = await readNewest(root.path, layout.collectionPartition(name));
  const monthOfRow = (row: unknown) => monthAt(timeOf(row));
  const times_ms = files.flatMap(({ rows }) => rows.map(timeOf));
  for (const { version } of files) if (version !== undefined) times_ms.push(version.from_ms, version.to_ms);
  const months = new Set(times_ms.flatMap((time_ms) => [-REACH_MS, 0, REACH_MS].map((far) => monthAt(time_ms + far))));
  const first_month = manifest === null ? monthAt(now_ms) : null;
  if (first_month !== null) months.add(first_month);
  const stored = manifest === null ? [] : await readMonths(root, table, manifest, months);
  const isUsed = simulatedLast([...stored, ...files.flatMap(({ rows }) => rows)], collection);
  const used = files.map((file) => ({ ...file, rows: file.rows.filter(isUsed) }));
  const merged = collection.merge(stored.filter(isUsed), used, root.storm_day_start_hour) as Record<string, unknown>[];
  const segments = await collectedSegments(root, collection, manifest, files, options);
  const [known, byMonth] = [new Set([first_month, ...stored.map(monthOfRow)]), Map.groupBy(merged, monthOfRow)];
  for (const month of [...months].sort()) {
    const rows = byMonth.get(month) ?? [];
    if (rows.length === 0 && !known.has(month)) continue;
    const source = combineProvenances(rows.map(provenanceOf)) ?? provenance;
    segments.push({ segment: month, table, rows, provenance: source });
  }
  if (segments.length === 0) return false;
  const [{ changed }] = await publishUndated(root, [{ name, segments }], now_ms);
  return changed;
}

/** Stored rows of months and of those next to them. A lost or damaged file fails the feeds of its collection only; no retry mends it. */
async function readMonths({ path, engine }: Root, table: Table, manifest: Manifest, months: ReadonlySet<string>) {
  const read = new Set([...months].flatMap((month) => [-1, 0, 1].map((far) => addMonths(month, far))));
  const files = manifest.files.filter(({ segment }) => segment !== null && read.has(segment));
  const paths = tablePaths(path, { ...manifest, files }, table.name);
  try {
    return await readRows<unknown>(engine, table, paths);
  } catch (cause) {
    const reason = 'cannot be read, and the list of its collection names it';
    throw new PipelineError('collection', paths.join(', '), reason, { cause });
  }
}

/**
 * The segment of the collected spans; none for a collection without spans, or without news about them. A rejected report without a
 * time takes the spans of its source in this poll with it.
 */
async function collectedSegments(
  root: Root,
  { publishes_collected, provenanceOf }: Collection,
  manifest: Manifest | null,
  files: readonly FeedItems[],
  { provenance, collected = [], has_rejected = false }: PublishOptions,
): Promise<UndatedSegment[]> {
  if (publishes_collected === undefined) return [];
  const sourceOf = ({ rows: [first] }: FeedItems) => (first === undefined ? provenance : provenanceOf(first));
  const listed = files.flatMap((file): CollectedSpan[] =>
    file.collected === undefined ? [] : [{ ...file.collected, data_source: sourceOf(file) }],
  );
  const polled = [...listed, ...collected];
  const holes = files.flatMap((file): Span[] => {
    const { source, times_ms } = file.rejected ?? { source: 'spc', times_ms: [] };
    const of = { source, data_source: sourceOf(file) };
    return times_ms.flatMap((time_ms) =>
      time_ms === null ? polled.filter(hasStart).filter((span) => isOfSource(span, of)) : spanAround(time_ms, of),
    );
  });
  const added = has_rejected ? listed : polled;
  if (added.length + holes.length === 0) return [];
  const paths = manifest === null ? [] : tablePaths(root.path, manifest, collectedReports.name);
  const before = await readRows<CollectedReports>(root.engine, collectedReports, paths);
  const rows = collectedRows(before, added, holes, root.storm_day_start_hour);
  if (before.length + rows.length === 0) return [];
  const source = combineProvenances(rows.map(({ data_source }) => data_source)) ?? provenance;
  return [{ segment: COLLECTED_TIMES, table: collectedReports, rows, provenance: source }];
}

/** False for a simulated row of a day that has observed ones. */
function simulatedLast(rows: readonly unknown[], { provenanceOf, timeOf }: Collection): (row: unknown) => boolean {
  const dayOf = (row: unknown) => utcDate(timeOf(row));
  const observed = new Set(rows.filter((row) => provenanceOf(row) === 'observed').map(dayOf));
  return (row) => provenanceOf(row) === 'observed' || !observed.has(dayOf(row));
}

function monthAt(time_ms: number): string {
  return utcDate(time_ms).slice(0, 'YYYY-MM'.length);
}

function addMonths(month: string, months: number): string {
  const [year = 0, number = 1] = month.split('-').map(Number);
  return new Date(Date.UTC(year, number - 1 + months, 1)).toISOString().slice(0, 'YYYY-MM'.length);
}
