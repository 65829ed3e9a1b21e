import { join } from 'node:path';
import { formatFault, formatOfFiles, READ_MANIFESTS, versionFault, WRITTEN_FORMAT } from '../../schemas/data-format.ts';
import { newId } from '../../schemas/ids.ts';
import { layout } from '../../schemas/layout.ts';
import { MANIFEST_VERSION, type PublishedFile, RootName } from '../../schemas/manifest.ts';
import { timestamp } from '../../schemas/time.ts';
import { PipelineError } from '../error.ts';
import { readIfPresent, replaceFile } from '../files.ts';
import { listPartitions, readHead } from './manifests.ts';

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

/** Gives a new data root its name, once: by it readers distinguish a root that vanished from one that was never written. */
export async function nameRoot(dataRoot: string, now_ms: number): Promise<void> {
  if ((await readName(dataRoot)) !== null) return;
  await writeName(dataRoot, {
    manifest_version: MANIFEST_VERSION,
    root_id: newId('root', now_ms),
    created_at: timestamp(now_ms),
    format: await formatOfUnnamed(dataRoot),
  });
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
