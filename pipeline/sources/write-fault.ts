import { DiskRefusal, isDiskRefusal, PipelineError } from '../error.ts';

/** What `work` does to write the file at `path`; what the file system refuses is explained with that file's name. */
export async function writing<Result>(path: string, work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (cause) {
    // What could not be read is not a fault of writing.
    throw cause instanceof PipelineError ? cause : writeFault(path, cause);
  }
}

/** The error of a file that could not be written. */
export function writeFault(path: string, cause: unknown): PipelineError {
  if (isDiskRefusal(cause)) return new DiskRefusal('sources', path, cause);
  const reason = cause instanceof Error ? cause.message : String(cause);
  return new PipelineError('sources', path, `cannot be written: ${reason}`, { cause });
}
