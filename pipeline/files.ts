import { createHash } from 'node:crypto';
import { constants, createReadStream, statSync } from 'node:fs';
import fs from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { asUnreadable, DiskRefusal, isDiskRefusal, PipelineError } from './error.ts';

/** Suffix of the draft of a file until it is renamed; code that lists a folder ignores such names. */
export const DRAFT_SUFFIX = '.part';

/** SHA-256 of bytes, hex. */
export function sha256(bytes: Uint8Array | string): string {
  return createHash('sha256').update(bytes).digest('hex');
}

/** SHA-256 of a file's content, hex; throws Unreadable when it cannot be read. */
export async function hashOf(path: string): Promise<string> {
  const hash = createHash('sha256');
  await readable(path, () => pipeline(createReadStream(path), hash));
  return hash.digest('hex');
}

/** Syncs a file or folder to the disk. */
export async function sync(path: string): Promise<void> {
  const handle = await fs.open(path, 'r');
  await handle.sync().finally(() => handle.close());
}

/** Creates a folder and its parents; the new names are on disk before it returns. */
export async function makeFolder(path: string): Promise<void> {
  const first = await fs.mkdir(path, { recursive: true });
  if (first === undefined) return;
  const above = dirname(resolve(first));
  for (let folder = resolve(path); folder !== above; folder = dirname(folder)) await sync(dirname(folder));
}

/** Writes a whole file and syncs its content, but not its name; creates the folder when missing. */
export async function writeSynced(path: string, content: Uint8Array | string): Promise<void> {
  await fs.mkdir(dirname(path), { recursive: true });
  const handle = await fs.open(path, 'w');
  try {
    await handle.writeFile(content);
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/**
 * Replaces a file by rename: readers see the old content or the new, never a part.
 * The new content is on the disk before the rename, the rename before the return.
 */
export async function replaceFile(path: string, content: string | Uint8Array): Promise<void> {
  await replaceBy(path, (draft) => writeSynced(draft, content));
}

/**
 * Copies a file and its time, sharing its blocks where the file system can; afterwards `to` is whole and on disk, or
 * unchanged. Throws Unreadable when `from` cannot be read.
 */
export async function copyDurably(from: string, to: string): Promise<void> {
  await replaceBy(to, async (draft) => {
    // An error of copyFile names neither of its two files.
    await readable(from, () => fs.access(from, constants.R_OK));
    // A killed process may have left a read-only draft, which cannot be overwritten.
    await fs.rm(draft, { force: true });
    await fs.copyFile(from, draft, constants.COPYFILE_FICLONE);
    const { atime, mtime } = await readable(from, () => fs.stat(from));
    await fs.utimes(draft, atime, mtime);
    await sync(draft);
  });
}

/** Puts a finished, synced file in its place; the name is on disk before it returns. */
export async function moveDurably(from: string, to: string): Promise<void> {
  await fs.rename(from, to);
  await sync(dirname(to));
}

/** Replaces `path` by the draft that `write` writes and syncs; a failure leaves the old content and no draft. */
async function replaceBy(path: string, write: (draft: string) => Promise<void>): Promise<void> {
  const draft = `${path}${DRAFT_SUFFIX}`;
  try {
    await makeFolder(dirname(path));
    await write(draft);
    await moveDurably(draft, path);
  } catch (error) {
    await fs.rm(draft, { force: true });
    throw error;
  }
}

/** Result of `work` on the file at `path`; throws Unreadable when the file system does not give that file. */
export async function readable<Result>(path: string, work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    throw asUnreadable(path, error);
  }
}

/** Result of `work`, which writes the file at `path`; an error of the file system is thrown as one that names the file. */
export async function writing<Result>(path: string, work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (cause) {
    // An error of reading is thrown unchanged.
    if (cause instanceof PipelineError) throw cause;
    if (isDiskRefusal(cause)) throw new DiskRefusal('sources', path, cause);
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new PipelineError('sources', path, `cannot be written: ${reason}`, { cause });
  }
}

/** Content of a text file; null when it does not exist. */
export async function readIfPresent(path: string): Promise<string | null> {
  return orNull(() => fs.readFile(path, 'utf8'));
}

/** Size of a file, bytes; null when it does not exist. */
export async function sizeOf(path: string): Promise<number | null> {
  return orNull(async () => (await fs.stat(path)).size);
}

/** Names in a folder, sorted; empty when the folder does not exist. */
export async function namesIn(folder: string): Promise<string[]> {
  return (await orNull(() => fs.readdir(folder)))?.sort() ?? [];
}

/** Every file below a folder, as paths relative to it, sorted; empty when the folder does not exist. */
export async function filesBelow(folder: string): Promise<string[]> {
  const entries = (await orNull(() => fs.readdir(folder, { recursive: true, withFileTypes: true }))) ?? [];
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(folder.length + 1))
    .sort();
}

/** True for the error of a path that does not exist. */
export function isMissing(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ENOENT';
}

/** Result of reading a path; null when nothing is there. */
export async function orNull<Result>(read: () => Promise<Result>): Promise<Result | null> {
  try {
    return await read();
  } catch (error) {
    if (isMissing(error)) return null;
    throw error;
  }
}

/** Device number of the file system of a path, links followed; null when nothing is there. */
export function deviceOf(path: string): number | null {
  return statSync(path, { throwIfNoEntry: false })?.dev ?? null;
}
