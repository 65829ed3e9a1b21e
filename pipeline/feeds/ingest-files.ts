import fs from 'node:fs/promises';
import { basename, join } from 'node:path';
import { COLLECTED_TIMES } from '../../schemas/collections.ts';
import type { Table } from '../../schemas/columns.ts';
import { layout } from '../../schemas/layout.ts';
import type { Manifest } from '../../schemas/manifest.ts';
import { combineProvenances, type Provenance } from '../../schemas/provenance.ts';
import { type CollectedReports, type CollectedSpan, collectedReports } from '../../schemas/tables/feeds.ts';
import { MS_PER_DAY, monthOf, timestamp, utcDate } from '../../schemas/time.ts';
import { BadInput, isIsolated, PipelineError } from '../error.ts';
import type { IngestedFile, PollOutcome } from '../feed.ts';
import { namesIn, replaceFile, sha256, writeSynced, writing } from '../files.ts';
import { readNewest, tablePaths } from '../publish/manifests.ts';
import type { Root } from '../publish/root.ts';
import { readRows } from '../publish/tables.ts';
import { publishUndated, type UndatedSegment } from '../publish/undated.ts';
import { collectedRows, hasStart, isOfSource, type Span, spanAround } from './collected-spans.ts';
import type { Collection, FeedFile, FeedItems, WebFeed } from './define-feed.ts';

/** A feed that sends another broken page with every poll for days must not fill the disk. */
const MAX_REJECTED_BYTES = 1024 * 1024;
const MAX_REJECTED_FILES = 200;

/** Reason of a file that no feed accepts. */
export const UNKNOWN_KIND = 'is of no known kind';

/** Outcome of ingesting files. */
export type IngestedFiles = Pick<PollOutcome, 'files' | 'changed'>;

export interface IngestOptions {
  readonly now_ms: number;
  /** Provenance of files and tables without rows. */
  readonly provenance: Provenance;
  /** Spans that the poll itself, not a file, covers. */
  readonly collected?: readonly CollectedSpan[];
  /** True when the files are all that the feeds have now: a collection without files is then published as an empty one. */
  readonly is_complete?: boolean;
}

/**
 * Reads files of feeds, merges their rows with those stored, and publishes what changed, one commit for each collection. A file
 * that cannot be used is rejected with its reason and does not hold up the others. The first collection that cannot be merged is
 * thrown once the others are published.
 */
export async function ingestFeedFiles(
  root: Root,
  feeds: readonly WebFeed[],
  files: readonly FeedFile[],
  options: IngestOptions,
): Promise<IngestedFiles> {
  const outcomes = new Map<FeedFile, IngestedFile>();
  const changed: string[] = [];
  const faults: PipelineError[] = [];
  for (const [collection, members] of Map.groupBy(feeds, (feed) => feed.collection))
    try {
      const read: FeedItems[] = [];
      let refused = 0;
      for (const file of files) {
        const feed = outcomes.has(file) ? undefined : members.find((member) => member.accepts(file));
        if (feed === undefined) continue;
        const { content, outcome } = await readOrReject(root, feed, file);
        outcomes.set(file, outcome);
        if (outcome.refused !== null) refused += 1;
        if (content !== null) read.push(content);
      }
      // With every file of a poll rejected, the content of the feed is unknown: it does not count as empty.
      if (read.length === 0 && (refused > 0 || options.is_complete !== true)) continue;
      if (await publishRows(root, collection, read, refused > 0, options)) changed.push(collection.name);
    } catch (error) {
      if (!isIsolated(error)) throw error;
      faults.push(error);
    }
  if (faults[0] !== undefined) throw faults[0];
  return { files: files.map((file) => outcomes.get(file) ?? rejectedFile(file.name, UNKNOWN_KIND)), changed };
}

/** Outcome of a file that was rejected. */
export function rejectedFile(name: string, reason: string, collection: string | null = null): IngestedFile {
  return { name: basename(name), collection, items: 0, set_aside: [], others: {}, refused: reason };
}

/**
 * Content of a file, null for one that was rejected, and the outcome. A file without a usable item is rejected, because it must
 * not pass for a file without items; the times of its reports stay.
 */
