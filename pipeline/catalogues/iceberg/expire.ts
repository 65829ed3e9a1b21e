import fs from 'node:fs/promises';
import { join } from 'node:path';
import { namesIn } from '../../files.ts';
import { readManifestList } from './avro-files.ts';
import { fileName } from './manifest-files.ts';
import { readMetadata, readNewestMetadata, replacedAt, VERSION_HINT, versionIn } from './table-metadata.ts';

/**
 * Deletes the files of a table's metadata that no reader can be using: those that neither the newest metadata name nor any that
 * were replaced after `oldest_ms`, epoch milliseconds. Returns how many files and bytes.
 */
export async function expireTable(folder: string, oldest_ms: number): Promise<{ files: number; bytes: number }> {
  const expired = { files: 0, bytes: 0 };
  const kept = await namesInUse(folder, oldest_ms);
  if (kept === null) return expired;
  for (const name of await namesIn(folder)) {
    if (kept.has(name)) continue;
    const facts = await fs.stat(join(folder, name));
    if (facts.mtimeMs >= oldest_ms) continue;
    await fs.rm(join(folder, name));
    expired.files += 1;
    expired.bytes += facts.size;
  }
  return expired;
}

/** Names of the files that metadata in use name; null when that cannot be told, and nothing may be deleted. */
async function namesInUse(folder: string, oldest_ms: number): Promise<Set<string> | null> {
  const newest = await readNewestMetadata(folder);
  if (newest.metadata === null) return null;
  const kept = new Set([VERSION_HINT, ...newest.metadata['metadata-log'].map((one) => fileName(one['metadata-file']))]);
  const lists = new Set<string>();
  for (const name of await namesIn(folder)) {
    const version = versionIn(name);
    if (version === null) continue;
    const replaced_ms = version === newest.version ? null : await replacedAt(folder, version);
    if (replaced_ms !== null ? replaced_ms < oldest_ms : version !== newest.version) continue;
    kept.add(name);
    for (const one of (await readMetadata(folder, version))?.snapshots ?? []) lists.add(fileName(one['manifest-list']));
  }
  for (const list of lists) {
    kept.add(list);
    try {
      for (const { manifest_path } of await readManifestList(join(folder, list))) kept.add(fileName(manifest_path));
    } catch {
      // The catalogue is made anew when its root is opened next; until then nothing may be missed.
      return null;
    }
  }
  return kept;
}
