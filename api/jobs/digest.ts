import { createHash } from 'node:crypto';
import { type FileHandle, open, stat } from 'node:fs/promises';
import { LRUCache } from 'lru-cache';
import { memoize } from '../memoize.ts';

/** Files whose SHA-256 is remembered, some 400 bytes each. */
const FILES_KEPT = 4096;
/** Files that are read at once: no more than the threads that read them. */
const AT_ONCE = 4;

/** By path and what else tells one content from another, read longest ago first. */
const sha256OfFile = new LRUCache<string, Promise<string>>({ max: FILES_KEPT });
const waiting: (() => void)[] = [];
let reading = 0;

/** Size in bytes and SHA-256, hex, of an open file, read piece by piece. */
export async function fileDigest(handle: FileHandle): Promise<{ readonly bytes: number; readonly sha256: string }> {
  const digest = createHash('sha256');
  let bytes = 0;
  for await (const chunk of handle.createReadStream({ autoClose: false }) as AsyncIterable<Buffer>) {
    digest.update(chunk);
    bytes += chunk.length;
  }
  return { bytes, sha256: digest.digest('hex') };
}

/**
 * SHA-256, hex, of a file. It is read when this process is asked for the first time, for all who ask meanwhile, and again once
 * somebody has written to it, moved it or put another in its place; what a disk does to bytes unbidden later on is not seen.
 * Throws what the system says of a file that cannot be read.
 */
export async function rememberedSha256(path: string): Promise<string> {
  const { dev, ino, size, mtimeNs, ctimeNs } = await stat(path, { bigint: true });
  const identity = [path, dev, ino, size, mtimeNs, ctimeNs].join(' ');
  return await memoize(sha256OfFile, identity, () => inTurn(() => sha256Of(path)));
}

async function sha256Of(path: string): Promise<string> {
  const handle = await open(path, 'r');
  try {
    return (await fileDigest(handle)).sha256;
  } finally {
    await handle.close();
  }
}

async function inTurn<Result>(work: () => Promise<Result>): Promise<Result> {
  if (reading < AT_ONCE) reading += 1;
  else await new Promise<void>((resolve) => waiting.push(resolve));
  try {
    return await work();
  } finally {
    // Whoever is next takes the place over.
    const next = waiting.shift();
    if (next === undefined) reading -= 1;
    else next();
  }
}
