import { join } from 'node:path';
import type { z } from 'zod';
import type { Table } from '../../schemas/columns.ts';
import { DATA_FORMAT, formatFault } from '../../schemas/data-format.ts';
import { Head } from '../../schemas/head.ts';
import { newId } from '../../schemas/ids.ts';
import { layout } from '../../schemas/layout.ts';
import { Current, MANIFEST_VERSION, Manifest, RootName } from '../../schemas/manifest.ts';
import { timestamp } from '../../schemas/time.ts';
import { PipelineError } from '../error.ts';
import { namesIn, readIfPresent, replaceFile } from '../files.ts';

/** The newest manifest of a partition (a storm date, `month-YYYY-MM`, `collection-…`, or `undated`); null when nothing is published for it. */
export async function readNewest(dataRoot: string, partition: string): Promise<Manifest | null> {
  const head = await readHead(dataRoot, partition);
  return head === null ? null : readManifestOf(dataRoot, head);
}

/** The manifest that a head names; throws when it does not exist. */
export async function readManifestOf(
  dataRoot: string,
  { partition, commit }: Pick<Head, 'partition' | 'commit'>,
): Promise<Manifest> {
  const manifest = await readManifest(dataRoot, partition, commit);
  if (manifest !== null) return manifest;
  throw new PipelineError('publish', layout.manifest(partition, commit), 'is missing, and its head names it');
}

/** The head of a partition; null when nothing is published for it. Throws PipelineError for a lost head. */
export async function readHead(dataRoot: string, partition: string): Promise<Head | null> {
  const path = layout.head(partition);
  const head = await readRecord(dataRoot, path, Head);
  const names = head === null ? await namesIn(join(dataRoot, layout.manifestFolder(partition))) : [];
  // A first commit that was killed leaves manifest 1 without a head.
  if (names.some((name) => Number.parseInt(name, 10) > 1))
    throw new PipelineError('publish', path, 'is missing, and manifests are there: restore the file from a backup');
  return head;
}

/** A manifest by its number; null when it does not exist. */
export async function readManifest(dataRoot: string, partition: string, commit: number): Promise<Manifest | null> {
  return readRecord(dataRoot, layout.manifest(partition, commit), Manifest);
}

/** `current.json`; null on an empty data root. */
export async function readCurrent(dataRoot: string): Promise<Current | null> {
  return readRecord(dataRoot, layout.current, Current);
}

/** Partitions that have manifests, sorted; `all`: storm dates first, then months, then collections, then the static tables. */
export async function listPartitions(dataRoot: string) {
  const names = await namesIn(join(dataRoot, layout.manifests));
  const dates = names.filter((name) => /^\d{4}-\d{2}-\d{2}$/.test(name));
  const months = names.filter((name) => /^month-\d{4}-\d{2}$/.test(name)).map((name) => name.slice('month-'.length));
  const statics = names.filter((name) => name === layout.staticPartition);
  const collections = names.filter((name) => name.startsWith(layout.collectionPartition('')));
  return { dates, months, all: [...dates, ...months.map(layout.monthPartition), ...collections, ...statics] };
}

/** Paths of the published files of a table in a partition; none when nothing is published there. */
export async function publishedPaths(dataRoot: string, partition: string, { name }: Table): Promise<string[]> {
  const head = await readHead(dataRoot, partition);
  return head === null ? [] : tablePaths(dataRoot, head, name);
}

/** Absolute paths of a manifest's files of one table, in the order of their scans. */
export function tablePaths(dataRoot: string, manifest: Pick<Manifest, 'files'>, table: string): string[] {
  return manifest.files
    .filter((file) => file.table === table)
    .sort((a, b) => ((a.first_scan ?? '') < (b.first_scan ?? '') ? -1 : 1))
    .map((file) => join(dataRoot, file.path));
}

async function readRecord<Shape extends z.ZodType>(
  dataRoot: string,
  path: string,
  shape: Shape,
): Promise<z.infer<Shape> | null> {
  const content = await readIfPresent(join(dataRoot, path));
  try {
    return content === null ? null : shape.parse(JSON.parse(content));
  } catch (cause) {
    const noun = path === layout.current ? 'switch' : 'manifest';
    throw new PipelineError('publish', path, `is not a readable ${noun} of this version`, { cause });
  }
}

/** This release does not read the data format of a root. */
export class OtherFormat extends PipelineError {
  override name = 'OtherFormat';
}

/**
 * The name of a data root; null for a root without one. Throws OtherFormat for a root of another data format, and PipelineError for
 * a damaged file. Call it before anything is read or written.
 */
export async function readRootName(dataRoot: string): Promise<RootName | null> {
  const path = join(dataRoot, layout.root);
  const text = await readIfPresent(path);
  if (text === null) return null;
  try {
    const content = JSON.parse(text);
    const fault = formatFault(content, 'hail-pipeline');
    if (fault !== null) throw new OtherFormat('publish', path, fault);
    return RootName.parse(content);
  } catch (cause) {
    if (cause instanceof OtherFormat) throw cause;
    throw new PipelineError('publish', path, 'is damaged: restore the file from a backup', { cause });
  }
}

/**
 * Gives a new data root its name, once: by it readers distinguish a root that vanished from one that was never written. Throws
 * PipelineError for a root that has lost its name.
 */
export async function nameRoot(dataRoot: string, now_ms: number): Promise<void> {
  if ((await readRootName(dataRoot)) !== null) return;
  const path = join(dataRoot, layout.root);
  if ((await listPartitions(dataRoot)).all.length > 0)
    throw new PipelineError('publish', path, 'is missing, and manifests are there: restore the file from a backup');
  const name: RootName = {
    manifest_version: MANIFEST_VERSION,
    root_id: newId('root', now_ms),
    created_at: timestamp(now_ms),
    format: DATA_FORMAT,
  };
  await replaceFile(path, `${JSON.stringify(name)}\n`);
}
