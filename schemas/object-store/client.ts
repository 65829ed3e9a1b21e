import { createHash } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { AwsClient } from 'aws4fetch';

/** Where a store lies, and who asks. */
export interface StoreAddress {
  /** Address of the bucket, with a prefix behind it where objects lie below one; without a slash at the end. */
  readonly url: string;
  readonly access_key_id: string;
  readonly secret_access_key: string;
  readonly region: string;
}

/** An object without its content. `etag` is the text of the header, quotes included. */
export interface ObjectHead {
  readonly etag: string;
  readonly bytes: number;
  /** When it was stored, epoch milliseconds of the store's clock. */
  readonly modified_ms: number;
}

export interface ListedObject extends ObjectHead {
  readonly key: string;
}

export interface StoredObject {
  readonly content: Uint8Array;
  readonly etag: string;
}

/** Bytes of an object from `first` on, `length` of them, fewer where it ends before. */
export interface ByteRange {
  readonly first: number;
  readonly length: number;
  /** Size of the object, where it is known: bytes of one of another size are not taken, and none may be missing. */
  readonly of_bytes?: number;
}

/** A condition of a PUT: that no object has the key, or that the object is still the one with this tag. */
export type PutCondition = { readonly if_absent: true } | { readonly if_etag: string };

/**
 * Outcome of a conditional PUT. `unsupported`: the store does not know conditions, and stored nothing. A PUT whose answer was lost
 * is sent again, and may meet what it stored itself: the outcome is then `lost_to_another` only if the content differs.
 */
export type PutOutcome = 'stored' | 'lost_to_another' | 'unsupported';

/** How long one operation may take, its repetitions included, and when it is given up. */
export interface Patience {
  readonly patience_ms?: number;
  readonly signal?: AbortSignal;
}

/**
 * A store of whole objects that speaks the S3 protocol. Keys are paths relative to its address. Every operation is repeated while
 * the store is out of reach, overloaded (429, 503) or failing (5xx); then it throws StoreUnavailable. What it refuses (keys,
 * bucket, clock) throws StoreRefused at once.
 */
export interface ObjectStore {
  /** Its address, for people. */
  readonly name: string;
  /** Stores a whole object; the store checks its SHA-256. */
  readonly put: (key: string, content: Uint8Array, patience?: Patience) => Promise<void>;
  readonly putIf: (
    key: string,
    content: Uint8Array,
    condition: PutCondition,
    patience?: Patience,
  ) => Promise<PutOutcome>;
  /** Content of an object, or of a range of it; null when no object has the key. Whole in memory: for small ones. */
  readonly get: (key: string, range?: ByteRange | null, patience?: Patience) => Promise<StoredObject | null>;
  /** The same, `unchanged` while the tag is the given one. */
  readonly getUnless: (
    etag: string | null,
    key: string,
    patience?: Patience,
  ) => Promise<StoredObject | 'unchanged' | null>;
  /** The answer to a GET as a stream, for large objects; null when no object has the key. Only its beginning is repeated. */
  readonly open: (key: string, patience?: Patience) => Promise<Response | null>;
  readonly head: (key: string, patience?: Patience) => Promise<ObjectHead | null>;
  /** Objects whose keys begin with a prefix, in the order of their keys, 1,000 to a request. */
  readonly list: (prefix: string, patience?: Patience) => AsyncGenerator<ListedObject>;
  /** Removes an object; one that is not there is no fault. */
  readonly remove: (key: string, patience?: Patience) => Promise<void>;
  /** Stores a large object in parts, which are read one after the other; the parts of a failed one are removed. */
  readonly putParts: (key: string, parts: AsyncIterable<Uint8Array>, patience?: Patience) => Promise<void>;
}

/** Outcomes of one request: also those that are repeated. `slow_down`: 429 or 503; `failed`: any other fault of the store. */
export const REQUEST_OUTCOMES = ['done', 'slow_down', 'failed', 'refused', 'unanswered'] as const;
export type RequestOutcome = (typeof REQUEST_OUTCOMES)[number];

