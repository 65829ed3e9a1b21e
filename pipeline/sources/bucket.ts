import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { datesThrough, utcDate } from '../../schemas/time.ts';
import { DRAFT_SUFFIX, moveDurably, sizeOf, writeSynced, writing } from '../files.ts';
import { fetchOnce, type HttpOptions, Transient, Unavailable, withRetries } from './http.ts';
import { faultOf, MAX_UNPACKED_BYTES } from './integrity.ts';
import { baseName, bucketPrefix, bucketStem, lookBack, parseName, type SourceFile } from './names.ts';
import { inParallel } from './parallel.ts';

interface ListBucket {
  /** Address of the bucket, without a closing slash. */
  readonly base_url: string;
  readonly products: readonly string[];
  /** First and last observation time, inclusive, epoch milliseconds. */
  readonly from_ms: number;
  readonly to_ms: number;
  readonly network?: HttpOptions;
}

const LISTING_ALLOWED_MS = 30_000;
/** A page of 1000 objects takes less than a tenth of this. */
const MAX_LISTING_BYTES = 8 * 2 ** 20;
const LISTINGS_AT_ONCE = 4;
const DOWNLOADS_AT_ONCE = 6;
/** Bound on one attempt at a file, longer for its size: a slower connection has stalled. */
const DOWNLOAD_ALLOWED_MS = 20_000;
const SLOWEST_BYTES_PER_S = 50_000;

/**
 * Files of the bucket in a span of time, located by URL, by time, then key; and the keys of no asked product. Companions and ProbSevere
 * are listed from a little before it, so that the first scan finds its own: just after 00 UTC in the previous day's folder.
 * Throws Unavailable when the bucket cannot be listed.
 */
export async function listBucket(ask: ListBucket) {
  const folders = ask.products.flatMap((product) => {
    const from_ms = ask.from_ms - lookBack(product);
    return datesThrough(utcDate(from_ms), utcDate(ask.to_ms)).map((date) => ({ product, date, from_ms }));
  });
  const pages = await inParallel(folders, LISTINGS_AT_ONCE, async ({ product, date, from_ms }) => {
    const prefix = bucketPrefix(product, date);
    const begin = bucketStem(product, from_ms);
    const objects = await listPrefix(ask.base_url, prefix, begin.startsWith(prefix) ? begin : null, ask.network ?? {});
    return objects.map((object) => ({ object, product, prefix, from_ms }));
  });
  const files: SourceFile[] = [];
  const unknown: string[] = [];
  for (const { object, product, prefix, from_ms } of pages.flat()) {
    const { key } = object;
    const named = parseName(key);
    // The key becomes a path of ours: only a plain name directly below its own folder is taken.
    if (named?.product !== product || key !== `${prefix}${baseName(key)}`) unknown.push(key);
    else if (named.time_ms >= from_ms && named.time_ms <= ask.to_ms)
      files.push({ ...named, ...object, name: baseName(key), location: `${ask.base_url}/${encodeURI(key)}` });
  }
  return { files: files.sort((a, b) => a.time_ms - b.time_ms || (a.key < b.key ? -1 : 1)), unknown: unknown.sort() };
}

interface DownloadRequest {
  readonly files: readonly SourceFile[];
  /** Folder that receives the bucket's layout. */
  readonly folder: string;
  readonly network?: HttpOptions;
  /** Called with each file once it is in the folder, in order of arrival. */
  readonly onFile?: (file: SourceFile) => void;
}

/** Fetches files, a few at a time, in the order asked for. The server does not deliver those of `failed`; any other failure is thrown. */
export async function downloadAll({ files, folder, network = {}, onFile }: DownloadRequest) {
  const failed: { readonly file: SourceFile; readonly error: Unavailable }[] = [];
  const fetched = await inParallel(files, DOWNLOADS_AT_ONCE, async (file) => {
    try {
      const local = await downloadFile(file, folder, network);
      onFile?.(local);
      return local;
    } catch (error) {
      if (!(error instanceof Unavailable)) throw error;
      failed.push({ file, error });
      return null;
    }
  });
  return { files: fetched.filter((file) => file !== null), failed };
}

/**
 * Fetches one file to `folder/<key>` and returns it there. The name appears once the content is whole: size as listed, and sound
 * by `faultOf`. A file that is there with its size is not fetched again.
 */
async function downloadFile(file: SourceFile, folder: string, network: HttpOptions = {}): Promise<SourceFile> {
  const { product, time_ms, name, key, bytes } = file;
  const location = join(folder, key);
  if ((await writing(location, () => sizeOf(location))) !== bytes)
    await withRetries(() => fetchFile(file, location, network), network);
  return { product, time_ms, name, key, bytes, location };
}

