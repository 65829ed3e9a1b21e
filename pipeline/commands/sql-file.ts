import { createWriteStream, existsSync, realpathSync } from 'node:fs';
import fs from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import type { Writable } from 'node:stream';
import { finished } from 'node:stream/promises';
import { contains } from '../../schemas/layout.ts';
import { Conflict, UsageError } from '../error.ts';
import { DRAFT_SUFFIX, isMissing, moveDurably, sync } from '../files.ts';

/** A file that a result is written to: under a draft's name until it is whole. */
export interface OutFile {
  readonly path: string;
  readonly draft: string;
  /** Writes the draft as a stream. */
  readonly stream: (write: (to: Writable) => Promise<void>) => Promise<void>;
  /** Puts the finished draft in its place. Throws Conflict when another file took it meanwhile. */
  readonly keep: () => Promise<void>;
  /** Removes the draft, if there is one. */
  readonly drop: () => Promise<void>;
}

/**
 * Prepares a file outside the data root; its folder is made. Throws UsageError for a path inside the data root, Conflict for a file
 * that is there already unless `force`.
 */
export async function openOutFile(given: string, dataRoot: string, force: boolean): Promise<OutFile> {
  requireOutside(given, dataRoot);
  await fs.mkdir(dirname(given), { recursive: true });
  // Links are followed once the folder is there: the data root may lie behind one.
  const path = join(await fs.realpath(dirname(given)), basename(given));
  requireOutside(path, realpathSync(dataRoot));
  const requireFree = () => {
    if (force || !existsSync(path)) return;
    throw new Conflict('sql', path, 'is there already, expected no file of that name, or --force to replace it');
  };
  requireFree();
  if ((await fs.lstat(path).catch(absent))?.isDirectory())
    throw new UsageError(`--out is '${given}', a folder, expected the name of a file`);
  const draft = `${path}.${process.pid}${DRAFT_SUFFIX}`;
  return {
    path,
    draft,
    stream: async (write) => {
      const to = createWriteStream(draft, { flags: 'wx' });
      const ended = finished(to);
      // A failure to open or to write is thrown below, also when `write` fails first.
      ended.catch(() => {});
      await write(to);
      to.end();
      await ended;
    },
    keep: async () => {
      requireFree();
      await sync(draft);
      await moveDurably(draft, path);
    },
    drop: () => fs.rm(draft, { force: true }),
  };
}

function requireOutside(path: string, dataRoot: string): void {
  if (contains(dataRoot, path))
    throw new UsageError(`--out is '${path}', inside the data root ${dataRoot}, expected a place outside of it`);
}

function absent(error: unknown): null {
  if (isMissing(error)) return null;
  throw error;
}
