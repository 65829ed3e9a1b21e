import fs from 'node:fs/promises';
import { basename, join } from 'node:path';
import { layout } from '../../schemas/layout.ts';
import { timestamp } from '../../schemas/time.ts';
import { BadInput, isIsolated, type PipelineError } from '../error.ts';
import type { IngestedFile, PollOutcome } from '../feed.ts';
import { namesIn, replaceFile, sha256, writeSynced, writing } from '../files.ts';
import type { Root } from '../publish/root.ts';
import type { FeedFile, FeedItems, WebFeed } from './define-feed.ts';
import { type PublishOptions, publishRows } from './publish-rows.ts';

/** A feed that sends another broken page with every poll for days must not fill the disk. */
const MAX_REJECTED_BYTES = 1024 * 1024;
const MAX_REJECTED_FILES = 200;

/** Reason of a file that no feed accepts. */
export const UNKNOWN_KIND = 'is of no known kind';

/** Outcome of ingesting files. */
export type IngestedFiles = Pick<PollOutcome, 'files' | 'changed'>;

export interface IngestOptions extends PublishOptions {
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
      if (await publishRows(root, collection, read, { ...options, has_rejected: refused > 0 }))
        changed.push(collection.name);
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