async function fetchFile(file: SourceFile, location: string, network: HttpOptions): Promise<void> {
  if (file.bytes === 0) throw new Unavailable(file.location, 'object is empty, expected a raw file');
  if (file.bytes > MAX_UNPACKED_BYTES)
    throw new Unavailable(file.location, `listed with ${file.bytes} bytes, expected at most ${MAX_UNPACKED_BYTES}`);
  const allowed_ms = DOWNLOAD_ALLOWED_MS + Math.ceil((file.bytes / SLOWEST_BYTES_PER_S) * 1000);
  const { bytes } = await fetchOnce(file.location, { max_bytes: file.bytes, allowed_ms }, network);
  if (bytes.length !== file.bytes)
    throw new Transient(file.location, `${bytes.length} bytes arrived, expected ${file.bytes}`);
  const draft = `${location}${DRAFT_SUFFIX}`;
  await writing(location, async () => {
    await writeSynced(draft, bytes);
    const fault = await faultOf(draft, file.name);
    if (fault === null) return moveDurably(draft, location);
    await rm(draft);
    throw new Transient(file.location, fault);
  });
}

async function listPrefix(base_url: string, prefix: string, startAfter: string | null, network: HttpOptions) {
  const objects: ListedObject[] = [];
  const tokens = new Set<string>();
  for (let token: string | null = null; ; ) {
    const query = new URLSearchParams({ 'list-type': '2', prefix });
    if (token !== null) query.set('continuation-token', token);
    else if (startAfter !== null) query.set('start-after', startAfter);
    const url = `${base_url}/?${query}`;
    const page: ListingPage = await withRetries(() => fetchListing(url, network), network);
    objects.push(...page.objects);
    token = page.next_token;
    if (token === null) return objects;
    if (tokens.has(token))
      throw new Unavailable(url, `listing comes round in a circle after ${objects.length} objects`);
    tokens.add(token);
  }
}

async function fetchListing(url: string, network: HttpOptions): Promise<ListingPage> {
  const bounds = { max_bytes: MAX_LISTING_BYTES, allowed_ms: LISTING_ALLOWED_MS };
  const { bytes } = await fetchOnce(url, bounds, network);
  const page = parseListing(bytes.toString('utf8'));
  if (page === null) throw new Transient(url, 'answer is no whole listing, expected ListBucketResult');
  return page;
}

type ListedObject = Pick<SourceFile, 'key' | 'bytes' | 'modified_ms'>;

interface ListingPage {
  readonly objects: readonly ListedObject[];
  /** Continues the listing; null on the last page. */
  readonly next_token: string | null;
}

const ENTITIES: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" };

/**
 * One page of an S3 ListObjectsV2 answer, whatever the order of its elements. Null when the document is cut off or is no such listing.
 */
function parseListing(xml: string): ListingPage | null {
  const [root] = elements(xml, 'ListBucketResult');
  if (root === undefined) return null;
  const objects = elements(root, 'Contents').map(parseObject);
  if (objects.includes(null)) return null;
  const isLast = text(root, 'IsTruncated') !== 'true';
  const next_token = isLast ? null : text(root, 'NextContinuationToken');
  return next_token === undefined ? null : { objects: objects.filter((object) => object !== null), next_token };
}

function parseObject(xml: string): ListedObject | null {
  const key = text(xml, 'Key');
  const size = text(xml, 'Size') ?? '';
  const modified_ms = Date.parse(text(xml, 'LastModified') ?? '');
  if (key === undefined || !/^\d+$/.test(size)) return null;
  return { key, bytes: Number(size), ...(Number.isNaN(modified_ms) ? {} : { modified_ms }) };
}

/** Text of the first element of this name. */
function text(xml: string, tag: string): string | undefined {
  const [inner] = elements(xml, tag);
  return inner === undefined ? undefined : decode(inner);
}

/** Inner text of every element of this name; one without an end is left out. */
function elements(xml: string, tag: string): string[] {
  const pattern = new RegExp(`<${tag}(?:\\s[^>]*)?>([^]*?)</${tag}>`, 'g');
  return Array.from(xml.matchAll(pattern), (match) => match[1] as string);
}

function decode(escaped: string): string {
  return escaped.replaceAll(/&(?:#x([\da-f]{1,6})|#(\d{1,7})|(\w+));/gi, (whole, hex, decimal, name) => {
    if (name !== undefined) return ENTITIES[name] ?? whole;
    const code = hex === undefined ? Number(decimal) : Number.parseInt(hex, 16);
    return code <= 0x10ffff ? String.fromCodePoint(code) : whole;
  });
}
