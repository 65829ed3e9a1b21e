import { join } from 'node:path';
import { DATA_FORMAT, formatFault } from '../../schemas/data-format.ts';
import { newId } from '../../schemas/ids.ts';
import { layout } from '../../schemas/layout.ts';
import { MANIFEST_VERSION, RootName } from '../../schemas/manifest.ts';
import { timestamp } from '../../schemas/time.ts';
import { PipelineError } from '../error.ts';
import { readIfPresent, replaceFile } from '../files.ts';
import { listPartitions } from './manifests.ts';

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
  const damaged = (cause: unknown) =>
    new PipelineError('publish', path, 'is damaged: restore the file from a backup', { cause });
  let content: unknown;
  try {
    content = JSON.parse(text);
  } catch (cause) {
    throw damaged(cause);
  }
  const fault = formatFault(content, 'hail-pipeline');
  if (fault !== null) throw new OtherFormat('publish', path, fault);
  const name = RootName.safeParse(content);
  if (!name.success) throw damaged(name.error);
  return name.data;
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
