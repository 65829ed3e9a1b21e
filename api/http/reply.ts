import type { ServerResponse } from 'node:http';

export const JSON_TYPE = 'application/json; charset=utf-8';

/** Names and values of headers. */
export type Headers = Readonly<Record<string, string>>;

/** A success as it is sent: the same bytes for every caller. */
export interface Reply {
  readonly status: number;
  readonly type: string;
  /** Headers beside type, tag and caching. */
  readonly headers: Headers;
  readonly bytes: Buffer;
  /** Made when first needed. */
  gzipped: Buffer | null;
}

/** Sets the headers that every answer has a dozen of: like `ctx.set`, which makes three lists of them on the way. */
export function setHeaders(res: ServerResponse, headers: Headers): void {
  for (const name in headers) res.setHeader(name, headers[name] as string);
}

/** True once the client is gone: it will receive nothing. */
export function isGone({ res }: { readonly res: ServerResponse }): boolean {
  return res.destroyed;
}
