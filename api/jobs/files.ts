import { createHash } from 'node:crypto';
import { mkdir, mkdtemp, open, readdir, rename, rm, stat } from 'node:fs/promises';
import { dirname, extname, join } from 'node:path';
import { layout } from '../../schemas/layout.ts';
import { MS_PER_DAY } from '../../schemas/time.ts';
import { ifPresent } from '../published/data-root.ts';
import type { Job } from './rows.ts';

/** Folder of the files of each kind, below the root. */
const FOLDERS: Readonly<Record<Job['kind'], string>> = { report: layout.reports, export: layout.exports };
/** Folder of unfinished files, inside the folder of the files: a move from one to the other is atomic. */
const MAKING = '.making';
/** Files hold a business's data: only the service may read them. */
const FOLDER_MODE = 0o700;
const FILE_MODE = 0o600;

type FiledJob = Pick<Job, 'id' | 'kind' | 'file_name' | 'sha256'>;

/**
 * Where the file of a job lies: under its content, so that another attempt, however late it comes, never puts other bytes behind
 * the row.
 */
export function jobFilePath(root: string, { kind, id, file_name, sha256 }: FiledJob): string {
  return join(root, FOLDERS[kind], `${id}-${sha256 ?? ''}${extname(file_name ?? '')}`);
}

/** Makes a folder for the file of one attempt; its path. */
export async function openStage(root: string, { kind, id }: Pick<Job, 'kind' | 'id'>): Promise<string> {
  const making = join(root, FOLDERS[kind], MAKING);
  const made = await mkdir(making, { recursive: true, mode: FOLDER_MODE });
  // The first job of a root makes the folder of the files, too.
  if (made !== undefined) await syncFolder(dirname(made));
  return await mkdtemp(join(making, `${id}-`));
}

/** Removes folders of attempts that are older than a day: their processes have died. */
export async function removeOldStages(root: string): Promise<void> {
  for (const folder of Object.values(FOLDERS)) {
    const making = join(root, folder, MAKING);
    for (const name of (await ifPresent(readdir(making))) ?? []) {
      const stats = await ifPresent(stat(join(making, name)));
      if (stats !== null && Date.now() - stats.mtimeMs > MS_PER_DAY) await rm(join(making, name), { recursive: true });
    }
  }
}

/** Writes a file that was made through to the disk; its size and SHA-256, hex. Throws where there is none. */
export async function sealFile(path: string): Promise<{ readonly bytes: number; readonly sha256: string }> {
  await using handle = await open(path, 'r+');
  await handle.chmod(FILE_MODE);
  await handle.sync();
  const digest = createHash('sha256');
  let bytes = 0;
  for await (const chunk of handle.createReadStream({ autoClose: false }) as AsyncIterable<Buffer>) {
    digest.update(chunk);
    bytes += chunk.length;
  }
  return { bytes, sha256: digest.digest('hex') };
}

/** Puts a sealed file in its place, where it survives a power cut once this has resolved. */
export async function placeFile(root: string, staged: string, job: FiledJob): Promise<void> {
  const path = jobFilePath(root, job);
  await rename(staged, path);
  await syncFolder(dirname(path));
}

/** Why the file of a job that is done cannot be served, in words; null: no fault found. */
export async function fileFault(root: string, job: FiledJob & Pick<Job, 'bytes'>): Promise<string | null> {
  const stats = await ifPresent(stat(jobFilePath(root, job)));
  if (stats === null) return 'is gone';
  return stats.size === job.bytes ? null : `has ${stats.size} bytes, its row says ${job.bytes ?? 'none'}`;
}

export async function removeFile(root: string, job: FiledJob): Promise<void> {
  await rm(jobFilePath(root, job), { force: true });
}

/** A new name survives a power cut once its folder is written. */
async function syncFolder(path: string): Promise<void> {
  await using folder = await open(path, 'r');
  await folder.sync();
}
