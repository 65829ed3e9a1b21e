import { randomBytes } from 'node:crypto';
import { mkdir, open, readdir, rename, rm, stat } from 'node:fs/promises';
import { dirname, extname, join } from 'node:path';
import { digestOf, rememberedSha256 } from './digest.ts';
import { KINDS } from './kinds.ts';
import type { Job } from './rows.ts';

/** Folder of what is being made, within that of the files: a move from one to the other is one step. */
const MAKING = '.making';
/** Files hold what a business asked about: they are read by the service alone. */
const FOLDER_MODE = 0o700;
const FILE_MODE = 0o600;

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
  return join(root, KINDS[kind].folder);
}

/**
 * Where the file of a job lies: under its content, so that another attempt, however late it comes, never puts other bytes behind
 * the row.
 */
export function jobFilePath(root: string, { kind, id, file_name, sha256 }: Omit<FiledJob, 'bytes'>): string {
  return join(jobFolder(root, kind), `${id}-${sha256 ?? ''}${extname(file_name ?? '')}`);
}

/** What the name of a file in one of the folders says: the id of its job, and its SHA-256, hex. */
export function partsOfName(name: string): { readonly id: string; readonly sha256: string } {
  const [id = '', sha256 = ''] = name.slice(0, name.length - extname(name).length).split('-');
  return { id, sha256 };
}

/** Makes a folder for one attempt, in which nobody else writes. */
export async function openStage(root: string, { kind, id }: Pick<Job, 'kind' | 'id'>): Promise<Stage> {
  const folder = join(jobFolder(root, kind), MAKING, `${id}-${randomBytes(4).toString('hex')}`);
  const made = await mkdir(folder, { recursive: true, mode: FOLDER_MODE });
  // The first job of a root makes the folder of the files, too.
  if (made !== undefined) await syncFolder(dirname(made));
  return { path: join(folder, 'file'), remove: () => rm(folder, { recursive: true, force: true }) };
}

/** Folders of attempts in the files of a kind, with when they last changed, epoch milliseconds. */
export async function listStages(root: string, kind: Job['kind']) {
  return await entriesOf(join(jobFolder(root, kind), MAKING));
}

/** Files of a kind, with when they were last written, epoch milliseconds. A folder beside them is none of ours. */
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
    return await digestOf(handle);
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

/** Why the file of a job that is done cannot be served, in words, as far as its size tells; null: nothing speaks against it. */
export async function sizeFault(root: string, job: FiledJob): Promise<string | null> {
  const stats = await orNull(stat(jobFilePath(root, job)));
  if (stats === null) return GONE;
  return stats.size === job.bytes ? null : `has ${stats.size} bytes, its row says ${job.bytes ?? 'none'}`;
}

/** Why the file of a job that is done cannot be served, in words; null: it can. Its bytes are read, once while nobody touches it. */
export async function fileFault(root: string, job: FiledJob): Promise<string | null> {
  const fault = await sizeFault(root, job);
  if (fault !== null) return fault;
  const sha256 = await orNull(rememberedSha256(jobFilePath(root, job)));
  if (sha256 === null) return GONE;
  return sha256 === job.sha256 ? null : `has the SHA-256 ${sha256}, its row says ${job.sha256 ?? 'none'}`;
}

/** Removes the file of a job, if there is one. */
export async function removeFile(root: string, job: Omit<FiledJob, 'bytes'>): Promise<void> {
  await rm(jobFilePath(root, job), { force: true });
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

/** What was asked of the disk; null where there is nothing of that name. */
async function orNull<Found>(asked: Promise<Found>): Promise<Found | null> {
  try {
    return await asked;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    return null;
  }
}
