import type { Dirent } from 'node:fs';
import { readdir, stat } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { asUnreadable, NotFound, PipelineError, Unreadable } from '../error.ts';
import { DRAFT_SUFFIX, isMissing } from '../files.ts';
import { baseName, parseName, type SourceFile } from './names.ts';

/** A raw file on disk. */
export interface FolderFile extends SourceFile {
  /** Time of the last change to its content, epoch milliseconds. */
  readonly modified_ms: number;
}

export interface FolderListing {
  /** Files of known names, in order of their keys. */
  readonly files: readonly FolderFile[];
  /** Keys of everything else, in order: for the report, never an error. */
  readonly unknown: readonly string[];
  /** Entries that cannot be read, in order of the keys: folders without permission, links in a circle. */
  readonly unreadable: readonly UnreadableEntry[];
}

/** Folder of one UTC date in the layout of the bucket. */
const DATE_FOLDER = /^\d{8}$/;

/** A file or folder that could not be read, and why. */
export interface UnreadableEntry {
  readonly key: string;
  readonly reason: string;
}

/**
 * All raw files below a folder, at any depth; files of regions other than CONUS count as unknown.
 * Hidden entries and unfinished `.part` files are skipped. A link to a file counts as the file;
 * a link to a folder is reported as unknown, because it may lead in a circle. Entries that cannot be read are reported.
 * Folders named after a UTC date (`20260501`) that is not among `dates` are not entered.
 * Throws NotFound when `root` is not there, PipelineError when it is not a folder that can be read.
 */
export async function listFolder(root: string, dates?: readonly string[]): Promise<FolderListing> {
  const absolute = resolve(root);
  const files: FolderFile[] = [];
  const unknown: string[] = [];
  const unreadable: UnreadableEntry[] = [];
  const days = dates && new Set(dates.map((date) => date.replaceAll('-', '')));
  const isEntered = (name: string) => days === undefined || !DATE_FOLDER.test(name) || days.has(name);
  for (const key of await keysBelow(absolute, isEntered, unreadable)) {
    const file = await describe(absolute, key);
    if (file instanceof Unreadable) unreadable.push({ key, reason: file.reason });
    else if (file) files.push(file);
    else unknown.push(key);
  }
  return { files, unknown, unreadable: unreadable.sort((a, b) => (a.key < b.key ? -1 : 1)) };
}

/** Keys of all files below a folder; folders that cannot be read are added to `unreadable`. */
async function keysBelow(
  root: string,
  isEntered: (name: string) => boolean,
  unreadable: UnreadableEntry[],
): Promise<string[]> {
  const keys: string[] = [];
  const folders = [''];
  for (let folder = folders.pop(); folder !== undefined; folder = folders.pop()) {
    const entries = await entriesOf(root, folder);
    if (entries instanceof Unreadable) {
      unreadable.push({ key: folder.slice(0, -1), reason: entries.reason });
      continue;
    }
    for (const entry of entries) {
      if (entry.name.startsWith('.') || entry.name.endsWith(DRAFT_SUFFIX)) continue;
      if (!entry.isDirectory()) keys.push(`${folder}${entry.name}`);
      else if (isEntered(entry.name)) folders.push(`${folder}${entry.name}/`);
    }
  }
  return keys.sort();
}

async function entriesOf(root: string, folder: string): Promise<Dirent[] | Unreadable> {
  try {
    return await readdir(join(root, folder), { withFileTypes: true });
  } catch (cause) {
    // A folder below the root may be tidied away while we walk; the root itself must be there.
    if (folder !== '' && isMissing(cause)) return [];
    const unreadable = asUnreadable(join(root, folder), cause);
    if (folder !== '' && unreadable instanceof Unreadable) return unreadable;
    if (isMissing(cause)) throw new NotFound('sources', root, 'is not there, expected a folder', { cause });
    // ENOTDIR: the path exists and is not a folder.
    const reason = unreadable instanceof Unreadable && !unreadable.is_gone ? unreadable.reason : 'is no folder';
    throw new PipelineError('sources', root, `${reason}, expected a folder that can be read`, { cause });
  }
}

async function describe(root: string, key: string): Promise<FolderFile | Unreadable | null> {
  const named = parseName(key);
  if (!named) return null;
  const location = join(root, key);
  try {
    const found = await stat(location);
    if (!found.isFile()) return null;
    return { ...named, name: baseName(key), key, bytes: found.size, location, modified_ms: found.mtimeMs };
  } catch (cause) {
    if (isMissing(cause)) return null;
    const unreadable = asUnreadable(location, cause);
    if (unreadable instanceof Unreadable) return unreadable;
    throw new PipelineError('sources', location, 'cannot be looked at', { cause });
  }
}