/** The store does not answer, is overloaded or fails. */
export class StoreUnavailable extends Error {
  override name = 'StoreUnavailable';
}

/** The store refuses a request: it would refuse it again. */
export class StoreRefused extends Error {
  override name = 'StoreRefused';
  readonly status: number;

  constructor(message: string, status: number) {
    super(message);
    this.status = status;
  }
}

/** True for a failure of the store itself, also behind the error of what needed it. */
export function isStoreFault(error: unknown): boolean {
  if (error instanceof StoreUnavailable || error instanceof StoreRefused) return true;
  return error instanceof Error && isStoreFault(error.cause);
}

/** Time for an operation unless its caller has another patience, and for one attempt at it. */
const PATIENCE_MS = 30_000;
const ATTEMPT_MS = 15_000;
/** What is sent adds this to both: slower lines than a megabyte a second are too slow. */
const SENDING_MS_PER_BYTE = 0.001;
/** Longest wait for the removal of the parts of an upload that failed: the store may be away. */
const REMOVE_PARTS_MS = 5_000;
/** Longest time for the body of an error. */
const BODY_MS = 15_000;
const FIRST_WAIT_MS = 100;
const LONGEST_WAIT_MS = 5_000;
/** Text of an error answer that is read. */
const ERROR_BYTES = 4_000;
/** Characters of a wrong answer that are quoted. */
const QUOTED = 60;

