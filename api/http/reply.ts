import type { ServerResponse } from 'node:http';

export const JSON_TYPE = 'application/json; charset=utf-8';

/** Names and values of headers. */
export type Headers = Readonly<Record<string, string>>;

/** A success as it is sent: the same bytes for every caller. */
export interface Reply {
  readonly status: number;
  readonly type: string;
  /** Headers other than type, length, tag and caching. */
  readonly headers: Headers;
  readonly body: Buffer;
}

/** Makes a reply the answer of a context. The type is sent as given, where `ctx.type` would rewrite known types. */
export function respond(
  ctx: { readonly res: ServerResponse; status: number; body: unknown },
  { status, type, headers, body }: Reply,
): void {
  ctx.status = status;
  setHeaders(ctx.res, headers);
  ctx.res.setHeader('Content-Type', type);
  ctx.body = body;
}

/** Sets headers like `ctx.set`, which makes three lists of them and is measurable on answers with a dozen. */
export function setHeaders(res: ServerResponse, headers: Headers): void {
  for (const name in headers) res.setHeader(name, headers[name] as string);
}

/** True when the client has disconnected: nothing that is sent will reach it. */
export function isGone({ res }: { readonly res: ServerResponse }): boolean {
  return res.destroyed;
}
