import { existsSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';

const FOLDERS = [tmpdir(), '/dev/shm'].filter((path) => existsSync(path));

/** True where there are folders on two file systems. */
export const hasTwoDevices = new Set(FOLDERS.map((path) => statSync(path).dev)).size > 1;

/** A folder on another file system than a path. */
export function onOtherDevice(path: string): string {
  const found = FOLDERS.find((folder) => statSync(folder).dev !== statSync(path).dev);
  if (found === undefined) throw new RangeError(`${path} is on the one file system that there is`);
  return found;
}
