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

/** True when If-None-Match names the tag, by weak comparison, or names every tag with `*`. */
export function matches(ifNoneMatch: string | undefined, tag: string): boolean {
  return ifNoneMatch !== undefined && namesTag(ifNoneMatch, tag, 'weakly');
}

/**
 * True when a list of entity tags, as If-Match and If-None-Match have it, names one; `*` names any. A weak tag matches only when
 * compared weakly; its `W/` is a capital letter (RFC 9110 section 8.8.3). For tags without a comma, as all of ours are.
 */
export function namesTag(list: string, etag: string, how: 'strongly' | 'weakly'): boolean {
  if (how === 'weakly' && list === etag) return true; // what nearly every client sends
  if (list.trim() === '*') return true;
  const wanted = how === 'weakly' ? opaque(etag) : etag;
  return list.split(',').some((member) => {
    const tag = member.trim();
    return (how === 'weakly' ? opaque(tag) : tag) === wanted;
  });
}

function opaque(tag: string): string {
  return tag.startsWith('W/') ? tag.slice(2) : tag;
}
