import { isAbsolute, relative, sep } from 'node:path';

/**
 * True when a path is a folder itself or lies below it. Both absolute; names are compared whole, so `/data/archive-old`
 * does not lie in `/data/archive`. Links are not followed.
 */
export function contains(folder: string, path: string): boolean {
  const way = relative(folder, path);
  return way !== '..' && !way.startsWith(`..${sep}`) && !isAbsolute(way);
}
