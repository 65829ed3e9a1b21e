import { createHash, type Hash } from 'node:crypto';
import fs from 'node:fs/promises';
import { dirname } from 'node:path';
import { type ObjectStore, type Patience, StoreUnavailable } from './client.ts';

/** Files above this size are stored in parts. */
const LARGEST_WHOLE_BYTES = 64 * 1024 * 1024;
const PART_BYTES = 16 * 1024 * 1024;
const DOWNLOAD_TRIES = 3;
/** A download of which nothing comes for this long is given up, sooner where the patience is shorter. */
const SILENCE_MS = 20_000;

/** What the content of a downloaded file must be; null: not known. */
export interface ExpectedContent {
  readonly bytes: number | null;
  readonly sha256: string | null;
}

/** A file of this machine is not what it is expected to be. */
export class WrongContent extends Error {
  override name = 'WrongContent';
}

/** Stores a file under a key, above 64 MB in parts. Throws WrongContent, and stores nothing, when it is not as expected. */
export async function putFile(
  store: ObjectStore,
  key: string,
  path: string,
  expected: ExpectedContent = { bytes: null, sha256: null },
  patience?: Patience,
): Promise<void> {
  const { size } = await fs.stat(path);
  if (expected.bytes !== null && size !== expected.bytes)
    throw new WrongContent(`${path}: has ${size} bytes, expected ${expected.bytes}`);
  if (size > LARGEST_WHOLE_BYTES) return store.putParts(key, partsOf(path, expected), patience);
  const content = await fs.readFile(path);
  requireHash(path, createHash('sha256').update(content), expected);
  await store.put(key, content, patience);
}

function requireHash(path: string, hash: Hash, { sha256 }: ExpectedContent): void {
  const found = hash.digest('hex');
  if (sha256 !== null && found !== sha256)
    throw new WrongContent(`${path}: content has SHA-256 ${found}, expected ${sha256}`);
}

/** Throws WrongContent at its end when the content is not as expected. */
async function* partsOf(path: string, expected: ExpectedContent): AsyncGenerator<Uint8Array> {
  const file = await fs.open(path, 'r');
  const hash = createHash('sha256');
  try {
    for (;;) {
      const { bytesRead, buffer } = await file.read(Buffer.allocUnsafe(PART_BYTES), 0, PART_BYTES);
      if (bytesRead === 0) return requireHash(path, hash, expected);
      hash.update(buffer.subarray(0, bytesRead));
      yield buffer.subarray(0, bytesRead);
    }
  } finally {
    await file.close();
  }
}

/**
 * Copies an object to a file: under another name, checked, synced, then renamed, so that `path` is whole or absent. False when no
 * object has the key. Throws StoreUnavailable when the content is not the expected one in several tries.
 */
export async function downloadFile(
  store: ObjectStore,
  key: string,
  path: string,
  expected: ExpectedContent,
  patience?: Patience,
): Promise<boolean> {
  await fs.mkdir(dirname(path), { recursive: true });
  const draft = `${path}.${process.pid}-${drafts++}.part`;
  let fault: unknown = null;
  for (let tries = 0; tries < DOWNLOAD_TRIES; tries++) {
    try {
      const response = await store.open(key, patience);
      if (response === null) return false;
      const found = await writeBody(response, draft, Math.min(SILENCE_MS, patience?.patience_ms ?? SILENCE_MS));
      if (expected.bytes !== null && found.bytes !== expected.bytes)
        throw new Error(`${found.bytes} bytes came, expected ${expected.bytes}`);
      if (expected.sha256 !== null && found.sha256 !== expected.sha256)
        throw new Error(`content has SHA-256 ${found.sha256}, expected ${expected.sha256}`);
      await fs.rename(draft, path);
      return true;
    } catch (error) {
      await fs.rm(draft, { force: true });
      patience?.signal?.throwIfAborted();
      if (!(error instanceof Error) || isFinal(error)) throw error;
      fault = error;
    }
  }
  throw new StoreUnavailable(`GET ${store.name}/${key}: ${(fault as Error).message}`, { cause: fault });
}

let drafts = 0;

async function writeBody(
  response: Response,
  path: string,
  silence_ms: number,
): Promise<{ bytes: number; sha256: string }> {
  const hash = createHash('sha256');
  let bytes = 0;
  let is_silent = false;
  const body = response.body?.getReader();
  const silence = setTimeout(() => {
    is_silent = true;
    void body?.cancel();
  }, silence_ms);
  const file = await fs.open(path, 'w');
  try {
    for (let chunk = await body?.read(); chunk?.done === false; chunk = await body?.read()) {
      silence.refresh();
      hash.update(chunk.value);
      bytes += chunk.value.length;
      await file.writeFile(chunk.value);
    }
    if (is_silent) throw new Error(`nothing came for ${silence_ms / 1000} s after ${bytes} bytes`);
    const stated = response.headers.get('content-length');
    if (stated !== null && Number(stated) !== bytes) throw new Error(`${bytes} bytes came, expected ${stated}`);
    await file.sync();
  } finally {
    clearTimeout(silence);
    await file.close();
  }
  return { bytes, sha256: hash.digest('hex') };
}

/** Codes of a disk that takes no more: the error of a write to an open file names no path. */
const DISK_FULL = ['ENOSPC', 'EDQUOT', 'EFBIG'];

/** A fault that another download would meet, too: a refusal, a store that was asked for long, and one of this machine's disk. */
function isFinal(error: Error): boolean {
  if ('code' in error && DISK_FULL.includes(String(error.code))) return true;
  return 'status' in error || error instanceof StoreUnavailable || ('syscall' in error && 'path' in error);
}
