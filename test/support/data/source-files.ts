import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { gzipSync } from 'node:zlib';
import type { ExecutionContext } from 'ava';
import { baseName, bucketStem, parseName, type SourceFile } from '../../../pipeline/sources/names.ts';

/** A scratch folder that disappears with the test. */
export async function scratch(t: ExecutionContext): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'hail-sources-'));
  t.teardown(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

/** Writes a file below a folder and returns its path. */
export async function put(folder: string, key: string, content: string | Buffer): Promise<string> {
  const path = join(folder, key);
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, content);
  return path;
}

/** The smallest thing that is framed like a GRIB2 file: section 0, some content, the end mark. */
export function tinyGrib(content: string): Buffer {
  const bytes = Buffer.concat([Buffer.alloc(16), Buffer.from(content), Buffer.from('7777')]);
  bytes.write('GRIB', 0, 'latin1');
  bytes[7] = 2;
  bytes.writeBigUInt64BE(BigInt(bytes.length), 8);
  return bytes;
}

/** The same, packed; content that hardly shrinks, so that it can be cut anywhere. */
export function tinyGrid(content: string): Buffer {
  return gzipSync(tinyGrib(content), { level: 0 });
}

/** A source file that exists in name only. Times are `HH:MM:SS` on 2024-02-28, or complete instants. */
export function named(product: string, time: string, bytes = 1000, folder = ''): SourceFile {
  const key = `${folder}${bucketKey(product, instant(time))}`;
  const found = parseName(key);
  if (!found) throw new RangeError(`'${key}' is no name of a raw file`);
  return { ...found, name: baseName(key), key, bytes, location: `/source/${key}` };
}

/** Key of a product at a time in the layout of the public bucket. */
export function bucketKey(product: string, time_ms: number): string {
  return `${bucketStem(product, time_ms)}${product === 'ProbSevere' ? '.json' : '.grib2.gz'}`;
}

export function instant(time: string): number {
  return Date.parse(time.length === 8 ? `2024-02-28T${time}Z` : time);
}