/** Opens a store. No request is sent. `onRequest` is told of every request. */
export function openObjectStore(
  address: StoreAddress,
  onRequest: (outcome: RequestOutcome) => void = () => {},
): ObjectStore {
  const { url, region } = address;
  const { base, bucket_url, prefix } = addressesOf(url);
  const client = new AwsClient({
    accessKeyId: address.access_key_id,
    secretAccessKey: address.secret_access_key,
    service: 's3',
    region,
    // Repetitions are those below.
    retries: 0,
  });
  const addressOf = (key: string) => `${base}/${key.split('/').map(encodeURIComponent).join('/')}`;

  /** The answer to a request, or null for 404; repeats it while the store fails. `accepted`: statuses that are answers, too. */
  async function ask(
    method: string,
    target: string,
    { headers = {}, body, accepted = [] }: { headers?: Record<string, string>; body?: Uint8Array; accepted?: number[] },
    { patience_ms, signal }: Patience = {},
  ): Promise<Response | null> {
    const sending_ms = (body?.length ?? 0) * SENDING_MS_PER_BYTE;
    const until_ms = performance.now() + (patience_ms ?? PATIENCE_MS + sending_ms);
    let fault: unknown;
    for (let tries = 0; ; tries++) {
      signal?.throwIfAborted();
      const left_ms = Math.max(1, until_ms - performance.now());
      const limit_ms = Math.min(left_ms, ATTEMPT_MS + sending_ms);
      let asked_s = 0;
      // Bounds the wait for the head of the answer; the readers of bodies have bounds of their own.
      const giveUp = new AbortController();
      const timer = setTimeout(() => giveUp.abort(new Error(`no answer in ${Math.round(limit_ms)} ms`)), limit_ms);
      const attempt = signal === undefined ? giveUp.signal : AbortSignal.any([giveUp.signal, signal]);
      try {
        const sent = body === undefined ? {} : { body: body as BodyInit };
        const request = await client.sign(target, { method, headers: { ...headers, ...hashHeaders(body) }, ...sent });
        const response = await fetch(request, { signal: attempt })
          .catch((error) => {
            onRequest('unanswered');
            throw error;
          })
          .finally(() => clearTimeout(timer));
        onRequest(outcomeOf(response, accepted));
        if (response.ok || accepted.includes(response.status)) return response;
        if (response.status === 404 && (await isNoBucket(response)) === false) return null;
        if (response.status < 500 && response.status !== 429 && response.status !== 408)
          throw await refusalOf(method, target, response);
        asked_s = Number(response.headers.get('retry-after') ?? 0);
        fault = new Error(`answered ${response.status} ${await errorText(response)}`.trim());
      } catch (error) {
        if (error instanceof StoreRefused || signal?.aborted) throw error;
        // An attempt that ran out of what was left of the patience says less than the answer to the one before.
        const isCutShort = giveUp.signal.aborted && limit_ms === left_ms;
        if (!isCutShort || fault === undefined) fault = error;
      }
      const wait_ms = Math.max(
        Math.random() * Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** tries),
        Number.isFinite(asked_s) ? Math.min(asked_s * 1000, LONGEST_WAIT_MS) : 0,
      );
      if (performance.now() + wait_ms >= until_ms)
        throw new StoreUnavailable(`${method} ${target}: ${reasonOf(fault)}, given up after ${tries + 1} tries`, {
          cause: fault,
        });
      await pause(wait_ms, undefined, signal === undefined ? {} : { signal });
    }
  }

  /** The whole body of an answer; the request is repeated when it is cut off, and when `check` throws of its head, or of its body. */
  async function whole(
    target: string,
    headers: Record<string, string>,
    accepted: number[],
    patience: Patience = {},
    check: { readonly head?: (response: Response) => void; readonly body?: (content: Uint8Array) => void } = {},
  ): Promise<{ response: Response; content: Uint8Array } | null> {
    const until_ms = performance.now() + (patience.patience_ms ?? PATIENCE_MS);
    let fault: unknown = null;
    for (;;) {
      const left = { ...patience, patience_ms: Math.max(1, until_ms - performance.now()) };
      const response = await ask('GET', target, { headers, accepted }, left).catch((error: unknown) => {
        // What was wrong with the answer before says more than what was left of the patience.
        throw fault !== null && error instanceof StoreUnavailable ? fault : error;
      });
      if (response === null) return null;
      try {
        check.head?.(response);
        const content = new Uint8Array(await withTimeout(response, response.arrayBuffer(), left.patience_ms));
        const expected = response.headers.get('content-length');
        if (expected !== null && Number(expected) !== content.byteLength && response.status !== 304)
          throw new Error(`${content.byteLength} bytes came, expected ${expected}`);
        check.body?.(content);
        return { response, content };
      } catch (cause) {
        // A body that is not read keeps its connection; the fault to report is the one above.
        if (!response.bodyUsed) await response.body?.cancel().catch(() => {});
        fault = new StoreUnavailable(`GET ${target}: ${reasonOf(cause)}`, { cause });
        if (performance.now() + FIRST_WAIT_MS >= until_ms) throw fault;
        await pause(FIRST_WAIT_MS, undefined, patience.signal === undefined ? {} : { signal: patience.signal });
      }
    }
  }

  async function getUnless(etag: string | null, key: string, patience?: Patience) {
    const headers: Record<string, string> = etag === null ? {} : { 'If-None-Match': etag };
    const answer = await whole(addressOf(key), headers, [304], patience);
    if (answer === null) return null;
    if (answer.response.status === 304) return 'unchanged' as const;
    return { content: answer.content, etag: tagOf(answer.response) };
  }

  async function head(key: string, patience?: Patience): Promise<ObjectHead | null> {
    const response = await ask('HEAD', addressOf(key), {}, patience);
    if (response === null) return null;
    return {
      etag: tagOf(response),
      bytes: Number(response.headers.get('content-length')),
      modified_ms: Date.parse(response.headers.get('last-modified') ?? ''),
    };
  }

  return {
    name: base,
    put: async (key, content, patience) => {
      const response = await ask('PUT', addressOf(key), { body: content }, patience);
      await finish(response);
      if (response === null) throw new StoreRefused(`PUT ${addressOf(key)}: answered 404, expected a bucket`, 404);
    },
    putIf: async (key, content, condition, patience) => {
      const headers: Record<string, string> =
        'if_absent' in condition ? { 'If-None-Match': '*' } : { 'If-Match': condition.if_etag };
      try {
        const response = await ask(
          'PUT',
          addressOf(key),
          { headers, body: content, accepted: [409, 412, 501] },
          patience,
        );
        await finish(response);
        if (response === null) return 'lost_to_another';
        if (response.ok) return 'stored';
        if (response.status === 501) return 'unsupported';
      } catch (error) {
        if (!(error instanceof StoreRefused && error.status === 400)) throw error;
        return 'unsupported';
      }
      const found = await getUnless(null, key, patience);
      const isOurs = found !== null && found !== 'unchanged' && Buffer.compare(found.content, content) === 0;
      return isOurs ? 'stored' : 'lost_to_another';
    },
    get: async (key, range = null, patience) => {
      const headers: Record<string, string> =
        range === null ? {} : { Range: `bytes=${range.first}-${range.first + range.length - 1}` };
      const head = range === null ? () => {} : (response: Response) => requireRange(response, range);
      const answer = await whole(addressOf(key), headers, [], patience, { head });
      if (answer === null) return null;
      return { content: answer.content, etag: tagOf(answer.response) };
    },
    getUnless,
    open: (key, patience) => ask('GET', addressOf(key), {}, patience),
    head,
    async *list(start, patience) {
      let token: string | null = null;
      do {
        // Stores read a plus sign as such: spaces are escaped.
        const more = token === null ? '' : `&continuation-token=${encodeURIComponent(token)}`;
        const query = `list-type=2&encoding-type=url&prefix=${encodeURIComponent(prefix + start)}${more}`;
        const answer: { readonly content: Uint8Array } | null = await whole(
          `${bucket_url}/?${query}`,
          {},
          [],
          patience,
          { body: requireListing },
        );
        if (answer === null) throw new StoreRefused(`GET ${bucket_url}: answered 404, expected a bucket`, 404);
        const page = listingOf(textOf(answer.content), prefix.length);
        yield* page.objects;
        token = page.next;
      } while (token !== null);
    },
    remove: async (key, patience) => {
      await finish(await ask('DELETE', addressOf(key), {}, patience));
    },
    putParts: async (key, parts, patience) => {
      const target = addressOf(key);
      const begun = await ask('POST', `${target}?uploads=`, {}, patience);
      const id = elementOf(await doneText(begun), 'UploadId');
      if (id === null) throw new StoreRefused(`POST ${target}?uploads: names no upload, expected one`, 404);
      const upload = `uploadId=${encodeURIComponent(id)}`;
      try {
        const tags: string[] = [];
        for await (const part of parts) {
          const stored = await ask(
            'PUT',
            `${target}?partNumber=${tags.length + 1}&${upload}`,
            { body: part },
            patience,
          );
          await doneText(stored);
          if (stored === null) throw new StoreUnavailable(`PUT ${target}: the upload in parts is gone`);
          tags.push(tagOf(stored));
        }
        const list = tags.map((tag, k) => `<Part><PartNumber>${k + 1}</PartNumber><ETag>${tag}</ETag></Part>`);
        const body = Buffer.from(`<CompleteMultipartUpload>${list.join('')}</CompleteMultipartUpload>`);
        const done = await ask('POST', `${target}?${upload}`, { body }, patience);
        const text = await doneText(done);
        // The answer begins before the parts are joined, so that it may be 200 and say that this failed. 404: the answer was lost.
        if (text.includes('<Error>')) throw new StoreUnavailable(`POST ${target}: ${elementOf(text, 'Code')}`);
        if (done === null && (await head(key, patience)) === null)
          throw new StoreUnavailable(`POST ${target}: the upload in parts is gone`);
      } catch (error) {
        // Also when the caller has given up.
        await ask('DELETE', `${target}?${upload}`, {}, { patience_ms: REMOVE_PARTS_MS }).catch(() => null);
        throw error;
      }
    },
  };
}

