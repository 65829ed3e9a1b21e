import { type FileHandle, open, readdir, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { LATTICES, type Lattice } from '../../schemas/geo/lattice.ts';
import { datesThrough, utcDate } from '../../schemas/time.ts';
import { PipelineError } from '../error.ts';
import { DRAFT_SUFFIX, makeFolder, moveDurably, sizeOf, sync } from '../files.ts';
import { type Answer, get, type HttpOptions, readBody, refusal } from './http.ts';
import { faultOf, MAX_UNPACKED_BYTES } from './integrity.ts';
import { type ListingPage, parseListing } from './listing.ts';
import { baseName, bucketPrefix, bucketStem, PROBSEVERE_PRODUCT, parseName, type SourceFile } from './names.ts';
import { inParallel } from './parallel.ts';
import { lookBack } from './plan.ts';
import { Transient, Unavailable, withRetries } from './retry.ts';
import { writeFault } from './write-fault.ts';

/** A file that is still in the bucket: `location` is its URL. */
export interface BucketFile extends SourceFile {
  /** Names the version of its content, with quotes; null when the listing has none. */
  readonly etag: string | null;
}

export interface ListBucket {
  /** Address of the bucket, without a closing slash. */
  readonly base_url: string;
  /** Its folder is listed; CONUS unless given. */
  readonly lattice?: Lattice;
  readonly products: readonly string[];
  /** First and last observation time, inclusive, epoch milliseconds. */
  readonly from_ms: number;
  readonly to_ms: number;
  readonly network?: HttpOptions;
}

export interface BucketListing {
  /** By time, then key. */
  readonly files: readonly BucketFile[];
  /** Keys that are no file of the asked products. */
  readonly unknown: readonly string[];
}

const LISTING_ALLOWED_MS = 30_000;
/** A page of 1000 objects takes less than a tenth of this. */
const MAX_LISTING_BYTES = 8 * 2 ** 20;
const LISTINGS_AT_ONCE = 4;
const DOWNLOADS_AT_ONCE = 6;
/** One attempt at a file may take this long, and longer for its size: slower than this is a stalled connection. */
const DOWNLOAD_ALLOWED_MS = 20_000;
const SLOWEST_BYTES_PER_S = 50_000;

/**
 * Files of the bucket in a span of time. Companions and ProbSevere are listed from a little before it,
 * so that the first scan finds its own; just after 00 UTC that is the previous day's folder.
 * Throws Unavailable when the bucket cannot be listed.
 */
export async function listBucket(ask: ListBucket): Promise<BucketListing> {
  const { lattice = LATTICES.conus } = ask;
  // ProbSevere exists for CONUS alone.
  const products = ask.products.filter((product) => product !== PROBSEVERE_PRODUCT || lattice === LATTICES.conus);
  const folders = products.flatMap((product) => {
    const from_ms = ask.from_ms - lookBack(product);
    return datesThrough(utcDate(from_ms), utcDate(ask.to_ms)).map((date) => ({ product, date, from_ms }));
  });
  const pages = await inParallel(folders, LISTINGS_AT_ONCE, async ({ product, date, from_ms }) => {
    const prefix = bucketPrefix(product, date, lattice);
    const begin = bucketStem(product, from_ms, lattice);
    const objects = await listPrefix(ask.base_url, prefix, begin.startsWith(prefix) ? begin : null, ask.network ?? {});
    return objects.map((object) => ({ object, product, prefix, from_ms }));
  });
  const files: BucketFile[] = [];
  const unknown: string[] = [];
  for (const { object, product, prefix, from_ms } of pages.flat()) {
    const { key, bytes, etag, modified_ms } = object;
    const named = parseName(key, lattice);
    // The key becomes a path of ours: only a plain name directly below its own folder is taken.
    if (named?.product !== product || key !== `${prefix}${baseName(key)}`) unknown.push(key);
    else if (named.time_ms >= from_ms && named.time_ms <= ask.to_ms)
      files.push({
        ...named,
        name: baseName(key),
        key,
        bytes,
        location: objectUrl(ask.base_url, key),
        etag,
        ...(modified_ms === null ? {} : { modified_ms }),
      });
  }
  return { files: files.sort((a, b) => a.time_ms - b.time_ms || (a.key < b.key ? -1 : 1)), unknown: unknown.sort() };
}

export interface DownloadRequest {
  readonly files: readonly BucketFile[];
  /** Folder that receives the bucket's layout. */
  readonly folder: string;
  readonly network?: HttpOptions;
  /** Called with each file once it is in the folder, in order of arrival. */
  readonly onFile?: (file: SourceFile) => void;
}

export interface Downloads {
  /** Files in the folder, in the order asked for. */
  readonly files: readonly SourceFile[];
  /** Files that the server did not deliver. */
  readonly failed: readonly { readonly file: BucketFile; readonly error: Unavailable }[];
}

/** Fetches files, a few at a time. An unavailable file does not stop the others; any other failure is thrown. */
export async function downloadAll({ files, folder, network = {}, onFile }: DownloadRequest): Promise<Downloads> {
  const fetched: SourceFile[] = [];
  const failed: { file: BucketFile; error: Unavailable }[] = [];
  const results = await inParallel(files, DOWNLOADS_AT_ONCE, async (file) => {
    try {
      const local = await downloadFile(file, folder, network);
      onFile?.(local);
      return local;
    } catch (error) {
      if (!(error instanceof Unavailable)) throw error;
      return { file, error };
    }
  });
  for (const result of results) {
    if ('error' in result) failed.push(result);
    else fetched.push(result);
  }
  return { files: fetched, failed };
}

/**
 * Fetches one file to `folder/<key>` and returns it there. The name appears only once the content is whole: size as
 * listed, and sound by `faultOf`. Until then it is a `.part` file named after its version, which the next attempt or the
 * next run continues. A file that is already there with its size is not fetched again.
 */
export async function downloadFile(file: BucketFile, folder: string, network: HttpOptions = {}): Promise<SourceFile> {
  const { product, time_ms, name, key, bytes } = file;
  const location = join(folder, key);
  try {
    if ((await sizeOf(location)) !== bytes) await fetchWhole(file, location, network);
  } catch (error) {
    if (error instanceof PipelineError || network.signal?.aborted) throw error;
    throw writeFault(location, error);
  }
  return { product, time_ms, name, key, bytes, location };
}

async function fetchWhole(file: BucketFile, location: string, network: HttpOptions): Promise<void> {
  if (file.bytes === 0) throw new Unavailable(file.location, 'object is empty, expected a raw file');
  if (file.bytes > MAX_UNPACKED_BYTES)
    throw new Unavailable(file.location, `listed with ${file.bytes} bytes, expected at most ${MAX_UNPACKED_BYTES}`);
  const part = `${location}.${versionWord(file)}${DRAFT_SUFFIX}`;
  await makeFolder(dirname(location));
  await dropOtherParts(location, part);
  await withRetries(() => fetchPart(file, part, network), network);
  await sync(part);
  await moveDurably(part, location);
}

async function listPrefix(base_url: string, prefix: string, startAfter: string | null, network: HttpOptions) {
  const objects: ListingPage['objects'][number][] = [];
  const tokens = new Set<string>();
  for (let token: string | null = null; ; ) {
    const url = listingUrl(base_url, prefix, startAfter, token);
    const page: ListingPage = await withRetries(() => fetchPage(url, network), network);
    objects.push(...page.objects);
    token = page.next_token;
    if (token === null) return objects;
    if (tokens.has(token))
      throw new Unavailable(url, `listing comes round in a circle after ${objects.length} objects`);
    tokens.add(token);
  }
}

function listingUrl(base_url: string, prefix: string, startAfter: string | null, token: string | null): string {
  const query = new URLSearchParams({ 'list-type': '2', prefix });
  if (token !== null) query.set('continuation-token', token);
  else if (startAfter !== null) query.set('start-after', startAfter);
  return `${base_url}/?${query}`;
}

async function fetchPage(url: string, network: HttpOptions): Promise<ListingPage> {
  return get(url, {}, LISTING_ALLOWED_MS, network, async (answer) => {
    if (answer.status !== 200) throw refusal(url, answer);
    const body = await readBody(url, answer, MAX_LISTING_BYTES, 'listing');
    const page = parseListing(body.toString('utf8'));
    if (page === null) throw new Transient(url, 'answer is no whole listing, expected ListBucketResult');
    return page;
  });
}

function objectUrl(base_url: string, key: string): string {
  return `${base_url}/${key.split('/').map(encodeURIComponent).join('/')}`;
}

/** One attempt to complete the `.part` file with sound content. Bytes that arrived stay for the next attempt. */
async function fetchPart(file: BucketFile, part: string, network: HttpOptions): Promise<void> {
  const have = (await sizeOf(part)) ?? 0;
  if (have !== file.bytes) await fetchRest(file, part, have, network);
  const arrived = (await sizeOf(part)) ?? 0;
  if (arrived !== file.bytes) throw new Transient(file.location, `${arrived} bytes arrived, expected ${file.bytes}`);
  const fault = await faultOf(part, file.name);
  if (fault === null) return;
  await rm(part);
  throw new Transient(file.location, fault);
}

async function fetchRest(file: BucketFile, part: string, have: number, network: HttpOptions): Promise<void> {
  const { location, bytes } = file;
  const resume = have > 0 && have < bytes;
  const headers: Record<string, string> = resume ? { range: `bytes=${have}-` } : {};
  if (resume && file.etag !== null) headers['if-range'] = file.etag;
  const allowed_ms = DOWNLOAD_ALLOWED_MS + Math.ceil((bytes / SLOWEST_BYTES_PER_S) * 1000);
  await get(location, headers, allowed_ms, network, async (answer) => {
    const start = await startOf(file, answer, part, have);
    checkLength(file, answer, bytes - start);
    await append(answer, part, start, file);
  });
}

/** Writes a body chunk by chunk: bytes that arrive before a connection breaks stay. */
async function append(answer: Answer, part: string, start: number, file: BucketFile): Promise<void> {
  let handle: FileHandle | undefined;
  let size = start;
  try {
    for await (const chunk of answer.body as AsyncIterable<Buffer>) {
      size += chunk.length;
      // A body may not fill the disk.
      if (size > file.bytes) throw new Transient(file.location, `body is longer than the listed ${file.bytes} bytes`);
      // Opened after the first chunk was read: an error of the body while it is not being read is lost.
      handle ??= await open(part, start === 0 ? 'w' : 'a');
      await handle.appendFile(chunk);
    }
  } finally {
    await handle?.close();
  }
}

/** Byte offset of the body of an answer; throws when the answer does not match the request. */
async function startOf(file: BucketFile, answer: Answer, part: string, have: number): Promise<number> {
  if (answer.status === 200) return 0;
  if (answer.status !== 206 && answer.status !== 416) throw refusal(file.location, answer);
  const expected = `bytes ${have}-${file.bytes - 1}/${file.bytes}`;
  const found = answer.headers['content-range'];
  if (answer.status === 206 && found === expected) return have;
  await rm(part, { force: true });
  throw new Transient(file.location, `server answers ${answer.status} with range '${found}', expected '${expected}'`);
}

function checkLength(file: BucketFile, answer: Answer, expected: number): void {
  const announced = answer.headers['content-length'];
  if (announced !== undefined && Number(announced) !== expected)
    throw new Transient(file.location, `server announces ${announced} bytes, expected ${expected}`);
}

/** Deletes `.part` files of other versions of this file. */
async function dropOtherParts(location: string, part: string): Promise<void> {
  const folder = dirname(location);
  const prefix = `${basename(location)}.`;
  for (const name of await readdir(folder)) {
    const path = join(folder, name);
    if (name.startsWith(prefix) && name.endsWith(DRAFT_SUFFIX) && path !== part) await rm(path, { force: true });
  }
}

function versionWord(file: BucketFile): string {
  const word = (file.etag ?? '').replaceAll(/[^\w-]/g, '').slice(0, 40);
  return word === '' ? String(file.bytes) : word;
}
