import fs from 'node:fs/promises';
import { join, resolve } from 'node:path';
import type { Readable } from 'node:stream';
import { contains, layout } from '../../schemas/layout.ts';
import type { PublishedFile } from '../../schemas/manifest.ts';

/** Bytes of a file, both ends included. */
export interface FileRange {
  readonly first: number;
  readonly last: number;
}

/** A file with what its content must be. */
type ImmutableFile = Pick<PublishedFile, 'path' | 'bytes' | 'sha256'>;

/** Read access to a data root in a folder. Paths are relative to it, with forward slashes. */
export interface DataRoot {
  /** Absolute path of a published file, for statements. */
  readonly fileOf: (file: ImmutableFile) => string;
  /** Content of a list; null when it does not exist. */
  readonly text: (path: string) => Promise<string | null>;
  /** Content of a file; throws when it does not exist. */
  readonly bytes: (path: string) => Promise<Uint8Array>;
  /** Some bytes of a file, fewer where it ends before; throws ENOENT when it does not exist. */
  readonly part: (path: string, first: number, length: number) => Promise<Buffer>;
  /** Opens a range of a file, both ends included. Throws DataUnavailable when it is missing or another. */
  readonly open: (file: ImmutableFile, range: FileRange) => Promise<Readable>;
  /** Names in the folder of the manifests, sorted; none when it does not exist. */
  readonly partitions: () => Promise<string[]>;
  /** A mark that changes when a list is replaced; null when it does not exist. */
  readonly mark: (path: string) => Promise<string | null>;
  /** Those of some folders that are missing, or the parent that is. */
  readonly missing: (folders: Iterable<string>) => Promise<string[]>;
}

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
export function openDataRoot(dataRoot: string): DataRoot {
  const root = resolve(dataRoot);
  const absolute = (path: string) => join(root, path);
  const mark = (path: string) => ifPresent(markOf(absolute(path)), null);
  return {
    fileOf: ({ path }) => absolute(path),
    text: (path) => ifPresent(fs.readFile(absolute(path), 'utf8'), null),
    bytes: (path) => fs.readFile(absolute(path)),
    part: (path, first, length) => partOf(absolute(path), first, length),
    open: (file, range) => openInside(root, file, range),
    partitions: async () => (await ifPresent(fs.readdir(absolute(layout.manifests)), [])).sort(),
    mark,
    missing: async (folders) => {
      const missing = new Set<string>();
      for (const folder of folders) {
        const [top = ''] = folder.split('/');
        if ((await mark(top)) === null) missing.add(top);
        else if ((await mark(folder)) === null) missing.add(folder);
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

async function openInside(root: string, file: ImmutableFile, range: FileRange): Promise<Readable> {
  const inside = await fs.realpath(root);
  const path = await fs.realpath(join(inside, file.path)).catch((cause: unknown) => {
    throw new DataUnavailable(file.path, 'is missing, and its manifest names it', { cause });
  });
  if (!contains(inside, path)) throw new DataUnavailable(file.path, 'leads out of the data root');
  return openPart(
    path,
    file.bytes,
    range,
    (size) => new DataUnavailable(file.path, `has ${size} bytes, its manifest says ${file.bytes}`),
  );
}

async function partOf(path: string, first: number, length: number): Promise<Buffer> {
  const file = await fs.open(path);
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(length), 0, length, first);
    return buffer.subarray(0, bytesRead);
  } finally {
    await file.close();
  }
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
