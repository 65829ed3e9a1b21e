import { END_BYTES, findMessage, INDICATOR_BYTES, isEndSection, statedLength } from '../grib2/index.ts';
import type { ModelFile } from '../read/model-hour.ts';
import {
  fetchBytes,
  fetchOnce,
  type HttpAnswer,
  type HttpOptions,
  Transient,
  Unavailable,
  withRetries,
} from '../sources/http.ts';
import { inParallel } from '../sources/parallel.ts';
import {
  type ByteRange,
  HAIL_FIELDS,
  type ModelHourName,
  modelKeys,
  parseIndex,
  selectRanges,
} from './model-bucket.ts';

/** A server of model files. */
export interface ModelServer {
  /** Address of the bucket, without a closing slash. */
  readonly base_url: string;
  readonly user_agent: string;
  readonly network?: HttpOptions;
}

const INDEX_ALLOWED_MS = 30_000;
/** The index of a whole HRRR file has 15 kB. */
const MAX_INDEX_BYTES = 2 ** 20;
/** Our fields of an HRRR hour have 20 MB, at most 60 MB with a weaker packing. */
const MAX_SUBSET_BYTES = 128 * 2 ** 20;
const RANGES_AT_ONCE = 4;
const RANGE_ALLOWED_MS = 20_000;
const SLOWEST_BYTES_PER_S = 100_000;
/** Assumed length of a range that ends with the file, for its time limit. */
const OPEN_RANGE_BYTES = 8 * 2 ** 20;

/**
 * The files of one hour, each reduced to the messages that hold our fields; 'absent' while the index of one is missing.
 *
 * All ranges of a file are of one version, else the file is fetched again. Throws BadInput for an unusable index (an error
 * page, another run), Unavailable when the server fails or sends anything but whole GRIB messages, after all retries.
 */
export async function fetchModelHour(hour: ModelHourName, server: ModelServer): Promise<ModelFile[] | 'absent'> {
  const files: ModelFile[] = [];
  for (const key of modelKeys(hour)) {
    const bytes = await fetchSubset(`${server.base_url}/${key}`, hour.run_time, server);
    if (bytes === null) return 'absent';
    files.push({ subject: key, bytes });
  }
  return files;
}

/** The messages of a file that hold our fields; null while its index is missing. */
async function fetchSubset(url: string, run_time: number, server: ModelServer): Promise<Buffer | null> {
  const { network = {} } = server;
  const index_url = `${url}.idx`;
  const index = await fetchIndex(index_url, server);
  if (index === null) return null;
  const ranges = selectRanges(parseIndex(index, index_url, run_time), HAIL_FIELDS);
  if (ranges.length === 0) throw new Unavailable(index_url, 'index lists none of our fields');
  const bytes_known = ranges.reduce((sum, { start, end }) => sum + (end === null ? 0 : end - start), 0);
  if (bytes_known > MAX_SUBSET_BYTES)
    throw new Unavailable(index_url, `our fields have ${bytes_known} bytes, expected at most ${MAX_SUBSET_BYTES}`);
  return withRetries(() => fetchRanges(url, ranges, server), network);
}

/** Text of an index; null while the server does not have it. */
async function fetchIndex(url: string, { user_agent, network }: ModelServer): Promise<string | null> {
  const bounds = { max_bytes: MAX_INDEX_BYTES, allowed_ms: INDEX_ALLOWED_MS };
  const answer = await fetchBytes(url, { headers: { 'user-agent': user_agent }, statuses: [404], ...bounds }, network);
  return answer.status === 404 ? null : answer.bytes.toString('utf8');
}

/** The bytes of all ranges, concatenated. The answer to the first range has the version that the others must have. */
async function fetchRanges(url: string, ranges: readonly ByteRange[], server: ModelServer): Promise<Buffer> {
  const [first, ...others] = ranges;
  const start = await fetchRange(url, first, null, server);
  const rest = await inParallel(others, RANGES_AT_ONCE, async (range) => {
    const answer = await fetchRange(url, range, start.etag, server);
    if (answer.etag !== start.etag) throw new Transient(url, 'file changed between two byte ranges');
    return answer.bytes;
  });
  const bytes = Buffer.concat([start.bytes, ...rest]);
  refuseBroken(url, bytes);
  return bytes;
}

interface RangeAnswer {
  readonly bytes: Buffer;
  readonly etag: string | null;
}

async function fetchRange(
  url: string,
  range: ByteRange,
  etag: string | null,
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
  const request = { headers, statuses: [206, 412, 416], max_bytes: MAX_SUBSET_BYTES, allowed_ms };
  const answer = await fetchOnce(url, request, network);
  if (answer.status === 200)
    throw new Unavailable(url, 'server sends the whole file, expected the byte range that was asked for');
  if (answer.status === 412) throw new Transient(url, 'file changed between two byte ranges');
  if (answer.status === 416)
    throw new Unavailable(url, `file ends before byte ${start}, expected what its index lists`);
  const length = lengthOf(url, answer, range);
  if (answer.bytes.length !== length)
    throw new Transient(url, `${answer.bytes.length} bytes arrived, expected ${length}`);
  return { bytes: answer.bytes, etag: answer.headers.etag ?? null };
}

/** Length of the part that an answer announces. Throws when it is another part than requested. */
function lengthOf(url: string, { headers }: HttpAnswer, { start, end }: ByteRange): number {
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

/** Throws unless the bytes are whole GRIB2 messages without a gap. */
function refuseBroken(url: string, bytes: Buffer): void {
  let messages = 0;
  for (let at = 0; at < bytes.length; messages++) {
    const indicator = bytes.subarray(at, at + INDICATOR_BYTES);
    if (indicator.length < INDICATOR_BYTES || findMessage(indicator) !== 0)
      throw new Transient(url, `no GRIB message begins at byte ${at} of its ranges, expected what its index lists`);
    const length = statedLength(indicator);
    const end = bytes.subarray(at + length - END_BYTES, at + length);
    if (length < INDICATOR_BYTES + END_BYTES || at + length > bytes.length || !isEndSection(end))
      throw new Transient(url, `message ${messages + 1} of its ranges is cut short, expected ${length} bytes`);
    at += length;
  }
  if (messages === 0) throw new Transient(url, 'its ranges are empty, expected GRIB messages');
}
