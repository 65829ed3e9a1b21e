import { END_BYTES, findMessage, INDICATOR_BYTES, isEndSection, statedLength } from '../grib2/index.ts';
import type { ModelFile } from '../read/model-hour.ts';
import { fetchBytes, fetchOnce, type HttpOptions, Transient, Unavailable, withRetries } from '../sources/http.ts';
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
    const url = `${server.base_url}/${key}`;
    const ranges = await fetchIndex(`${url}.idx`, hour.run_time, server);
    if (ranges === null) return 'absent';
    files.push({
      subject: key,
      bytes: await withRetries(() => fetchRanges(url, ranges, server), server.network ?? {}),
    });
  }
  return files;
}

/** Ranges of the messages that hold our fields; null while the server does not have the index. */
async function fetchIndex(url: string, run_time: number, server: ModelServer): Promise<ByteRange[] | null> {
  const request = { headers: { 'user-agent': server.user_agent }, statuses: [404], max_bytes: MAX_INDEX_BYTES };
  const answer = await fetchBytes(url, { ...request, allowed_ms: INDEX_ALLOWED_MS }, server.network);
  if (answer.status === 404) return null;
  const ranges = selectRanges(parseIndex(answer.bytes.toString('utf8'), url, run_time), HAIL_FIELDS);
  if (ranges.length === 0) throw new Unavailable(url, 'index lists none of our fields');
  const bytes_known = ranges.reduce((sum, { start, end }) => sum + (end === null ? 0 : end - start), 0);
  if (bytes_known > MAX_SUBSET_BYTES)
    throw new Unavailable(url, `our fields have ${bytes_known} bytes, expected at most ${MAX_SUBSET_BYTES}`);
  return ranges;
}

/** The bytes of all ranges, concatenated. The answer to the first range has the version that the others must have. */
async function fetchRanges(url: string, ranges: readonly ByteRange[], server: ModelServer): Promise<Buffer> {
  const [first, ...others] = ranges;
  const { bytes, etag } = await fetchRange(url, first, null, server);
  const rest = await inParallel(others, RANGES_AT_ONCE, async (range) => {
    const answer = await fetchRange(url, range, etag, server);
    if (answer.etag !== etag) throw new Transient(url, 'file changed between two byte ranges');
    return answer.bytes;
  });
  const all = Buffer.concat([bytes, ...rest]);
  refuseBroken(url, all);
  return all;
}

async function fetchRange(
  url: string,
  { start, end }: ByteRange,
  etag: string | null,
  { user_agent, network = {} }: ModelServer,
): Promise<{ readonly bytes: Buffer; readonly etag: string | null }> {
  const headers = {
    'user-agent': user_agent,
    range: `bytes=${start}-${end === null ? '' : end - 1}`,
    ...(etag === null || etag.startsWith('W/') ? {} : { 'if-match': etag }),
  };
  const expected_bytes = end === null ? OPEN_RANGE_BYTES : end - start;
  const allowed_ms = RANGE_ALLOWED_MS + Math.ceil((1000 * expected_bytes) / SLOWEST_BYTES_PER_S);
  const request = { headers, statuses: [206, 412, 416], max_bytes: MAX_SUBSET_BYTES, allowed_ms };
  const answer = await fetchOnce(url, request, network);
  if (answer.status === 200)
    throw new Unavailable(url, 'server sends the whole file, expected the byte range that was asked for');
  if (answer.status === 412) throw new Transient(url, 'file changed between two byte ranges');
  if (answer.status === 416)
    throw new Unavailable(url, `file ends before byte ${start}, expected what its index lists`);
  const found = answer.headers['content-range'] ?? '';
  const [, from, to, total] = /^bytes (\d+)-(\d+)\/(\d+)$/.exec(found) ?? [];
  const last = end === null ? Number(total) - 1 : end - 1;
  if (Number(from) !== start || Number(to) !== last) {
    const expected = `bytes ${start}-${end === null ? '' : last}`;
    throw new Transient(url, `server answers 206 with range '${found}', expected '${expected}'`);
  }
  const length = last - start + 1;
  if (answer.bytes.length !== length)
    throw new Transient(url, `${answer.bytes.length} bytes arrived, expected ${length}`);
  return { bytes: answer.bytes, etag: answer.headers.etag ?? null };
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
