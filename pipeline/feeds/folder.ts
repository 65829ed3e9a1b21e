import fs from 'node:fs/promises';
import { basename, join } from 'node:path';
import { asUnreadable, isIsolated, Unreadable } from '../error.ts';
import type { IngestedFile } from '../feed.ts';
import type { Root } from '../publish/root.ts';
import type { FeedFile } from './define-feed.ts';
import { type IngestOptions, ingestFeedFiles, rejectedFile, UNKNOWN_KIND } from './ingest-files.ts';
import { WEB_FEEDS } from './web-feeds.ts';

/** Files of other names are of no feed. */
const FEED_FILE = /\.(?:csv|txt|json|geojson)$/i;
/** Files of feeds are far smaller; a folder may hold anything. */
const MAX_FILE_BYTES = 64 * 1024 * 1024;
/** A folder of any size takes no more memory than a batch: this many files, fewer where they are large. */
const BATCH_FILES = 200;

/** Ingests files of a folder batch by batch. Returns the outcomes, the collections that changed and the messages of isolated errors. */
export async function ingestFolder(root: Root, folder: string, names: readonly string[], options: IngestOptions) {
  const files: IngestedFile[] = [];
  const changed: string[] = [];
  const failures: string[] = [];
  let batch: FeedFile[] = [];
  let bytes = 0;
  for (const [index, name] of names.entries()) {
    const file = await readFeedFile(folder, name, options.now_ms);
    if ('refused' in file) files.push(file);
    else {
      batch.push(file);
      bytes += file.bytes.length;
    }
    const is_full = batch.length >= BATCH_FILES || bytes >= MAX_FILE_BYTES;
    if (!is_full && index < names.length - 1) continue;
    const failure = await failureOf(async () => {
      const ingested = await ingestFeedFiles(root, WEB_FEEDS, batch, options);
      files.push(...ingested.files);
      changed.push(...ingested.changed);
    });
    if (failure !== null) failures.push(failure);
    [batch, bytes] = [[], 0];
  }
  return { files, changed, failures };
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
  if (!FEED_FILE.test(name)) return rejectedFile(name, UNKNOWN_KIND);
  try {
    const found = await fs.stat(path);
    if (!found.isFile()) return rejectedFile(name, 'is no file, expected one of a feed');
    if (found.size > MAX_FILE_BYTES)
      return rejectedFile(name, `${found.size} bytes, expected at most ${MAX_FILE_BYTES}`);
    const received_ms = Math.min(Math.floor(found.mtimeMs), now_ms);
    return { name: basename(name), bytes: await fs.readFile(path), received_ms };
  } catch (error) {
    const fault = asUnreadable(path, error);
    if (fault instanceof Unreadable) return rejectedFile(name, fault.reason);
    throw fault;
  }
}
