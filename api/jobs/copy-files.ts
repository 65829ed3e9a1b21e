import { chmod, copyFile, rmdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { ID_PREFIXES } from '../../schemas/ids.ts';
import { FOLDERS, fileFault, jobFilePath, openStage, placeFile, sealFile, stagesFolder } from './files.ts';

/** A row of a job that is done and has a file. */
const Done = z.looseObject({ status: z.literal('done'), file_name: z.string() });
/** The same, as far as it names its file. Parts of the name are checked: a row may come from anywhere, and names what is written. */
const DoneJob = z.object({
  id: z.string().regex(new RegExp(`^(${ID_PREFIXES.report}|${ID_PREFIXES.export})_[0-9A-Z]+$`)),
  kind: z.enum(['report', 'export']),
  file_name: z.string(),
  bytes: z.int().nonnegative(),
  sha256: z.string().regex(/^[0-9a-f]{64}$/),
});
type DoneJob = Readonly<z.infer<typeof DoneJob>>;

/** A row of a job that is done and names no file that a job can have. */
export class NoFileOfJob extends Error {
  override name = 'NoFileOfJob';
}

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
 * in its place only once it is whole on the disk. Files that are there already stay. Other rows are passed over. Throws NoFileOfJob
 * for a row whose file cannot be that of a job.
 */
export async function copyJobFiles(
  jobs: AsyncIterable<unknown>,
  from_root: string,
  to_root: string,
): Promise<CopiedFiles> {
  const copied = { files: 0, bytes: 0 };
  const faults: FileFault[] = [];
  for await (const row of jobs) {
    if (!Done.safeParse(row).success) continue;
    const job = doneJob(row);
    const fault = (await fileFault(to_root, job)) === null ? null : await copyOne(job, from_root, to_root);
    if (fault !== null) faults.push({ id: job.id, sha256: job.sha256, fault });
    else {
      copied.files += 1;
      copied.bytes += job.bytes;
    }
  }
  for (const folder of Object.values(FOLDERS)) await removeIfEmpty(stagesFolder(join(to_root, folder)));
  return { ...copied, faults };
}

function doneJob(row: unknown): DoneJob {
  const parsed = DoneJob.safeParse(row);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  throw new NoFileOfJob(`a job that is done names no file of a job (${issue?.path.join('.')}: ${issue?.message})`);
}

/** Why the file of a job was not copied; null: it was. */
async function copyOne(job: DoneJob, from_root: string, to_root: string): Promise<string | null> {
  const from = jobFilePath(from_root, job);
  const stage = await openStage(to_root, job);
  try {
    try {
      const found = await stat(from);
      // A pipe never ends, and a device fills the disk.
      if (!found.isFile()) return 'is no file';
      if (found.size !== job.bytes) return `has ${found.size} bytes, its row says ${job.bytes}`;
      await copyFile(from, stage.path);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return 'is gone';
      throw error;
    }
    // The copy has the mode of the original, which may be for reading only.
    await chmod(stage.path, 0o600);
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
