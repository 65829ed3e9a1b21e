import { NotFound, PipelineError, Unreadable } from '../error.ts';
import { readBounded } from '../read/file.ts';

/** Bytes of a file named on the command line. Throws NotFound when there is none, PipelineError when it cannot be read. */
export async function readNamedFile(path: string, most_bytes: number, command: string): Promise<Uint8Array> {
  try {
    return await readBounded(path, most_bytes);
  } catch (cause) {
    if (!(cause instanceof Unreadable)) throw cause;
    if (cause.is_gone) throw new NotFound(command, path, 'no such file', { cause });
    throw new PipelineError(command, path, cause.reason, { cause });
  }
}
