/** The target of a request line, read in one way only. */
export interface Target {
  /** Path as it came, undecoded, without the query; the trailing slash is gone, the absolute form has lost scheme and host. */
  readonly path: string;
  /** Query string as it came, without '?'. */
  readonly search: string;
  /** The same for Koa and its router: a local URL without a character that their parser would cut off or rewrite. */
  readonly url: string;
}

/** What Node's `url.parse`, under Koa and its router, leaves as it is: it ends a path at '#' and trims exotic spaces. */
const PLAIN = /^\/[!-"$-~]*$/;

/**
 * Path and query of a request target. "A trailing slash is the same route; `//` and dot segments: 404" is ours to keep:
 * nothing is normalised but one slash at the end.
 */
export function readTarget(target: string): Target {
  const local = target.startsWith('/') ? target : target.replace(/^https?:\/\/[^/?#]*/i, '') || '/';
  const mark = local.indexOf('?');
  const whole = mark === -1 ? local : local.slice(0, mark);
  const search = mark === -1 ? '' : local.slice(mark + 1);
  const path = whole.length > 1 && whole.endsWith('/') && !whole.endsWith('//') ? whole.slice(0, -1) : whole;
  if (path === whole && local === target && PLAIN.test(target)) return { path, search, url: target };
  // No route has an empty segment, so that '*' and whatever else is no path leads nowhere.
  const place = path.startsWith('/') ? path : `//${path}`;
  return { path, search, url: plain(mark === -1 ? place : `${place}?${search}`) };
}

function plain(text: string): string {
  return text.replace(/[^!-"$-~]/g, encodeURIComponent);
}
