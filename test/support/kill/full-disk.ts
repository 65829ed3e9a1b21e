import { existsSync } from 'node:fs';
import fsPromises from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';

/*
 * Loaded before a command with --import: as long as the file DISK_FULL_WHILE exists, nothing under DISK_FULL_UNDER can be
 * written, as on a full disk.
 */
const marker = process.env.DISK_FULL_WHILE as string;
const folder = process.env.DISK_FULL_UNDER as string;

function refuse(path: unknown): void {
  if (!String(path).startsWith(folder) || !existsSync(marker)) return;
  throw Object.assign(new Error(`ENOSPC: no space left on device, write '${path}'`), { code: 'ENOSPC' });
}

const open = fsPromises.open;
fsPromises.open = async (path, flags, mode) => {
  if (typeof flags === 'string' && flags !== 'r') refuse(path);
  return open(path, flags, mode);
};
const copyFile = fsPromises.copyFile;
fsPromises.copyFile = async (from, to, mode) => {
  refuse(to);
  return copyFile(from, to, mode);
};
syncBuiltinESMExports();
