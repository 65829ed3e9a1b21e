import { constants } from 'node:fs';
import { open } from 'node:fs/promises';
import { asUnreadable, BadInput } from '../error.ts';

/**
 * Bytes of a regular file of at most `max_bytes`. Anything else is a BadInput and is not read.
 * Throws Unreadable when the file system does not give it (absent, not permitted): that is not the content's fault.
 */
export async function readBounded(path: string, max_bytes: number): Promise<Uint8Array> {
  // Opening a pipe waits until somebody writes into it, unless it is told not to.
  const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK).catch((error: unknown) => {
    throw asUnreadable(path, error);
  });
  try {
    const stats = await file.stat();
    // A device or a pipe has no size to check, and may never end.
    if (!stats.isFile()) throw new BadInput('read', path, 'not a regular file, expected one');
    const { size } = stats;
    if (size > max_bytes) throw new BadInput('read', path, `${size} bytes, expected at most ${max_bytes}`);
    return await file.readFile();
  } catch (error) {
    throw asUnreadable(path, error);
  } finally {
    await file.close();
  }
}
