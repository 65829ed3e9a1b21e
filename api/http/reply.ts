import { hash } from 'node:crypto';
import type { ServerResponse } from 'node:http';

export const JSON_TYPE = 'application/json; charset=utf-8';
/** Answers above this size are compressed for clients that take gzip. */
export const GZIP_FROM_BYTES = 1024;

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

/** Weak entity tag over route, typed parameters and what stands for the content: a version of the data, or the content. */
export function entityTag(
  route: string,
  { params, query }: { readonly params: unknown; readonly query: unknown },
  content: string,
): string {
  const source = `${route}\n${canonical(params)}\n${canonical(query)}\n${content}`;
  return `W/"${hash('sha256', source, 'base64url').slice(0, 27)}"`;
}

/**
 * True when a list of entity tags, as If-Match and If-None-Match have it, names one; `*` names any. A weak tag matches only when
 * compared weakly; its `W/` is a capital letter (RFC 9110 section 8.8.3). For tags without a comma, as all of ours are. Not Koa's
 * `ctx.fresh`, which counts every answer as new when the request says `Cache-Control: no-cache`.
 */
export function namesTag(list: string | undefined, etag: string, how: 'strongly' | 'weakly'): boolean {
  if (list === undefined) return false;
  if (list.trim() === '*') return true;
  const opaque = (tag: string) => (how === 'weakly' && tag.startsWith('W/') ? tag.slice(2) : tag);
  return list.split(',').some((member) => opaque(member.trim()) === opaque(etag));
}

/**
 * JSON with the members of every object in the order of their names (UTF-16 code units): the JSON Canonicalization Scheme of
 * RFC 8785. Members that are undefined are left out. Throws RangeError for a number that JSON has no form for.
 */
export function canonical(value: unknown): string {
  if (typeof value === 'number' && !Number.isFinite(value))
    throw new RangeError(`canonical JSON of ${value}, expected a finite number`);
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null';
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`;
  const members = value as Readonly<Record<string, unknown>>;
  const parts = Object.keys(members)
    .sort()
    .filter((name) => members[name] !== undefined)
    .map((name) => `${JSON.stringify(name)}:${canonical(members[name])}`);
  return `{${parts.join(',')}}`;
}
