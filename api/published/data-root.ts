import fs from 'node:fs/promises';
import { join, resolve } from 'node:path';
import type { Readable } from 'node:stream';
import { contains, layout } from '../../schemas/layout.ts';
import type { PublishedFile } from '../../schemas/manifest.ts';

/** Bytes of a file, both ends included. */
export type FileRange = Readonly<Record<'first' | 'last', number>>;

/** Read access to a data root in a folder. Paths are relative to it, with forward slashes. */
export type DataRoot = ReturnType<typeof openDataRoot>;

/** The data root names files that are missing, or that this version cannot read: no answer instead of a wrong number. */
export class DataUnavailable extends Error {
  /** Missing folders, relative to the root; none when that is not the reason. */
  readonly missing: readonly string[];

  constructor(subject: string, reason: string, options?: ErrorOptions & { readonly missing?: readonly string[] }) {
    super(`data root: ${subject} ${reason}`, options);
    this.name = 'DataUnavailable';
    this.missing = options?.missing ?? [];
  }
}

/** Opens a data root in a folder; it need not exist yet. */
export function openDataRoot(dataRoot: string) {
  const root = resolve(dataRoot);
  const absolute = (path: string) => join(root, path);
  /** A mark that changes when a list is replaced; null when it does not exist. */
  const mark = async (path: string): Promise<string | null> => {
    const stats = await ifPresent(fs.stat(absolute(path), { bigint: true }));
    return stats && `${stats.ino}.${stats.size}.${stats.mtimeNs}`;
  };
  return {
    mark,
    /** Absolute path of a published file, for statements. */
    fileOf: ({ path }: Pick<PublishedFile, 'path'>): string => absolute(path),
    /** Content of a list; null when it does not exist. */
    text: (path: string): Promise<string | null> => ifPresent(fs.readFile(absolute(path), 'utf8')),
    /** Content of a file; throws when it does not exist. */
    bytes: (path: string): Promise<Uint8Array> => fs.readFile(absolute(path)),
    /** Some bytes of a file, fewer where it ends before; throws ENOENT when it does not exist. */
    part: async (path: string, position: number, length: number): Promise<Buffer> => {
      await using file = await fs.open(absolute(path));
      const { buffer, bytesRead } = await file.read({ buffer: Buffer.alloc(length), position });
      return buffer.subarray(0, bytesRead);
    },
    /** Opens a range of a file, both ends included. Throws DataUnavailable when it is missing or another. */
    open: async (file: Pick<PublishedFile, 'path' | 'bytes'>, range: FileRange): Promise<Readable> => {
      const inside = await fs.realpath(root);
      const path = await fs.realpath(join(inside, file.path)).catch((cause: unknown) => {
        throw new DataUnavailable(file.path, 'is missing, and its manifest names it', { cause });
      });
      if (!contains(inside, path)) throw new DataUnavailable(file.path, 'leads out of the data root');
      return openPart(path, file.bytes, range, (size) => {
        return new DataUnavailable(file.path, `has ${size} bytes, its manifest says ${file.bytes}`);
      });
    },
    /** Names in the folder of the manifests, sorted; none when it does not exist. */
    partitions: async (): Promise<string[]> => ((await ifPresent(fs.readdir(absolute(layout.manifests)))) ?? []).sort(),
    /** Those of some folders that are missing, or the parent that is. */
    missing: async (folders: Iterable<string>): Promise<string[]> => {
      const missing = new Set<string>();
      for (const folder of folders) {
        const [top = ''] = folder.split('/');
        const gone = (await mark(top)) === null ? top : (await mark(folder)) === null ? folder : null;
        if (gone !== null) missing.add(gone);
      }
      return [...missing].sort();
    },
  };
}

/** Opens a part of a file. Throws `wrongSize(size)` when the file does not have `bytes` bytes: no client gets parts of another file. */
export async function openPart(
  path: string,
  bytes: number,
  { first, last }: FileRange,
  wrongSize: (size: number) => Error,
): Promise<Readable> {
  const handle = await fs.open(path, 'r');
  try {
    const { size } = await handle.stat();
    if (size !== bytes) throw wrongSize(size);
    return handle.createReadStream({ start: first, end: last });
  } catch (error) {
    await handle.close();
    throw error;
  }
}

/** The result of a file operation; null where there is nothing at the path. */
export async function ifPresent<Value>(reading: Promise<Value>): Promise<Value | null> {
  try {
    return await reading;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ENOTDIR') return null;
    throw error;
  }
}
