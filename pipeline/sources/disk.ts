import { createHash } from 'node:crypto';
import { constants, createReadStream } from 'node:fs';
import { access, copyFile, mkdir, open, rename, rm, stat, utimes } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { asUnreadable, DiskRefusal, isDiskRefusal, PipelineError, Unreadable } from '../error.ts';

/**
 * Copies a file and its time, sharing its blocks where the file system can; afterwards `to` is whole and on disk, or
 * unchanged. Throws Unreadable when `from` cannot be read.
 */
export async function copyDurably(from: string, to: string): Promise<void> {
  await replaceDurably(to, async (part) => {
    // An error of copyFile does not say which of its two files it means.
    await readable(from, () => access(from, constants.R_OK));
    await copyFile(from, part, constants.COPYFILE_FICLONE);
    const { atime, mtime } = await readable(from, () => stat(from));
    await utimes(part, atime, mtime);
  });
}

/** What `work` does with the file at `path`; throws Unreadable when the file system does not give that file. */
export async function readable<Result>(path: string, work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    throw asUnreadable(path, error);
  }
}

/** Writes a small text file; afterwards `to` is whole and on disk, or unchanged. */
export async function writeDurably(to: string, text: string): Promise<void> {
  await replaceDurably(to, async (part) => {
    const handle = await open(part, 'w');
    await handle.writeFile(text).finally(() => handle.close());
  });
}

/** Puts a finished `.part` file in its place: content first, then the name, then the folder that holds the name. */
export async function settle(part: string, to: string): Promise<void> {
  await sync(part);
  await rename(part, to);
  await sync(dirname(to));
}

/** Creates a folder and its parents; the new names are on disk before it returns. */
export async function makeFolder(path: string): Promise<void> {
  const first = await mkdir(path, { recursive: true });
  if (first === undefined) return;
  const above = dirname(resolve(first));
  for (let folder = resolve(path); folder !== above; folder = dirname(folder)) await sync(dirname(folder));
}

/** The error of a file that could not be written. */
export function writeFault(path: string, cause: unknown): PipelineError {
  if (isDiskRefusal(cause)) return new DiskRefusal('sources', path, cause);
  const reason = cause instanceof Error ? cause.message : String(cause);
  return new PipelineError('sources', path, `cannot be written: ${reason}`, { cause });
}

/** Bytes of a file, null when there is none. */
export async function sizeOf(path: string): Promise<number | null> {
  try {
    return (await stat(path)).size;
  } catch (error) {
    if (isGone(error)) return null;
    throw error;
  }
}

/** Hexadecimal SHA-256 of a file's content; throws Unreadable when it cannot be read. */
export async function hashOf(path: string): Promise<string> {
  const hash = createHash('sha256');
  await readable(path, () => pipeline(createReadStream(path), hash));
  return hash.digest('hex');
}

/** True for the error of a path that does not exist. */
export function isGone(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ENOENT';
}

async function replaceDurably(to: string, write: (part: string) => Promise<void>): Promise<void> {
  const part = `${to}.part`;
  try {
    await makeFolder(dirname(to));
    // What a killed process left may be a copy of a read-only file, which nobody can write over.
    await rm(part, { force: true });
    await write(part);
    await settle(part, to);
  } catch (cause) {
    await rm(part, { force: true });
    throw cause instanceof Unreadable ? cause : writeFault(to, cause);
  }
}

async function sync(path: string): Promise<void> {
  const handle = await open(path, 'r');
  await handle.sync().finally(() => handle.close());
}
