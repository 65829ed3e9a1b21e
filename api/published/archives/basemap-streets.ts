import { createHash } from 'node:crypto';
import { open } from 'node:fs/promises';
import { isPmtiles } from '../../../schemas/geo/pmtiles.ts';
import { SettingsError } from '../../config.ts';

/** An archive on disk; its name changes with its content. */
export type MapArchive = Readonly<{ name: string; path: string; bytes: number }>;

/**
 * A street map that the operator provides: a file that is served here, or addresses that browsers read, between spaces: an archive,
 * or a style, that for dark screens, and whatever these load from.
 */
export type Streets = MapArchive | string;

/** True for addresses of MapLibre styles, false for an archive. */
export const isStyle = (streets: Streets): boolean =>
  typeof streets === 'string' && !new URL(streets.split(' ')[0] as string).pathname.endsWith('.pmtiles');

const HEADER_BYTES = 127;
const NAME_LETTERS = 16;

/**
 * Opens the setting HAIL_BASEMAP, a path or addresses; null without one. The name of a file changes with its size, time and header:
 * archives of a continent are too large to hash. Throws SettingsError for a path without an archive.
 */
export async function openStreets(path: string | null): Promise<Streets | null> {
  if (path === null || path.includes('://')) return path;
  const file = await open(path).catch((cause: unknown) => {
    throw new SettingsError(`HAIL_BASEMAP is '${path}': it cannot be opened, expected a PMTiles file`, { cause });
  });
  try {
    const stats = await file.stat();
    const { buffer, bytesRead } = stats.isFile()
      ? await file.read({ buffer: Buffer.alloc(HEADER_BYTES), position: 0 })
      : { buffer: Buffer.alloc(0), bytesRead: 0 };
    if (bytesRead !== HEADER_BYTES || !isPmtiles(buffer))
      throw new SettingsError(`HAIL_BASEMAP is '${path}': it does not begin like PMTiles 3, expected such a file`);
    const mark = createHash('sha256').update(`${stats.size} ${stats.mtimeMs} `).update(buffer).digest('hex');
    return { name: `streets-${mark.slice(0, NAME_LETTERS)}.pmtiles`, path, bytes: stats.size };
  } finally {
    await file.close();
  }
}
