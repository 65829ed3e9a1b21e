import { createHash } from 'node:crypto';
import fs from 'node:fs/promises';
import { dirname, join } from 'node:path';

/** SHA-256 of bytes, hex. */
export function sha256(bytes: Uint8Array | string): string {
  return createHash('sha256').update(bytes).digest('hex');
}

/** Forces a file or folder to the disk. */
export async function sync(path: string): Promise<void> {
  const handle = await fs.open(path, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** Writes a whole file and forces it to the disk; the folder is made when missing. */
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

/** What the draft of a file is called until it takes the file's place. */
export const DRAFT_SUFFIX = '.new';

/**
 * Replaces a file by rename: readers see the old content or the new, never a part.
 * The new content is on the disk before the rename, the rename before the return.
 */
export async function replaceFile(path: string, content: string): Promise<void> {
  const draft = `${path}${DRAFT_SUFFIX}`;
  await writeSynced(draft, content);
  await fs.rename(draft, path);
  await sync(dirname(path));
}

/** Content of a text file, or null when it does not exist. */
export async function readIfPresent(path: string): Promise<string | null> {
  try {
    return await fs.readFile(path, 'utf8');
  } catch (error) {
    if (isMissing(error)) return null;
    throw error;
  }
}

/** True for the error of a path that does not exist. */
export function isMissing(error: unknown): boolean {
  return (error as NodeJS.ErrnoException).code === 'ENOENT';
}

/** Names in a folder, sorted; empty when the folder does not exist. */
export async function namesIn(folder: string): Promise<string[]> {
  try {
    return (await fs.readdir(folder)).sort();
  } catch (error) {
    if (isMissing(error)) return [];
    throw error;
  }
}

/** Every file below a folder, as paths relative to it, sorted; empty when the folder does not exist. */
export async function filesBelow(folder: string): Promise<string[]> {
  try {
    const entries = await fs.readdir(folder, { recursive: true, withFileTypes: true });
    return entries
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name).slice(folder.length + 1))
      .sort();
  } catch (error) {
    if (isMissing(error)) return [];
    throw error;
  }
}
