import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { asUnreadable } from '../error.ts';
import { type Answer, get, type Network, readBody, refusal } from '../sources/http.ts';
import { inParallel } from '../sources/parallel.ts';
import { Transient, Unavailable, withRetries } from '../sources/retry.ts';
import { type ByteRange, HAIL_WISHES, parseIndex, wishedRanges } from './model-index.ts';
import { type ModelHourName, modelKeys, parseModelKey } from './model-names.ts';

/** A server of model files. */
export interface ModelServer {
  /** Address of the bucket, without a closing slash. */
  readonly base_url: string;
  /** What we call ourselves. */
  readonly user_agent: string;
  readonly network?: Network;
}

/** The messages we use of one file, as a GRIB2 file of its own. */
export interface ModelSubset {
  readonly key: string;
  readonly bytes: Uint8Array;
  /** Version of the index it was made by, to be asked with the next time; null when the server gives none. */
  readonly etag: string | null;
}

/** A subset, or why there is none: not there yet, or the version that is already known. */
export type SubsetAnswer = ModelSubset | 'absent' | 'unchanged';

const INDEX_ALLOWED_MS = 30_000;
/** The index of a whole HRRR file has 15 kB. */
const MAX_INDEX_BYTES = 2 ** 20;
/** Our fields of an HRRR hour have 20 MB, unpacked less well 60 MB. */
const MAX_SUBSET_BYTES = 128 * 2 ** 20;
/** A server that does not know ranges sends the whole file: 150 MB in HRRR, more in RRFS. */
export const MAX_WHOLE_BYTES = 1024 * 2 ** 20;
const RANGES_AT_ONCE = 4;
const RANGE_ALLOWED_MS = 20_000;
const SLOWEST_BYTES_PER_S = 100_000;
/** Time is allowed for so much where the length of a range is not known beforehand. */
const OPEN_RANGE_BYTES = 8 * 2 ** 20;

/**
 * The messages we use of one file of a model hour, by its index and byte ranges.
 *
 * `etag` is that of the index of the last answer: an unchanged index costs one small question. All ranges are of one version
 * of the file, else the whole is asked for again. Throws BadInput for an index that is none (an error page, another run),
 * Unavailable when the server does not deliver, or delivers something else than whole GRIB messages, after all retries.
 */
export async function fetchSubset(
  hour: ModelHourName,
  key: string,
  etag: string | null,
  server: ModelServer,
): Promise<SubsetAnswer> {
  const { network = {} } = server;
  const url = `${server.base_url}/${key}`;
  const index = await withRetries(() => fetchIndex(`${url}.idx`, etag, server), network);
  if (typeof index === 'string') return index;
  const ranges = wishedRanges(parseIndex(index.text, `${url}.idx`, hour.run_time), HAIL_WISHES);
  if (ranges.length === 0) throw new Unavailable(`${url}.idx`, 'index lists none of our fields');
  const bytes_known = ranges.reduce((sum, { start, end }) => sum + (end === null ? 0 : end - start), 0);
  if (bytes_known > MAX_SUBSET_BYTES)
    throw new Unavailable(`${url}.idx`, `our fields have ${bytes_known} bytes, expected at most ${MAX_SUBSET_BYTES}`);
  const bytes = await withRetries(() => fetchRanges(url, ranges, server), network);
  return { key, bytes, etag: index.etag };
}

/** The files of one hour, each as its subset; the first that is absent or unchanged speaks for the hour. */
export async function fetchModelHour(
  hour: ModelHourName,
  etags: ReadonlyMap<string, string>,
  server: ModelServer,
): Promise<ModelSubset[] | 'absent' | 'unchanged'> {
  const subsets: ModelSubset[] = [];
  const keys = modelKeys(hour);
  for (const key of keys) {
    // An hour in several files is only unchanged as a whole.
    const answer = await fetchSubset(hour, key, keys.length === 1 ? (etags.get(key) ?? null) : null, server);
    if (typeof answer === 'string') return answer;
    subsets.push(answer);
  }
  return subsets;
}

