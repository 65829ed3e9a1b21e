import { mkdirSync, symlinkSync } from 'node:fs';
import { tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';
import { layout } from '../../../schemas/layout.ts';

/** Cache folder of the base map for all tests of this user: it takes seconds to make, and is the same everywhere. */
export const BASEMAP_FOLDER = join(tmpdir(), `hail-test-basemap-${userInfo().uid}`);

/** Gives a data root the base map of the tests. */
export function linkBasemap(data_root: string): string {
  mkdirSync(BASEMAP_FOLDER, { recursive: true, mode: 0o700 });
  symlinkSync(BASEMAP_FOLDER, join(data_root, layout.basemap));
  return data_root;
}
