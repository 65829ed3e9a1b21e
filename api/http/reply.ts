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
  /** Made when first asked for. */
  gzipped: Buffer | null;
}

/** What of Koa's context an answer is put into. */
interface Answering {
  status: number;
  body: unknown;
  set(headers: Record<string, string>): void;
}

/** Makes a reply what Koa will send. */
export function setReply(ctx: Answering, { status, type, headers, bytes }: Reply): void {
  ctx.status = status;
  ctx.set({ 'Content-Type': type, ...headers }); // not `ctx.type`, which rewrites types that it knows
  ctx.body = bytes;
}

/** True once the client is gone: it will receive nothing. */
export function isGone({ res }: { readonly res: ServerResponse }): boolean {
  return res.destroyed;
}