/** A local hour: its name and the files it is made of. */
export interface LocalModelHour extends ModelHourName {
  readonly paths: readonly string[];
}

/** What a folder holds of model runs. */
export interface ModelFolder {
  /** Whole hours, by run and lead. */
  readonly hours: readonly LocalModelHour[];
  /** Files of hours of which another part is missing. */
  readonly incomplete: readonly string[];
}

/**
 * Hours of model runs below a folder that has the layout of the public buckets. Throws Unreadable when the folder cannot be
 * read.
 */
export async function listModelFolder(folder: string): Promise<ModelFolder> {
  const names = await readdir(folder, { recursive: true }).catch((error: unknown) => {
    throw asUnreadable(folder, error);
  });
  const found = names.sort().flatMap((path) => {
    const name = parseModelKey(path.replaceAll('\\', '/'));
    return name === null ? [] : [{ name, path: join(folder, path) }];
  });
  const hours: LocalModelHour[] = [];
  const incomplete: string[] = [];
  for (const files of Map.groupBy(found, ({ name }) => `${name.model} ${name.run_time} ${name.lead_h}`).values()) {
    const [{ name }] = files as [(typeof files)[number]];
    const paths = files.map(({ path }) => path);
    if (files.length === modelKeys(name).length) hours.push({ ...name, paths });
    else incomplete.push(...paths);
  }
  hours.sort((a, b) => a.run_time - b.run_time || a.lead_h - b.lead_h || (a.model < b.model ? -1 : 1));
  return { hours, incomplete };
}

interface IndexText {
  readonly text: string;
  readonly etag: string | null;
}

async function fetchIndex(
  url: string,
  etag: string | null,
  { user_agent, network = {} }: ModelServer,
): Promise<IndexText | 'absent' | 'unchanged'> {
  const headers = { 'user-agent': user_agent, ...(etag === null ? {} : { 'if-none-match': etag }) };
  return get(url, headers, INDEX_ALLOWED_MS, network, async (answer) => {
    if (answer.status === 404) return 'absent';
    if (answer.status === 304 && etag !== null) return 'unchanged';
    if (answer.status !== 200) throw refusal(url, answer);
    const bytes = await readBody(url, answer, MAX_INDEX_BYTES);
    return { text: bytes.toString('utf8'), etag: answer.headers.etag ?? null };
  });
}

/** The bytes of all ranges, one after the other. The first range tells the version that the others must be of. */
async function fetchRanges(url: string, ranges: readonly ByteRange[], server: ModelServer): Promise<Buffer> {
  const [first, ...others] = ranges as readonly [ByteRange, ...ByteRange[]];
  const start = await fetchRange(url, first, null, ranges, server);
  if (start.all !== null) return start.all;
  const rest = await inParallel(others, RANGES_AT_ONCE, async (range) => {
    const answer = await fetchRange(url, range, start.etag, ranges, server);
    if (answer.all !== null || answer.etag !== start.etag)
      throw new Transient(url, 'file changed between two byte ranges');
    return answer.bytes;
  });
  const bytes = Buffer.concat([start.bytes, ...rest]);
  refuseBroken(url, bytes);
  return bytes;
}

interface RangeAnswer {
  readonly bytes: Buffer;
  readonly etag: string | null;
  /** All ranges, from a server that sent the whole file instead of one; null otherwise. */
  readonly all: Buffer | null;
}

