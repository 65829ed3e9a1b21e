import fs from 'node:fs/promises';
import { join } from 'node:path';
import { gunzipSync, gzipSync } from 'node:zlib';
import type { ExecutionContext } from 'ava';
import { bucketKey, parseName, type SourceFile } from '../../../pipeline/sources/names.ts';
import { type RawScan, scratch } from './world.ts';

/** Products that scans take where they are given, with their category and number in the table of MRMS. */
const OPTIONAL = {
  'Reflectivity_-20C': [3, 56],
  ReflectivityAtLowestAltitude: [3, 57],
  'MergedAzShear_0-2kmAGL': [3, 0],
} as const;

/** The product whose values stand in for those of the others. */
const STAND_IN = 'MergedReflectivityQCComposite';

/** The same scans with the optional products, each of which has the values of the composite reflectivity. */
export async function withOptionalProducts(t: ExecutionContext, scans: readonly RawScan[]): Promise<RawScan[]> {
  const folder = await scratch(t, 'optional');
  await fs.mkdir(folder, { recursive: true });
  return Promise.all(
    scans.map(async (scan) => {
      const composite = scan.files.find(({ product }) => product === STAND_IN);
      if (composite === undefined) throw new Error(`${scan.scan_id} has no ${STAND_IN}`);
      const more = Object.keys(OPTIONAL).map((product) =>
        relabelled(folder, composite, product as keyof typeof OPTIONAL),
      );
      return { ...scan, files: [...scan.files, ...(await Promise.all(more))] };
    }),
  );
}

async function relabelled(folder: string, file: SourceFile, product: keyof typeof OPTIONAL): Promise<SourceFile> {
  const message = gunzipSync(await fs.readFile(file.location));
  // Section 4 names the product: octets 10 and 11 are category and number.
  let at = 16;
  while (message[at + 4] !== 4) at += message.readUInt32BE(at);
  [message[at + 9], message[at + 10]] = OPTIONAL[product];
  const bytes = gzipSync(message);
  const key = bucketKey(product, file.time_ms);
  const name = key.slice(key.lastIndexOf('/') + 1);
  if (parseName(name)?.product !== product) throw new Error(`${name} is not read as a file of ${product}`);
  const location = join(folder, name);
  await fs.writeFile(location, bytes);
  return { product, time_ms: file.time_ms, name, key, bytes: bytes.length, location };
}
