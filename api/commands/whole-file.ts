import { statSync } from 'node:fs';
import { mkdtemp, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { EXIT } from '../../schemas/command-line.ts';
import { CommandError } from './cli.ts';

/**
 * Throws CommandError: conflict for an existing file without `force`, and for anything but a file, since a rename would replace a
 * device; not_found where the folder does not exist.
 */
export function refuseToReplace(command: string, file: string, { force = false }: { readonly force?: boolean }): void {
  const there = statSync(file, { throwIfNoEntry: false });
  if (there === undefined) {
    refuseNowhere(command, file);
    return;
  }
  if (!there.isFile()) throw new CommandError(EXIT.conflict, `${command} ${file}: is no file, expected one or none`);
  if (!force) throw new CommandError(EXIT.conflict, `${command} ${file}: exists, expected a new file or --force`);
}

/** Throws CommandError: usage for an empty name, not_found where the folder of a new file does not exist. */
export function refuseNowhere(command: string, file: string): void {
  if (file === '') throw new CommandError(EXIT.usage, `${command}: the name of the file is empty, expected one`);
  const folder = dirname(file);
  if (statSync(folder, { throwIfNoEntry: false })?.isDirectory() !== true)
    throw new CommandError(EXIT.not_found, `${command} ${file}: there is no folder ${folder}, expected one`);
}

/** Has a file made in a temporary folder and renames it once it is whole. A failure leaves the old file unchanged. */
export async function writeWhole<Made>(file: string, make: (path: string) => Promise<Made>): Promise<Made> {
  const folder = await mkdtemp(join(dirname(file), '.hail-making-'));
  try {
    const path = join(folder, 'file');
    const made = await make(path);
    await rename(path, file);
    return made;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
