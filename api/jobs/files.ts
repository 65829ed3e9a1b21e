import { createHash, randomBytes } from 'node:crypto';
import { type FileHandle, mkdir, open, readdir, rename, rm, stat } from 'node:fs/promises';
import { dirname, extname, join } from 'node:path';
import type { Readable } from 'node:stream';
import { LRUCache } from 'lru-cache';
import { layout } from '../../schemas/layout.ts';
import { type FileRange, openPart } from '../published/data-root.ts';
import { memoize } from '../published/memoize.ts';
import type { Job } from './rows.ts';

/** Folder of the files of each kind, below the root. */
export const FOLDERS: Readonly<Record<Job['kind'], string>> = { report: layout.reports, export: layout.exports };
/** Folder of unfinished files, inside the folder of the files: a move from one to the other is atomic. */
const MAKING = '.making';
/** Files hold a business's data: only the service may read them. */
const FOLDER_MODE = 0o700;
const FILE_MODE = 0o600;

/** Files whose SHA-256 is remembered, some 400 bytes each. */
const FILES_KEPT = 4096;
/** Files that are read at once: at most the threads that read them. */
const AT_ONCE = 4;

/** By path and identity of the content. */
const sha256OfFile = new LRUCache<string, Promise<string>>({ max: FILES_KEPT });
const waiting: (() => void)[] = [];
let reading = 0;

/** A file of a job whose row says that there is one. */
type FiledJob = Pick<Job, 'id' | 'kind' | 'file_name' | 'bytes' | 'sha256'>;

/** A folder in which one attempt at a job makes its file. */
export interface Stage {
  /** Where the file goes. */
  readonly path: string;
  /** Removes the folder with what is left in it. */
  readonly remove: () => Promise<void>;
}

/** Folder of the files of a kind. */
function jobFolder(root: string, kind: Job['kind']): string {
  return join(root, FOLDERS[kind]);
}

/**
 * Where the file of a job lies: under its content, so that another attempt, however late it comes, never puts other bytes behind
 * the row.
 */
export function jobFilePath(root: string, { kind, id, file_name, sha256 }: Omit<FiledJob, 'bytes'>): string {
  return join(jobFolder(root, kind), `${id}-${sha256 ?? ''}${extname(file_name ?? '')}`);
}

/** Parts of a file's name: the id of its job, and its SHA-256, hex. */
export function partsOfName(name: string): { readonly id: string; readonly sha256: string } {
  const [id = '', sha256 = ''] = name.slice(0, name.length - extname(name).length).split('-');
  return { id, sha256 };
}

/** Folder of the attempts in a folder of files. */
export function stagesFolder(folder: string): string {
  return join(folder, MAKING);
}

/** Makes a folder for one attempt. */
export async function openStage(root: string, { kind, id }: Pick<Job, 'kind' | 'id'>): Promise<Stage> {
  const folder = join(stagesFolder(jobFolder(root, kind)), `${id}-${randomBytes(4).toString('hex')}`);
  const made = await mkdir(folder, { recursive: true, mode: FOLDER_MODE });
  // The first job of a root makes the folder of the files, too.
  if (made !== undefined) await syncFolder(dirname(made));
  return { path: join(folder, 'file'), remove: () => rm(folder, { recursive: true, force: true }) };
}

/** Folders of attempts in the files of a kind, with when they last changed, epoch milliseconds. */
export async function listStages(root: string, kind: Job['kind']) {
  return await entriesOf(stagesFolder(jobFolder(root, kind)));
}

/** Files of a kind, with when they were last written, epoch milliseconds. Folders are left out. */
export async function listFiles(root: string, kind: Job['kind']) {
  return (await entriesOf(jobFolder(root, kind))).filter(({ is_file }) => is_file);
}

interface Entry {
  readonly name: string;
  readonly path: string;
  readonly changed_ms: number;
  readonly is_file: boolean;
}

async function entriesOf(folder: string): Promise<readonly Entry[]> {
  const found: Entry[] = [];
  for (const name of (await orNull(readdir(folder))) ?? []) {
    const path = join(folder, name);
    const stats = await orNull(stat(path));
    if (stats !== null) found.push({ name, path, changed_ms: stats.mtimeMs, is_file: stats.isFile() });
  }
  return found;
}

