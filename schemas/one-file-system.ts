import { layout } from './layout.ts';

/** Folders into which finished files are moved in one step, which no move between file systems is. */
const MOVED_INTO = [layout.manifests, layout.tables, layout.tiles, layout.live, layout.state] as const;

/** A folder of a data root that lies on another file system than the root itself, and what is wrong with that. */
export interface ForeignFolder {
  readonly path: string;
  readonly reason: string;
}

/**
 * Folders of a data root that a link or a mount puts on another file system; [] for none. `device` returns the file system of a path
 * below the root, '' for the root itself, by its number; null where there is nothing.
 */
export function foreignFolders(device: (path: string) => number | null): ForeignFolder[] {
  const own = device('');
  return MOVED_INTO.filter((path) => own !== null && ![own, null].includes(device(path))).map((path) => ({
    path,
    reason:
      'lies on another file system than its data root, expected one file system: files are moved into it in one step',
  }));
}
