import { readdirSync } from 'node:fs';
import { join, relative } from 'node:path';
import { layout } from '../../../schemas/layout.ts';
import type { ObjectStore } from '../../../schemas/object-store/client.ts';
import { putFile } from '../../../schemas/object-store/files.ts';

/** Copies a published data root into a store in the order of a commit: data, manifests, heads, the pointer last. */
export async function putRoot(store: ObjectStore, root: string): Promise<void> {
  const paths = readdirSync(root, { recursive: true, withFileTypes: true })
    .filter((item) => item.isFile())
    .map((item) => relative(root, join(item.parentPath, item.name)))
    .filter((path) => PUBLISHED.test(path))
    .toSorted((a, b) => rank(a) - rank(b));
  for (const path of paths) await putFile(store, path, join(root, path));
}

const PUBLISHED = /^((tables|tiles|live|state|manifests)\/|(root|feeds|current)\.json$)/;

function rank(path: string): number {
  if (path === layout.current) return 3;
  if (path.endsWith('/head.json')) return 2;
  return path.startsWith(layout.manifests) ? 1 : 0;
}
