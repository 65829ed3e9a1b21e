import { open } from 'node:fs/promises';
import { BadInput } from '../error.ts';

/**
 * Bytes of a file of at most `max_bytes`. A longer file is a BadInput and is not read.
 * Errors of the file system (absent, not readable) pass through: they are not the content's fault.
 */
export async function readBounded(path: string, max_bytes: number): Promise<Uint8Array> {
  const file = await open(path);
  try {
    const { size } = await file.stat();
    if (size > max_bytes) throw new BadInput('read', path, `${size} bytes, expected at most ${max_bytes}`);
    return await file.readFile();
  } finally {
    await file.close();
  }
}
