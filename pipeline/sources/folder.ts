import type { Dirent } from 'node:fs';
import { readdir, stat } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { asUnreadable, NotFound, PipelineError, Unreadable } from '../error.ts';
import { DRAFT_SUFFIX, isMissing } from '../files.ts';
import { parseName, type SourceFile } from './names.ts';

/** A raw file on disk. */
interface FolderFile extends SourceFile {
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
  const days = dates && new Set(dates.map((date) => date.replaceAll('-', '')));
  const files: FolderFile[] = [];
  const unknown: string[] = [];
  const unreadable: UnreadableEntry[] = [];
  const folders = [''];
  for (let folder = folders.pop(); folder !== undefined; folder = folders.pop()) {
    const entries = folder === '' ? await entriesOfRoot(absolute) : await lookAt(absolute, folder, entriesOf);
    if (entries instanceof Unreadable) unreadable.push({ key: folder.slice(0, -1), reason: entries.reason });
    // A folder below the root may be tidied away in the meantime.
    for (const entry of entries === null || entries instanceof Unreadable ? [] : entries) {
      const key = `${folder}${entry.name}`;
      if (entry.name.startsWith('.') || entry.name.endsWith(DRAFT_SUFFIX)) continue;
      if (entry.isDirectory()) {
        if (days === undefined || !DATE_FOLDER.test(entry.name) || days.has(entry.name)) folders.push(`${key}/`);
        continue;
      }
      const named = parseName(key);
      const found = named && (await lookAt(absolute, key, (path) => stat(path)));
      if (found instanceof Unreadable) unreadable.push({ key, reason: found.reason });
      else if (named && found?.isFile()) {
        const { size: bytes, mtimeMs: modified_ms } = found;
        files.push({ ...named, name: entry.name, key, bytes, location: join(absolute, key), modified_ms });
      } else unknown.push(key);
    }
  }
  const byKey = (a: { readonly key: string }, b: { readonly key: string }) => (a.key < b.key ? -1 : 1);
  return { files: files.sort(byKey), unknown: unknown.sort(), unreadable: unreadable.sort(byKey) };
}

function entriesOf(folder: string): Promise<Dirent[]> {
  return readdir(folder, { withFileTypes: true });
}

/** Result of `look` at an entry; null when it is gone, the fault when it cannot be read. */
async function lookAt<Found>(root: string, key: string, look: (path: string) => Promise<Found>) {
  const location = join(root, key);
  try {
    return await look(location);
  } catch (cause) {
    if (isMissing(cause)) return null;
    const unreadable = asUnreadable(location, cause);
    if (unreadable instanceof Unreadable) return unreadable;
    throw new PipelineError('sources', location, 'cannot be looked at', { cause });
  }
}

async function entriesOfRoot(root: string): Promise<Dirent[]> {
  const entries = await lookAt(root, '', entriesOf);
  if (entries === null) throw new NotFound('sources', root, 'is not there, expected a folder');
  if (!(entries instanceof Unreadable)) return entries;
  const reason = entries.is_gone ? 'is no folder' : entries.reason;
  throw new PipelineError('sources', root, `${reason}, expected a folder that can be read`, { cause: entries });
}