async function readOrReject(root: Root, { collection, read }: WebFeed, file: FeedFile) {
  let content: FeedItems | null = null;
  let reason: string;
  try {
    const found = read(file);
    const { rows, set_aside, others, rejected } = found;
    const [first] = set_aside;
    if (rows.length > 0 || first === undefined) {
      const used = { items: rows.length, set_aside, others: Object.fromEntries(others), refused: null };
      return { content: found, outcome: { name: file.name, collection: collection.name, ...used } };
    }
    reason = `none of its ${set_aside.length} items can be used, expected some: ${first.item}: ${first.reason}`;
    if (rejected !== undefined) content = { rows, set_aside, others, rejected };
  } catch (error) {
    if (!(error instanceof BadInput)) throw error;
    reason = error.reason;
  }
  await rejectFile(root, file, reason);
  return { content, outcome: rejectedFile(file.name, reason, collection.name) };
}

/** Saves a rejected file with its reason, under a hash of its content: the same broken file takes no more room again. */
async function rejectFile(root: Root, { name, bytes, received_ms }: FeedFile, reason: string): Promise<void> {
  root.check();
  const path = join(root.path, layout.rejectedFeeds, `${sha256(bytes).slice(0, 8)}-${basename(name)}`);
  const note = `${JSON.stringify({ file: name, reason, received_at: timestamp(received_ms) })}\n`;
  await writing(path, async () => {
    await writeSynced(path, bytes.subarray(0, MAX_REJECTED_BYTES));
    await replaceFile(`${path}.reason.json`, note);
  });
  await deleteOldest(join(root.path, layout.rejectedFeeds), 2 * MAX_REJECTED_FILES);
}

/** Deletes the oldest files of a folder until `max_files` are left. */
async function deleteOldest(folder: string, max_files: number): Promise<void> {
  const names = await namesIn(folder);
  if (names.length <= max_files) return;
  const files = await Promise.all(
    names.map(async (name) => ({ name, written_ms: (await fs.stat(join(folder, name))).mtimeMs })),
  );
  const oldest = files.sort((a, b) => a.written_ms - b.written_ms).slice(0, names.length - max_files);
  for (const { name } of oldest) await fs.rm(join(folder, name));
}

/** Rows this near to the turn of a month decide about rows of the other month: corrections, texts of a watch. */
const REACH_MS = 3 * MS_PER_DAY;

/**
 * Adds the rows of files to those stored, and publishes the months that changed. Returns whether any did. `has_rejected`: a file
 * of the poll was rejected, and its spans do not count as collected.
 */
async function publishRows(
  root: Root,
  collection: Collection,
  files: readonly FeedItems[],
  has_rejected: boolean,
  options: IngestOptions,
): Promise<boolean> {
  const { now_ms, provenance } = options;
  const { name, table, timeOf, provenanceOf } = collection;
  const manifest = await readNewest(root.path, layout.collectionPartition(name));
  const monthOfRow = (row: unknown) => monthOf(utcDate(timeOf(row)));
  const times_ms = files.flatMap(({ rows }) => rows.map(timeOf));
  for (const { version } of files) if (version !== undefined) times_ms.push(version.from_ms, version.to_ms);
  const months = new Set(
    times_ms.flatMap((time_ms) => [-REACH_MS, 0, REACH_MS].map((far) => monthOf(utcDate(time_ms + far)))),
  );
  const first_month = manifest === null ? monthOf(utcDate(now_ms)) : null;
  if (first_month !== null) months.add(first_month);
  const stored = manifest === null ? [] : await readMonths(root, table, manifest, months);
  const isUsed = simulatedLast([...stored, ...files.flatMap(({ rows }) => rows)], collection);
  const used = files.map((file) => ({ ...file, rows: file.rows.filter(isUsed) }));
  const merged = collection.merge(stored.filter(isUsed), used, root.storm_day_start_hour) as Record<string, unknown>[];
  const segments = await collectedSegments(root, collection, manifest, files, has_rejected, options);
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
  has_rejected: boolean,
  { provenance, collected = [] }: IngestOptions,
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

function addMonths(month: string, months: number): string {
  const [year = 0, number = 1] = month.split('-').map(Number);
  return new Date(Date.UTC(year, number - 1 + months, 1)).toISOString().slice(0, 'YYYY-MM'.length);
}
