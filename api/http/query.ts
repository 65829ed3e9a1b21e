import { shown } from './decode.ts';
import { ApiError } from './errors.ts';

/** A query as text: a parameter that comes more than once is a list. */
export type QueryText = Readonly<Record<string, string | string[]>>;

/**
 * Parameters of a query string; throws `invalid_parameter` where it is no percent-encoded UTF-8, or holds a NUL. Not Koa's
 * `ctx.query`, which takes malformed escapes as they are: "Query or path wrong: 400 invalid_parameter".
 */
export function parseQuery(search: string): QueryText {
  const query: Record<string, string | string[]> = Object.create(null);
  if (search === '') return query;
  for (const pair of search.split('&')) {
    if (pair === '') continue;
    const equals = pair.indexOf('=');
    const name = decoded(equals === -1 ? pair : pair.slice(0, equals), 'query holds');
    const value = equals === -1 ? '' : decoded(pair.slice(equals + 1), `${shown(name)} is`);
    const before = query[name];
    if (before === undefined) query[name] = value;
    else if (Array.isArray(before)) before.push(value);
    else query[name] = [before, value];
  }
  return query;
}

/** `what`: how a refusal begins. */
function decoded(text: string, what: string): string {
  if (!text.includes('%') && !text.includes('+')) return text;
  // The same rule as for strings in bodies: no name or value has one, and PostgreSQL cannot hold it.
  if (text.includes('%00'))
    throw new ApiError('invalid_parameter', `${what} '${shown(text)}', expected no NUL character`);
  try {
    return decodeURIComponent(text.replaceAll('+', ' '));
  } catch (cause) {
    throw new ApiError('invalid_parameter', `${what} '${shown(text)}', expected percent-encoded UTF-8`, {}, { cause });
  }
}
