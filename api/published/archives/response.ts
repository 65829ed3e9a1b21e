import { pipeline, type Readable } from 'node:stream';
import { createGzip } from 'node:zlib';
import type Koa from 'koa';
import { ApiError } from '../../http/errors.ts';
import { acceptsGzip, type Headers, namesTag } from '../../http/reply.ts';
import type { FileRange } from '../data-root.ts';

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

/**
 * Answers GET or HEAD with a file without a modification time: preconditions first, in the order of RFC 9110 section 13.2.2, then
 * the range. A compressed answer has its own tag, because its bytes differ (section 8.8.3.3), and no length; ranges are of the
 * uncompressed bytes. `open` is called only for an answer with a body. Throws ApiError precondition_failed and range_not_satisfiable.
 */
export async function serveFile(
  ctx: Pick<Koa.ParameterizedContext, 'method' | 'headers' | 'status' | 'body' | 'set'>,
  { bytes: size, etag: plainTag, media_type, compressible = false, headers: own }: FileContent,
  open: (range: FileRange) => Promise<Readable>,
): Promise<void> {
  const { method, headers } = ctx;
  const is_zipped = compressible && headers.range === undefined && acceptsGzip(headers['accept-encoding']?.toString());
  const etag = is_zipped ? plainTag.replace(/"$/, '-gzip"') : plainTag;
  if (headers['if-match'] !== undefined && !namesTag(headers['if-match'], etag, 'strongly'))
    throw new ApiError('precondition_failed', 'If-Match does not name this content', { ETag: etag });
  const is_known = namesTag(headers['if-none-match'], etag, 'weakly');

  // Another tag in If-Range, or a date, means that the client has parts of another version; HEAD ignores ranges.
  const is_part = !is_known && method === 'GET' && (headers['if-range']?.toString() ?? etag).trim() === etag;
  const range = is_part ? rangeOf(headers.range ?? '', size, etag) : null;
  const { first, last } = range ?? { first: 0, last: size - 1 };
  const content = is_known || method === 'HEAD' || size === 0 ? null : await open({ first, last });
  ctx.status = is_known ? 304 : range === null ? 200 : 206;
  ctx.set({ ...own, ETag: etag, 'Accept-Ranges': 'bytes', ...(compressible ? { Vary: 'Accept-Encoding' } : {}) });
  if (is_known) return;
  // A failure of either stream destroys the other with its cause, and the sender of this one gets the error.
  if (content !== null) ctx.body = is_zipped ? pipeline(content, createGzip(), () => {}) : content;
  if (range !== null) ctx.set('Content-Range', `bytes ${first}-${last}/${size}`);
  ctx.set(is_zipped ? { 'Content-Encoding': 'gzip' } : { 'Content-Length': String(last - first + 1) });
  ctx.set('Content-Type', media_type);
}

/**
 * The range of a header, `first-last`, `first-` or `-length`, within a file. Null for several ranges and for any other text: those
 * get the whole file, which RFC 9110 section 14.2 leaves to the server. Throws range_not_satisfiable behind the end.
 */
function rangeOf(header: string, size: number, etag: string): FileRange | null {
  const [, from = '', to = ''] = /^\s*bytes\s*=\s*(\d*)-(\d*)\s*$/i.exec(header) ?? [];
  if (from === '' && to === '') return null;
  const first = from === '' ? Math.max(0, size - Number(to)) : Number(from);
  const last = from === '' || to === '' ? size - 1 : Number(to);
  if (from !== '' && last < first && to !== '') return null;
  if (first >= size)
    throw new ApiError('range_not_satisfiable', `Range begins behind the end of ${size} bytes`, {
      'Content-Range': `bytes */${size}`,
      ETag: etag,
    });
  return { first, last: Math.min(last, size - 1) };
}
