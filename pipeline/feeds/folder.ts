import fs from 'node:fs/promises';
import { basename, join } from 'node:path';
import { asUnreadable, isIsolated, Unreadable } from '../error.ts';
import type { IngestedFile } from '../feed.ts';
import type { Root } from '../publish/root.ts';
import type { FeedFile } from './define-feed.ts';
import { type IngestedFiles, type IngestOptions, ingestFeedFiles } from './ingest-files.ts';
import { WEB_FEEDS } from './web-feeds.ts';

/** Files of feeds are far smaller; a folder may hold anything. */
const MAX_FILE_BYTES = 64 * 1024 * 1024;
/** A folder of any size takes no more memory than a batch: this many files, fewer where they are large. */
const BATCH_FILES = 200;

/** Outcome of the files of a folder. */
export interface FolderIngest extends IngestedFiles {
  /** Files that could not be read. */
  readonly rejected: readonly IngestedFile[];
  /** Messages of isolated errors. */
  readonly failures: readonly string[];
}

/** Ingests files of a folder batch by batch. */
export async function ingestFolder(
  root: Root,
  folder: string,
  names: readonly string[],
  options: IngestOptions,
): Promise<FolderIngest> {
  const outcome = { files: [], changed: [], rejected: [], failures: [] } as {
    [Key in keyof FolderIngest]: FolderIngest[Key][number][];
  };
  let batch: FeedFile[] = [];
  let bytes = 0;
  for (const [index, name] of names.entries()) {
    const file = await readFeedFile(folder, name, options.now_ms);
    if ('refused' in file) outcome.rejected.push(file);
    else {
      batch.push(file);
      bytes += file.bytes.length;
    }
    const is_full = batch.length >= BATCH_FILES || bytes >= MAX_FILE_BYTES;
    if (!is_full && index < names.length - 1) continue;
    const failure = await failureOf(async () => {
      const { files, changed } = await ingestFeedFiles(root, WEB_FEEDS, batch, options);
      outcome.files.push(...files);
      outcome.changed.push(...changed);
    });
    if (failure !== null) outcome.failures.push(failure);
    [batch, bytes] = [[], 0];
  }
  return outcome;
}

/** Message of an isolated error of `work`; null when there was none. Throws other errors. */
export async function failureOf(work: () => Promise<void>): Promise<string | null> {
  try {
    await work();
    return null;
  } catch (error) {
    if (!isIsolated(error)) throw error;
    return error.message;
  }
}

/**
 * A file of a folder, rejected when it cannot be read. Its last change is its receipt, at the latest the data clock: times of texts have
 * no year, times of lists no day.
 */
async function readFeedFile(folder: string, name: string, now_ms: number): Promise<FeedFile | IngestedFile> {
  const path = join(folder, name);
  try {
    const found = await fs.stat(path);
    const { size, mtimeMs } = found;
    if (!found.isFile()) return rejectedFile(name, 'is no file, expected one of a feed');
    if (size > MAX_FILE_BYTES) return rejectedFile(name, `${size} bytes, expected at most ${MAX_FILE_BYTES}`);
    return { name: basename(name), bytes: await fs.readFile(path), received_ms: Math.min(Math.floor(mtimeMs), now_ms) };
  } catch (error) {
    const fault = asUnreadable(path, error);
    if (fault instanceof Unreadable) return rejectedFile(name, fault.reason);
    throw fault;
  }
}

/** Outcome of a file that was rejected unread. */
export function rejectedFile(name: string, reason: string, collection: string | null = null): IngestedFile {
  return { name: basename(name), collection, items: 0, set_aside: [], others: {}, refused: reason };
}