/** Amazon's form of an address whose bucket is part of the host name. */
const BUCKET_IN_HOST = /^.+\.s3[.-].*\bamazonaws\.com(\.cn)?$/;

/** Addresses of a store: `base` of objects, `bucket_url` of listings, which begin with `prefix`. */
export function addressesOf(url: string): {
  readonly base: string;
  readonly bucket_url: string;
  readonly prefix: string;
} {
  // aws4fetch signs a plus sign as a space.
  const base = url.replace(/\/+$/, '').replaceAll('+', '%2B');
  const { origin, hostname, pathname } = new URL(base);
  const [bucket = '', ...below] = pathname.slice(1).split('/');
  const isInPath = bucket !== '' && !BUCKET_IN_HOST.test(hostname);
  const inside = decodeURIComponent(isInPath ? below.join('/') : pathname.slice(1));
  return {
    base,
    bucket_url: isInPath ? `${origin}/${bucket}` : origin,
    prefix: inside === '' ? '' : `${inside}/`,
  };
}

/** The same store, each of whose operations ends when a signal aborts. */
export function untilAborted(store: ObjectStore, signal: AbortSignal): ObjectStore {
  const bounded = (patience?: Patience): Patience => ({ signal, ...patience });
  return {
    name: store.name,
    put: (key, content, patience) => store.put(key, content, bounded(patience)),
    putIf: (key, content, condition, patience) => store.putIf(key, content, condition, bounded(patience)),
    get: (key, range, patience) => store.get(key, range, bounded(patience)),
    getUnless: (etag, key, patience) => store.getUnless(etag, key, bounded(patience)),
    open: (key, patience) => store.open(key, bounded(patience)),
    head: (key, patience) => store.head(key, bounded(patience)),
    list: (prefix, patience) => store.list(prefix, bounded(patience)),
    remove: (key, patience) => store.remove(key, bounded(patience)),
    putParts: (key, parts, patience) => store.putParts(key, parts, bounded(patience)),
  };
}

