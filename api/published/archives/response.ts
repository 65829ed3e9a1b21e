import { pipeline, type Readable } from 'node:stream';
import { createGzip } from 'node:zlib';
import { ApiError } from '../../http/errors.ts';
import { acceptsGzip, type Headers, namesTag } from '../../http/reply.ts';
import type { FileRange } from '../data-root.ts';

export interface FileRequest {
  /** GET or HEAD. */
  readonly method: string;
  /** Names in lower case, as Node gives them. */
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
}

/** A file and the headers of its answers. */
interface FileContent {
  readonly bytes: number;
  /** Strong tag, in quotes. */
  readonly etag: string;
  readonly media_type: string;
  /** True where whole answers are compressed for clients that take gzip. */
  readonly compressible?: boolean;
  /** Headers of every success and 304. */
  readonly headers: Headers;
}

/** Status, headers and body; `stream` must be read or destroyed, and is null for HEAD and 304. */
export interface FileResponse {
  readonly status: number;
  readonly headers: Headers;
  readonly stream: Readable | null;
}

/** Makes a file response the answer of a context. */
export function sendFile(
  ctx: { status: number; body: unknown; set(headers: FileResponse['headers']): void },
  { status, headers, stream }: FileResponse,
): void {
  ctx.status = status;
  ctx.set(headers);
  if (stream !== null) ctx.body = stream;
}

/**
 * Response to a GET or HEAD of a file without a modification time: preconditions first, in the order of RFC 9110 section 13.2.2, then
 * the range. A compressed response has its own tag, because its bytes differ (section 8.8.3.3), and no length; ranges are of the
 * uncompressed bytes. `open` is called only for a response with a body. Throws ApiError precondition_failed and range_not_satisfiable.
 */
export async function fileResponse(
  { method, headers }: FileRequest,
  { bytes: size, etag: plainTag, media_type, compressible = false, headers: own }: FileContent,
  open: (range: FileRange) => Promise<Readable>,
): Promise<FileResponse> {
  const given = (name: string) => headers[name]?.toString();
  const is_zipped = compressible && headers.range === undefined && acceptsGzip(given('accept-encoding'));
  const etag = is_zipped ? plainTag.replace(/"$/, '-gzip"') : plainTag;
  const common = {
    ...own,
    ETag: etag,
    'Accept-Ranges': 'bytes',
    ...(compressible ? { Vary: 'Accept-Encoding' } : {}),
  };
  if (headers['if-match'] !== undefined && !namesTag(given('if-match'), etag, 'strongly'))
    throw new ApiError('precondition_failed', 'If-Match does not name this content', { ETag: etag });
  if (namesTag(given('if-none-match'), etag, 'weakly')) return { status: 304, headers: common, stream: null };

  // Another tag in If-Range, or a date, means that the client has parts of another version; HEAD ignores ranges.
  const is_part = method === 'GET' && (given('if-range') ?? etag).trim() === etag;
  const range = is_part ? rangeOf(given('range') ?? '', size) : null;
  const { first, last } = range ?? { first: 0, last: size - 1 };
  const content = async () => (method === 'HEAD' || size === 0 ? null : await open({ first, last }));
  if (is_zipped) {
    const plain = await content();
    return {
      status: 200,
      headers: { ...common, 'Content-Type': media_type, 'Content-Encoding': 'gzip' },
      // A failure of either stream destroys the other with its cause, and the sender of this one gets the error.
      stream: plain === null ? null : pipeline(plain, createGzip(), () => {}),
    };
  }
  const place = range === null ? {} : { 'Content-Range': `bytes ${first}-${last}/${size}` };
  return {
    status: range === null ? 200 : 206,
    headers: { ...common, ...place, 'Content-Type': media_type, 'Content-Length': String(last - first + 1) },
    stream: await content(),
  };
}

/**
 * The range of a header, `first-last`, `first-` or `-length`, within a file. Null for several ranges and for any other text: those
 * get the whole file, which RFC 9110 section 14.2 leaves to the server. Throws range_not_satisfiable behind the end.
 */
function rangeOf(header: string, size: number): FileRange | null {
  const [, from = '', to = ''] = /^\s*bytes\s*=\s*(\d*)-(\d*)\s*$/i.exec(header) ?? [];
  if (from === '' && to === '') return null;
  const first = from === '' ? Math.max(0, size - Number(to)) : Number(from);
  const last = from === '' || to === '' ? size - 1 : Number(to);
  if (from !== '' && last < first && to !== '') return null;
  if (first >= size)
    throw new ApiError('range_not_satisfiable', `Range begins behind the end of ${size} bytes`, {
      'Content-Range': `bytes */${size}`,
    });
  return { first, last: Math.min(last, size - 1) };
}
