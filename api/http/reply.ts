import type { ServerResponse } from 'node:http';

export const JSON_TYPE = 'application/json; charset=utf-8';
/** Answers above this size are compressed for clients that take gzip. */
export const GZIP_FROM_BYTES = 1024;

/** Names and values of headers. */
export type Headers = Readonly<Record<string, string>>;

/** Sets headers like `ctx.set`, which makes three lists of them and is measurable on answers with a dozen. */
export function setHeaders(res: ServerResponse, headers: Headers): void {
  for (const name in headers) res.setHeader(name, headers[name] as string);
}

/** True when the client has disconnected: nothing that is sent will reach it. */
export function isGone({ res }: { readonly res: ServerResponse }): boolean {
  return res.destroyed;
}

/** Media type without its parameters. */
export function mediaType(type: string): string {
  return (type.split(';', 1)[0] as string).trim().toLowerCase();
}

/** True when an Accept-Encoding header takes gzip, by name or by `*`, whether or not another coding is preferred. */
export function acceptsGzip(acceptEncoding = ''): boolean {
  const codings = acceptEncoding.split(',').map((coding) => coding.replaceAll(/\s/g, '').toLowerCase());
  const found =
    codings.find((coding) => /^(x-)?gzip(;|$)/.test(coding)) ?? codings.find((coding) => /^\*(;|$)/.test(coding));
  return found !== undefined && !/;q=0(\.0*)?$/.test(found);
}