/** Writes a file that was made through to the disk; its size and SHA-256, hex. Throws where there is none. */
export async function sealFile(path: string): Promise<{ readonly bytes: number; readonly sha256: string }> {
  const handle = await open(path, 'r+');
  try {
    await handle.chmod(FILE_MODE);
    await handle.sync();
    return await fileDigest(handle);
  } finally {
    await handle.close();
  }
}

/** Puts a sealed file in its place, where it survives a power cut once this has resolved. */
export async function placeFile(root: string, staged: string, job: Omit<FiledJob, 'bytes'>): Promise<void> {
  await rename(staged, jobFilePath(root, job));
  await syncFolder(jobFolder(root, job.kind));
}

const GONE = 'is gone';

/** Why the file of a job that is done cannot be served, in words, by its size; null: no fault found. */
export async function sizeFault(root: string, job: FiledJob): Promise<string | null> {
  const stats = await orNull(stat(jobFilePath(root, job)));
  if (stats === null) return GONE;
  return stats.size === job.bytes ? null : `has ${stats.size} bytes, its row says ${job.bytes ?? 'none'}`;
}

/** Why the file of a job that is done cannot be served, in words; null: it can. Its bytes are read again only after it changed. */
export async function fileFault(root: string, job: FiledJob): Promise<string | null> {
  const fault = await sizeFault(root, job);
  if (fault !== null) return fault;
  const sha256 = await orNull(rememberedSha256(jobFilePath(root, job)));
  if (sha256 === null) return GONE;
  return sha256 === job.sha256 ? null : `has the SHA-256 ${sha256}, its row says ${job.sha256 ?? 'none'}`;
}

/** Opens a range of the file of a job. Throws when it is missing or another. */
export function openJobFile(
  root: string,
  job: FiledJob & { readonly bytes: number },
  range: FileRange,
): Promise<Readable> {
  return openPart(
    jobFilePath(root, job),
    job.bytes,
    range,
    (size) => new Error(`file of job ${job.id} has ${size} bytes, expected ${job.bytes}`),
  );
}

/** Removes the file of a job, if there is one. */
export async function removeFile(root: string, job: Omit<FiledJob, 'bytes'>): Promise<void> {
  await rm(jobFilePath(root, job), { force: true });
}

/** Removes a file of a kind by its name, if there is one. */
export async function removeNamed(root: string, kind: Job['kind'], name: string): Promise<void> {
  await rm(join(jobFolder(root, kind), name), { force: true });
}

/** A new name survives a power cut once its folder is written. */
async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, 'r');
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}

/** Result of a file operation; null where the file does not exist. */
async function orNull<Found>(asked: Promise<Found>): Promise<Found | null> {
  try {
    return await asked;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    return null;
  }
}

/** Size in bytes and SHA-256, hex, of an open file, read piece by piece. */
async function fileDigest(handle: FileHandle): Promise<{ readonly bytes: number; readonly sha256: string }> {
  const digest = createHash('sha256');
  let bytes = 0;
  for await (const chunk of handle.createReadStream({ autoClose: false }) as AsyncIterable<Buffer>) {
    digest.update(chunk);
    bytes += chunk.length;
  }
  return { bytes, sha256: digest.digest('hex') };
}

/**
 * SHA-256, hex, of a file. The file is read once for all concurrent callers, and again after it was written, moved or replaced;
 * later damage on the disk is not noticed. Throws the system's error for a file that cannot be read.
 */
async function rememberedSha256(path: string): Promise<string> {
  const { dev, ino, size, mtimeNs, ctimeNs } = await stat(path, { bigint: true });
  const identity = [path, dev, ino, size, mtimeNs, ctimeNs].join(' ');
  return await memoize(sha256OfFile, identity, () => inTurn(() => sha256Of(path)));
}

async function sha256Of(path: string): Promise<string> {
  const handle = await open(path, 'r');
  try {
    return (await fileDigest(handle)).sha256;
  } finally {
    await handle.close();
  }
}

async function inTurn<Result>(work: () => Promise<Result>): Promise<Result> {
  if (reading < AT_ONCE) reading += 1;
  else await new Promise<void>((resolve) => waiting.push(resolve));
  try {
    return await work();
  } finally {
    // The next one takes the place over.
    const next = waiting.shift();
    if (next === undefined) reading -= 1;
    else next();
  }
}
