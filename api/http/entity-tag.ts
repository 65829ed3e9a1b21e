import { hash } from 'node:crypto';
import { canonical } from './canonical.ts';

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
