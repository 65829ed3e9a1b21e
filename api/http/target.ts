import { shown } from './decode.ts';
import { ApiError } from './errors.ts';

/** The target of a request line. */
interface Target {
  /** Path as it came, undecoded, without the query; the trailing slash is gone, the absolute form has lost scheme and host. */
  readonly path: string;
  /** Query string as it came, without '?'. */
  readonly search: string;
}

/**
 * Path and query of a request target. "A trailing slash is the same route; `//` and dot segments: 404": nothing is normalised but
 * one slash at the end.
 */
export function readTarget(target: string): Target {
  const local = target.startsWith('/') ? target : target.replace(/^https?:\/\/[^/?#]*/i, '') || '/';
  const mark = local.indexOf('?');
  const path = mark === -1 ? local : local.slice(0, mark);
  const is_slashed = path.length > 1 && path.endsWith('/') && !path.endsWith('//');
  return { path: is_slashed ? path.slice(0, -1) : path, search: mark === -1 ? '' : local.slice(mark + 1) };
}

/** A query as text: a parameter that comes more than once is a list. */
export type QueryText = Readonly<Record<string, string | string[]>>;

/**
 * Parameters of a query string; throws `invalid_parameter` where it is no percent-encoded UTF-8, or holds a NUL. Not Koa's
 * `ctx.query`, which takes malformed escapes as they are.
 */
export function parseQuery(search: string): QueryText {
  const query: Record<string, string | string[]> = Object.create(null);
  for (const pair of search.split('&')) {
    if (pair === '') continue;
    const equals = pair.indexOf('=');
    const name = decoded(equals === -1 ? pair : pair.slice(0, equals), null);
    const value = equals === -1 ? '' : decoded(pair.slice(equals + 1), name);
    const before = query[name];
    query[name] = before === undefined ? value : [before, value].flat();
  }
  return query;
}

/** A name, or the value of the parameter `name`. */
function decoded(text: string, name: string | null): string {
  if (!text.includes('%') && !text.includes('+')) return text;
  const refusal = (expected: string, cause?: unknown) => {
    const what = name === null ? 'query holds' : `${shown(name)} is`;
    return new ApiError('invalid_parameter', `${what} '${shown(text)}', expected ${expected}`, {}, { cause });
  };
  // The same rule as for strings in bodies: PostgreSQL cannot hold a NUL.
  if (text.includes('%00')) throw refusal('no NUL character');
  try {
    return decodeURIComponent(text.replaceAll('+', ' '));
  } catch (cause) {
    throw refusal('percent-encoded UTF-8', cause);
  }
}
