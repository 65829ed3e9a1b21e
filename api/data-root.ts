import fs from 'node:fs/promises';
import { join, resolve } from 'node:path';

/** Read access to a data root. Paths are relative to it, with forward slashes. */
export interface DataRoot {
  /** Absolute path of the data root. */
  readonly root: string;
  /** Absolute path of a published file. */
  readonly absolute: (path: string) => string;
  /** Content of a text file; null when it does not exist. */
  readonly text: (path: string) => Promise<string | null>;
  /** Content of a file; throws when it does not exist. */
  readonly bytes: (path: string) => Promise<Uint8Array>;
  /** Names in a folder, sorted; none when it does not exist. */
  readonly names: (path: string) => Promise<string[]>;
  /** A mark that changes when a file is replaced; null when it does not exist. */
  readonly mark: (path: string) => Promise<string | null>;
}

/** Opens a data root; it need not exist yet. */
export function openDataRoot(dataRoot: string): DataRoot {
  const root = resolve(dataRoot);
  const absolute = (path: string) => join(root, path);
  return {
    root,
    absolute,
    text: (path) => ifPresent(fs.readFile(absolute(path), 'utf8'), null),
    bytes: (path) => fs.readFile(absolute(path)),
    names: async (path) => (await ifPresent(fs.readdir(absolute(path)), [])).sort(),
    mark: (path) => ifPresent(markOf(absolute(path)), null),
  };
}

async function markOf(path: string): Promise<string> {
  const { ino, size, mtimeNs } = await fs.stat(path, { bigint: true });
  return `${ino}.${size}.${mtimeNs}`;
}

async function ifPresent<Value, Otherwise>(reading: Promise<Value>, otherwise: Otherwise): Promise<Value | Otherwise> {
  try {
    return await reading;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ENOTDIR') return otherwise;
    throw error;
  }
}
