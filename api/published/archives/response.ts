import { pipeline, type Readable } from 'node:stream';
import { createGzip } from 'node:zlib';
import { ApiError } from '../../http/errors.ts';
import { acceptsGzip } from '../../http/negotiate.ts';
import { type ByteRange, planFile, type RequestHeaders } from '../../http/ranges.ts';

export interface FileRequest {
  /** GET or HEAD. */
  readonly method: string;
  readonly headers: RequestHeaders;
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
  readonly headers: Readonly<Record<string, string>>;
}

/** Status, headers and body; `stream` must be read or destroyed, and is null for HEAD and 304. */
export interface FileResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
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
 * Response to a request for a file, whole or by range, after its preconditions. A compressed response has its own tag, because its
 * bytes differ (RFC 9110 8.8.3.3), and no length; ranges are of the uncompressed bytes. `open` is called only for a response with a
 * body. Throws ApiError precondition_failed and range_not_satisfiable.
 */
export async function fileResponse(
  { method, headers }: FileRequest,
  { bytes: size, etag: plainTag, media_type, compressible = false, headers: own }: FileContent,
  open: (range: ByteRange) => Promise<Readable>,
): Promise<FileResponse> {
  const isZipped = compressible && headers.range === undefined && acceptsGzip(headers['accept-encoding']?.toString());
  const etag = isZipped ? plainTag.replace(/"$/, '-gzip"') : plainTag;
  const plan = planFile(method, headers, { size, etag });
  const common = {
    ...own,
    ETag: etag,
    'Accept-Ranges': 'bytes',
    ...(compressible ? { Vary: 'Accept-Encoding' } : {}),
  };
  if (!('bytes' in plan)) {
    if (plan.status === 416)
      throw new ApiError('range_not_satisfiable', `Range begins behind the end of ${size} bytes`, {
        'Content-Range': `bytes */${size}`,
      });
    if (plan.status === 412)
      throw new ApiError('precondition_failed', 'If-Match does not name this content', { ETag: etag });
    return { status: plan.status, headers: common, stream: null };
  }
  const { bytes } = plan;
  if (isZipped)
    return {
      status: plan.status,
      headers: { ...common, 'Content-Type': media_type, 'Content-Encoding': 'gzip' },
      stream: method === 'HEAD' || bytes === null ? null : zipped(await open(bytes)),
    };
  const length = bytes === null ? 0 : bytes.last - bytes.first + 1;
  const part =
    plan.status === 206 && bytes !== null ? { 'Content-Range': `bytes ${bytes.first}-${bytes.last}/${size}` } : {};
  return {
    status: plan.status,
    headers: { ...common, ...part, 'Content-Type': media_type, 'Content-Length': String(length) },
    stream: method === 'HEAD' || bytes === null ? null : await open(bytes),
  };
}

/** Compresses a stream; either ends with the other. */
function zipped(plain: Readable): Readable {
  // A failure of either destroys the other with its cause, and the sender of this one gets the error.
  return pipeline(plain, createGzip(), () => {});
}
