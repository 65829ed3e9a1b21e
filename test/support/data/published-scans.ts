import fs from 'node:fs/promises';
import { gunzipSync, gzipSync } from 'node:zlib';
import type { ExecutionContext } from 'ava';
import { contentOf } from './content.ts';
import { altered, NOW_MS, publishedRoot, type RawScan, scratch } from './world.ts';

/** The scans without some of them, by number. */
export function without(scans: readonly RawScan[], ...numbers: number[]): RawScan[] {
  return scans.filter((_, index) => !numbers.includes(index));
}

/** A root with these scans published, and what it holds. */
export async function published(t: ExecutionContext, scans: readonly RawScan[], now_ms = NOW_MS) {
  return { root: await publishedRoot(t, scans, { now_ms }), content: await contentOf(scans, { now_ms }) };
}

/** The MESH file of a scan packed anew: a larger file takes the place of a smaller one, and what it says is the same. */
export async function packedAnew(t: ExecutionContext, scan: RawScan | undefined) {
  const mesh = scan?.files[0] as RawScan['files'][number];
  const packed = gzipSync(gunzipSync(await fs.readFile(mesh.location)), { level: 0 });
  // The name of a file in the header of gzip (flag 8): a longer file with the same content, however well it packs.
  const anew = Buffer.concat([packed.subarray(0, 3), Buffer.of(8), packed.subarray(4, 10), Buffer.from('anew\0')]);
  return altered(await scratch(t, 'anew'), mesh, Buffer.concat([anew, packed.subarray(10)]));
}
