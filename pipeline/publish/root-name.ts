import { join } from 'node:path';
import { formatFault, formatOfFiles, READ_MANIFESTS, versionFault, WRITTEN_FORMAT } from '../../schemas/data-format.ts';
import { isOnLattice, LATTICES, type Lattice } from '../../schemas/geo/lattice.ts';
import { newId } from '../../schemas/ids.ts';
import { layout } from '../../schemas/layout.ts';
import { MANIFEST_VERSION, type PublishedFile, RootName } from '../../schemas/manifest.ts';
import { detections } from '../../schemas/tables/radar.ts';
import { timestamp } from '../../schemas/time.ts';
import { PipelineError } from '../error.ts';
import { readIfPresent, replaceFile } from '../files.ts';
import { listPartitions, readCurrent, readHead } from './manifests.ts';

const PROGRAM = 'hail-pipeline';

/** A data root, or its name, is of a version that this release cannot read; nothing in it is judged. */
export class OtherFormat extends PipelineError {
  override name = 'OtherFormat';
}

/** A data root was raised to a newer data format: releases that read only older ones no longer read it. */
export interface FormatRaise {
  readonly from: number;
  readonly to: number;
}

/**
 * Throws OtherFormat when this release cannot read a data root, and PipelineError when `root.json` is damaged. A root without the
 * file, and one that does not exist, pass. Call it before anything is read or written.
 */
export async function requireReadableRoot(dataRoot: string): Promise<void> {
  await readName(dataRoot);
}

/**
 * Gives a data root its name, once: by it readers distinguish a root that vanished from one that was never written. Returns the
 * root's lattice: that of its name, for a new root `wanted`, or else CONUS. A root in which nothing is published yet takes another
 * one; otherwise it throws PipelineError for another one than `wanted`, and where a root that lost its name holds hail that does
 * not lie on the lattice.
 */
export async function nameRoot(dataRoot: string, wanted: Lattice | null, now_ms: number): Promise<Lattice> {
  const name = await readName(dataRoot);
  const own = latticeOf(name);
  if (name !== null && (wanted === null || wanted === own)) return own;
  if (name !== null && (await readCurrent(dataRoot)) !== null)
    throw new PipelineError(
      'publish',
      dataRoot,
      `holds data on the ${own.title} lattice (${own.name}), expected HAIL_LATTICE=${own.name} or none, found ${wanted?.name}`,
    );
  const lattice = wanted ?? own;
  const outside = name === null ? await fileOutside(dataRoot, lattice) : null;
  if (outside !== null)
    throw new PipelineError(
      'publish',
      join(dataRoot, layout.root),
      `is missing, and ${outside} does not lie on the ${lattice.title} lattice (${lattice.name}): restore the file from a backup, or set HAIL_LATTICE to the lattice that the root had`,
    );
  const basics = name?.content ?? {
    manifest_version: MANIFEST_VERSION,
    root_id: newId('root', now_ms),
    created_at: timestamp(now_ms),
  };
  // Absent stands for CONUS, as in roots from before there were others, which releases of the first format take for all.
  const isUsual = lattice === LATTICES.conus;
  const format = isUsual && name !== null ? name.known.format : await formatOfUnnamed(dataRoot);
  await writeName(dataRoot, { ...basics, format, lattice: isUsual ? undefined : lattice.name });
  return lattice;
}

/** Lattice of a data root that is only read; CONUS where the root has no name yet. Throws PipelineError for a name that is none. */
export async function readLattice(dataRoot: string): Promise<Lattice> {
  return latticeOf(await readName(dataRoot));
}

function latticeOf(name: { readonly known: RootName } | null): Lattice {
  return LATTICES[name?.known.lattice ?? LATTICES.conus.name];
}

/**
 * Raises the data format of a root to what readers of some files need, before a manifest names them; null when the root has that
 * format already. A kill right after it leaves a root that older releases refuse without need, never one that they misread.
 */
export async function raiseFormat(
  dataRoot: string,
  files: Iterable<Pick<PublishedFile, 'table' | 'schema_version'>>,
): Promise<FormatRaise | null> {
  const to = formatOfFiles(files);
  if (to === 1) return null;
  const name = await readName(dataRoot);
  // Without its name a root is not this one any more: the check of its lock says so.
  if (name === null) return null;
  const from = name.known.format ?? 1;
  if (from >= to) return null;
  await writeName(dataRoot, { ...name.content, format: to });
  return { from, to };
}

/** A root without published lists is of the format that is written now; the first releases wrote lists without naming the root. */
async function formatOfUnnamed(dataRoot: string): Promise<number> {
  const { all } = await listPartitions(dataRoot);
  if (all.length === 0) return WRITTEN_FORMAT;
  let format = 1;
  for (const partition of all) {
    const head = await readHead(dataRoot, partition);
    format = Math.max(format, formatOfFiles(head?.files ?? []));
  }
  return format;
}

/** A published file with hail that does not lie on a lattice: rows and columns would be read as other places; null without one. */
async function fileOutside(dataRoot: string, lattice: Lattice): Promise<string | null> {
  const { all } = await listPartitions(dataRoot);
  for (const partition of all) {
    const head = await readHead(dataRoot, partition);
    const outside = head?.files.find(({ table, bbox }) => {
      if (table !== detections.name || bbox === null) return false;
      const [west, south, east, north] = bbox;
      return !isOnLattice(lattice, { lat: south, lon: west }) || !isOnLattice(lattice, { lat: north, lon: east });
    });
    if (outside !== undefined) return outside.path;
  }
  return null;
}

async function writeName(dataRoot: string, name: RootName | Readonly<Record<string, unknown>>): Promise<void> {
  await replaceFile(join(dataRoot, layout.root), `${JSON.stringify(name)}\n`);
}

/** The name of a root, with every field of its file; null for a root without one. */
async function readName(dataRoot: string): Promise<ReadName | null> {
  const path = join(dataRoot, layout.root);
  const text = await readIfPresent(path);
  return text === null ? null : parseName(path, text);
}

/** The name of a root and every field of its file. */
interface ReadName {
  readonly known: RootName;
  readonly content: Record<string, unknown>;
}

/** The name in a file; throws OtherFormat for a version that this release cannot read, PipelineError for a damaged file. */
export function parseName(path: string, text: string): ReadName {
  const content = contentOf(path, text);
  const versions = [content.format ?? 1, content.manifest_version];
  const fault =
    formatFault(content, PROGRAM) ??
    versionFault('manifest_version', content.manifest_version, READ_MANIFESTS, PROGRAM);
  if (fault !== null)
    throw new (versions.every(Number.isInteger) ? OtherFormat : PipelineError)('publish', path, fault);
  const known = RootName.safeParse(content);
  if (known.success) return { known: known.data, content };
  const [issue] = known.error.issues;
  const reason = `is damaged (${issue?.path.join('.')}: ${issue?.message}): restore the file from a backup`;
  throw new PipelineError('publish', path, reason, { cause: known.error });
}

function contentOf(path: string, text: string): Record<string, unknown> {
  let content: unknown;
  try {
    content = JSON.parse(text);
  } catch (cause) {
    throw new PipelineError('publish', path, 'is not JSON: restore the file from a backup', { cause });
  }
  if (typeof content === 'object' && content !== null && !Array.isArray(content)) return { ...content };
  throw new PipelineError('publish', path, 'is not a JSON object: restore the file from a backup');
}