function outcomeOf({ ok, status }: Response, accepted: readonly number[]): RequestOutcome {
  if (ok || status === 404 || accepted.includes(status)) return 'done';
  if (status === 429 || status === 503) return 'slow_down';
  return status >= 500 || status === 408 ? 'failed' : 'refused';
}

function hashHeaders(body: Uint8Array | undefined): Record<string, string> {
  return {
    'X-Amz-Content-Sha256': createHash('sha256')
      .update(body ?? '')
      .digest('hex'),
  };
}

function textOf(content: Uint8Array): string {
  return Buffer.from(content.buffer, content.byteOffset, content.byteLength).toString('utf8');
}

function tagOf({ headers }: Response): string {
  return headers.get('etag') ?? '';
}

/** Body of the answer to a request that changes something. Throws StoreUnavailable when it is cut off: what was done is not known. */
async function doneText(response: Response | null): Promise<string> {
  try {
    return (await response?.text()) ?? '';
  } catch (cause) {
    throw new StoreUnavailable(`${response?.url}: the answer was cut off (${reasonOf(cause)})`, { cause });
  }
}

/** A missing object is an answer, a missing bucket is not. */
async function isNoBucket(response: Response): Promise<boolean> {
  return elementOf(await errorText(response), 'Code') === 'NoSuchBucket';
}

async function refusalOf(method: string, target: string, response: Response): Promise<StoreRefused> {
  const text = await errorText(response);
  const code = elementOf(text, 'Code') ?? response.statusText;
  const hint =
    code === 'RequestTimeTooSkewed' ? ', expected the clock of this machine within 15 minutes of the store' : '';
  return new StoreRefused(`${method} ${target}: answered ${response.status} ${code}${hint}`, response.status);
}

