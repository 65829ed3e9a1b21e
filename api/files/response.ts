import type { Readable } from 'node:stream';
import { ApiError } from '../errors.ts';
import { type ByteRange, planFile, type RequestHeaders } from '../http/ranges.ts';

export interface FileRequest {
  readonly method: 'GET' | 'HEAD';
  readonly headers: RequestHeaders;
}

/** What a file is answered with. */
export interface FileContent {
  readonly bytes: number;
  /** Strong tag, in quotes. */
  readonly etag: string;
  readonly media_type: string;
  /** Headers of every answer that is no error. */
  readonly headers: Readonly<Record<string, string>>;
}

/** A whole answer; `stream` is null for HEAD and wherever there is no body, and must be read or destroyed. */
export interface FileResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly stream: Readable | null;
}

/**
 * Answer to a request for a file, whole or by range, by its preconditions. `open` is called for what has a body. Throws ApiError
 * precondition_failed and range_not_satisfiable.
 */
export async function fileResponse(
  { method, headers }: FileRequest,
  { bytes: size, etag, media_type, headers: own }: FileContent,
  open: (range: ByteRange) => Promise<Readable>,
): Promise<FileResponse> {
  const plan = planFile(method, headers, { size, etag });
  const common = { ...own, ETag: etag, 'Accept-Ranges': 'bytes' };
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
  const length = bytes === null ? 0 : bytes.last - bytes.first + 1;
  const part =
    plan.status === 206 && bytes !== null ? { 'Content-Range': `bytes ${bytes.first}-${bytes.last}/${size}` } : {};
  return {
    status: plan.status,
    headers: { ...common, ...part, 'Content-Type': media_type, 'Content-Length': String(length) },
    stream: method === 'HEAD' || bytes === null ? null : await open(bytes),
  };
}
