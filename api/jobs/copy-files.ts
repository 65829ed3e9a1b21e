import { copyFile, rmdir } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { fileFault, jobFilePath, openStage, placeFile, sealFile, stagesFolder } from './files.ts';
import { KINDS } from './kinds.ts';

/** A row of a job that is done, as far as it names its file. */
const DoneJob = z.object({
  id: z.string(),
  kind: z.enum(['report', 'export']),
  status: z.literal('done'),
  file_name: z.string(),
  bytes: z.number(),
  sha256: z.string(),
});
type DoneJob = Readonly<z.infer<typeof DoneJob>>;

/** A file that could not be copied, and why in words. */
export interface FileFault {
  readonly id: string;
  readonly sha256: string;
  readonly fault: string;
}

export interface CopiedFiles {
  /** Files at the target that are what their rows say, those from before included. */
  readonly files: number;
  readonly bytes: number;
  readonly faults: readonly FileFault[];
}

/**
 * Copies the files of the jobs that are done from one folder of files to another, each checked against the SHA-256 of its row and
 * in its place only once it is whole on the disk. Files that are there already stay. Other rows are passed over.
 */
export async function copyJobFiles(
  jobs: AsyncIterable<unknown>,
  from_root: string,
  to_root: string,
): Promise<CopiedFiles> {
  const copied = { files: 0, bytes: 0 };
  const faults: FileFault[] = [];
  for await (const row of jobs) {
    const parsed = DoneJob.safeParse(row);
    if (!parsed.success) continue;
    const job = parsed.data;
    const fault = (await fileFault(to_root, job)) === null ? null : await copyOne(job, from_root, to_root);
    if (fault !== null) faults.push({ id: job.id, sha256: job.sha256, fault });
    else {
      copied.files += 1;
      copied.bytes += job.bytes;
    }
  }
  for (const { folder } of Object.values(KINDS)) await removeIfEmpty(stagesFolder(join(to_root, folder)));
  return { ...copied, faults };
}

/** Why the file of a job was not copied; null: it was. */
async function copyOne(job: DoneJob, from_root: string, to_root: string): Promise<string | null> {
  const stage = await openStage(to_root, job);
  try {
    try {
      await copyFile(jobFilePath(from_root, job), stage.path);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return 'is gone';
      throw error;
    }
    const { bytes, sha256 } = await sealFile(stage.path);
    if (bytes !== job.bytes) return `has ${bytes} bytes, its row says ${job.bytes}`;
    if (sha256 !== job.sha256) return `has the SHA-256 ${sha256}, its row says ${job.sha256}`;
    await placeFile(to_root, stage.path, job);
    return null;
  } finally {
    await stage.remove();
  }
}

async function removeIfEmpty(folder: string): Promise<void> {
  try {
    await rmdir(folder);
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException;
    if (code !== 'ENOENT' && code !== 'ENOTEMPTY') throw error;
  }
}