async function errorText(response: Response): Promise<string> {
  if (response.bodyUsed) return '';
  return (await withTimeout(response, response.text(), BODY_MS).catch(() => '')).slice(0, ERROR_BYTES);
}

function reasonOf(fault: unknown): string {
  if (!(fault instanceof Error)) return String(fault);
  return fault.cause instanceof Error ? `${fault.message} (${fault.cause.message})` : fault.message;
}

/** Reads the rest of an answer whose head said what happened, so that its connection can be used again. */
async function finish(response: Response | null): Promise<void> {
  await response?.arrayBuffer().catch(() => {}); // cut off: nothing of it is needed
}

/** What a body reads as; throws when it has not come within a time. */
async function withTimeout<Value>(response: Response, work: Promise<Value>, limit_ms: number): Promise<Value> {
  let timer: NodeJS.Timeout | undefined;
  const silence = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`no whole answer in ${Math.round(limit_ms)} ms`)), limit_ms);
  });
  try {
    return await Promise.race([work, silence]);
  } catch (error) {
    // It may fail in its turn: the error above is the one to report.
    await response.body?.cancel().catch(() => {});
    throw error;
  } finally {
    clearTimeout(timer);
  }
}

/**
 * Throws when an answer is not about the bytes that were asked for: an old copy of a cache in front of the store, or the whole
 * object of a server that knows no ranges.
 */
function requireRange({ status, headers }: Response, { first, length, of_bytes }: ByteRange): void {
  const stated = headers.get('content-range') ?? 'no Content-Range';
  const [from, to, size] = (/^bytes (\d+)-(\d+)\/(\d+)$/.exec(stated) ?? []).slice(1).map(Number);
  const [last, end] = [first + length, of_bytes ?? size ?? 0].map((bytes) => bytes - 1);
  const isRight = size === (of_bytes ?? size) && from === first && to === Math.min(last as number, end as number);
  if (status === 206 && isRight) return;
  throw new Error(`${status} came with ${stated}, expected 206 with bytes ${first}-${last}/${of_bytes ?? '*'}`);
}

/**
 * Throws when a body is not a whole page of a listing: a web page in front of the store, or the beginning of one, would read as
 * fewer objects than there are.
 */
function requireListing(content: Uint8Array): void {
  const xml = textOf(content);
  if (!/<\/ListBucketResult>\s*$/.test(xml))
    throw new Error(`${JSON.stringify(xml.slice(0, QUOTED))} came, expected a whole ListBucketResult`);
  if (isMore(xml) && elementOf(xml, 'NextContinuationToken') === null)
    throw new Error('a part of a listing came that names no next one');
}

/** Objects of one page of a listing, without the prefix of the store; `next`: token of the page that follows. */
function listingOf(xml: string, prefix_length: number): { objects: ListedObject[]; next: string | null } {
  const objects = [...xml.matchAll(/<Contents>(.*?)<\/Contents>/gs)].map(([, item = '']) => ({
    key: decodeURIComponent((elementOf(item, 'Key') ?? '').replaceAll('+', ' ')).slice(prefix_length),
    etag: elementOf(item, 'ETag') ?? '',
    bytes: Number(elementOf(item, 'Size')),
    modified_ms: Date.parse(elementOf(item, 'LastModified') ?? ''),
  }));
  return { objects, next: isMore(xml) ? elementOf(xml, 'NextContinuationToken') : null };
}

function isMore(xml: string): boolean {
  return elementOf(xml, 'IsTruncated') === 'true';
}

/** Text of the first element of a name; the answers of stores are flat, and have no other markup. */
function elementOf(xml: string, name: string): string | null {
  const text = new RegExp(`<${name}>(.*?)</${name}>`, 's').exec(xml)?.[1];
  if (text === undefined) return null;
  return text
    .replaceAll('&quot;', '"')
    .replaceAll('&#34;', '"')
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&amp;', '&');
}
