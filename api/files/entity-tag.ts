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
