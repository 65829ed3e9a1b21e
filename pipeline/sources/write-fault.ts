import { DiskRefusal, isDiskRefusal, PipelineError } from '../error.ts';

/** Result of `work`, which writes the file at `path`; an error of the file system is thrown as one that names the file. */
export async function writing<Result>(path: string, work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (cause) {
    // An error of reading is thrown unchanged.
    throw cause instanceof PipelineError ? cause : writeFault(path, cause);
  }
}

/** The error of a file that could not be written. */
export function writeFault(path: string, cause: unknown): PipelineError {
  if (isDiskRefusal(cause)) return new DiskRefusal('sources', path, cause);
  const reason = cause instanceof Error ? cause.message : String(cause);
  return new PipelineError('sources', path, `cannot be written: ${reason}`, { cause });
}
