import { join } from 'node:path';
import { LATTICES, type Lattice } from '../../schemas/geo/lattice.ts';
import { newId } from '../../schemas/ids.ts';
import { layout } from '../../schemas/layout.ts';
import { MANIFEST_VERSION, RootName } from '../../schemas/manifest.ts';
import { timestamp } from '../../schemas/time.ts';
import { PipelineError } from '../error.ts';
import { readIfPresent, replaceFile } from '../files.ts';
import { readCurrent } from './manifests.ts';

/**
 * Gives a data root its name, once: by it readers distinguish a root that vanished from one that was never written. Returns the
 * root's lattice: that of its name, for a new root `wanted`, or else CONUS. A root in which nothing is published yet takes another
 * one; otherwise it throws PipelineError for another one than `wanted`.
 */
export async function nameRoot(path: string, wanted: Lattice | null, now_ms: number): Promise<Lattice> {
  const file = join(path, layout.root);
  const known = await readRootName(path);
  const own = latticeOf(known);
  if (known !== null && (wanted === null || wanted === own)) return own;
  if (known !== null && (await readCurrent(path)) !== null)
    throw new PipelineError(
      'publish',
      path,
      `holds data on the ${own.title} lattice (${own.name}), expected HAIL_LATTICE=${own.name} or none, found ${wanted?.name}`,
    );
  const lattice = wanted ?? own;
  const basics = known ?? {
    manifest_version: MANIFEST_VERSION,
    root_id: newId('root', now_ms),
    created_at: timestamp(now_ms),
  };
  // Absent stands for CONUS, as in roots from before there were others.
  const name: RootName = { ...basics, lattice: lattice === LATTICES.conus ? undefined : lattice.name };
  await replaceFile(file, `${JSON.stringify(name)}\n`);
  return lattice;
}

/** Lattice of a data root that is only read; CONUS where the root has no name yet. Throws PipelineError for a name that is none. */
export async function readLattice(path: string): Promise<Lattice> {
  return latticeOf(await readRootName(path));
}

function latticeOf(name: RootName | null): Lattice {
  return LATTICES[name?.lattice ?? LATTICES.conus.name];
}

async function readRootName(path: string): Promise<RootName | null> {
  const file = join(path, layout.root);
  const text = await readIfPresent(file);
  if (text === null) return null;
  try {
    return RootName.loose().parse(JSON.parse(text.toString()));
  } catch (cause) {
    throw new PipelineError('publish', file, 'is damaged, expected the name of a data root and a known lattice', {
      cause,
    });
  }
}