async function fetchRange(
  url: string,
  range: ByteRange,
  etag: string | null,
  ranges: readonly ByteRange[],
  { user_agent, network = {} }: ModelServer,
): Promise<RangeAnswer> {
  const { start, end } = range;
  const headers: Record<string, string> = {
    'user-agent': user_agent,
    range: `bytes=${start}-${end === null ? '' : end - 1}`,
  };
  if (etag !== null && !etag.startsWith('W/')) headers['if-match'] = etag;
  const expected_bytes = end === null ? OPEN_RANGE_BYTES : end - start;
  const allowed_ms = RANGE_ALLOWED_MS + Math.ceil((1000 * expected_bytes) / SLOWEST_BYTES_PER_S);
  return get(url, headers, allowed_ms, network, async (answer) => {
    const version = answer.headers.etag ?? null;
    if (answer.status === 200) {
      const all = await pickRanges(url, answer, ranges);
      refuseBroken(url, all);
      return { bytes: all, etag: version, all };
    }
    if (answer.status === 412) throw new Transient(url, 'file changed between two byte ranges');
    if (answer.status === 416)
      throw new Unavailable(url, `file ends before byte ${start}, expected what its index lists`);
    if (answer.status !== 206) throw refusal(url, answer);
    const length = lengthOf(url, answer, range);
    const bytes = await readBody(url, answer, length);
    if (bytes.length !== length) throw new Transient(url, `${bytes.length} bytes arrived, expected ${length}`);
    return { bytes, etag: version, all: null };
  });
}

/** Bytes that an answer with a part announces; throws when it is not the part that was asked for. */
function lengthOf(url: string, { headers }: Answer, { start, end }: ByteRange): number {
  const found = headers['content-range'] ?? '';
  const [, from = '', to = '', total = ''] = /^bytes (\d+)-(\d+)\/(\d+)$/.exec(found) ?? [];
  const last = end === null ? Number(total) - 1 : end - 1;
  if (from === '' || Number(from) !== start || Number(to) !== last)
    throw new Transient(
      url,
      `server answers 206 with range '${found}', expected 'bytes ${start}-${end === null ? '' : last}'`,
    );
  const length = last - start + 1;
  if (length > MAX_SUBSET_BYTES)
    throw new Unavailable(url, `last message has ${length} bytes, expected at most ${MAX_SUBSET_BYTES}`);
  return length;
}

/** The wanted ranges of a whole file, kept as it streams by. */
async function pickRanges(url: string, answer: Answer, ranges: readonly ByteRange[]): Promise<Buffer> {
  const announced = Number(answer.headers['content-length'] ?? 0);
  if (announced > MAX_WHOLE_BYTES)
    throw new Unavailable(
      url,
      `server sends the whole file of ${announced} bytes instead of ranges, expected at most ${MAX_WHOLE_BYTES}`,
    );
  const kept: Buffer[] = [];
  let kept_bytes = 0;
  let at = 0;
  for await (const chunk of answer.body as AsyncIterable<Buffer>) {
    for (const { start, end } of ranges) {
      const from = Math.max(start - at, 0);
      const to = Math.min((end ?? Number.POSITIVE_INFINITY) - at, chunk.length);
      if (from < to) kept.push(chunk.subarray(from, to));
      if (from < to) kept_bytes += to - from;
    }
    at += chunk.length;
    if (at > MAX_WHOLE_BYTES || kept_bytes > MAX_SUBSET_BYTES)
      throw new Unavailable(url, `server sends more than ${Math.min(at, MAX_WHOLE_BYTES)} bytes instead of ranges`);
  }
  return Buffer.concat(kept);
}

const INDICATOR_BYTES = 16;

/** Refuses bytes that are not whole GRIB2 messages, one after the other. */
function refuseBroken(url: string, bytes: Buffer): void {
  let messages = 0;
  for (let at = 0; at < bytes.length; messages++) {
    if (bytes.length - at < INDICATOR_BYTES || bytes.toString('latin1', at, at + 4) !== 'GRIB')
      throw new Transient(url, `no GRIB message begins at byte ${at} of its ranges, expected what its index lists`);
    const length = Number(bytes.readBigUInt64BE(at + 8));
    if (
      length < INDICATOR_BYTES + 4 ||
      at + length > bytes.length ||
      bytes.toString('latin1', at + length - 4, at + length) !== '7777'
    )
      throw new Transient(url, `message ${messages + 1} of its ranges is cut short, expected ${length} bytes`);
    at += length;
  }
  if (messages === 0) throw new Transient(url, 'its ranges are empty, expected GRIB messages');
}
