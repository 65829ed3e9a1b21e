import { LRUCache } from 'lru-cache';
import { ApiError } from './errors.ts';

/** Media range or coding of an Accept header, with its weight. */
interface Preference {
  readonly name: string;
  readonly weight: number;
}

/** Parsed headers: most clients send one of a few. */
const parsed = new LRUCache<string, readonly Preference[]>({ max: 500 });
/** Longer headers are parsed each time, characters. */
const LONGEST_CACHED = 500;

/** Media type without its parameters. */
export function mediaType(type: string): string {
  const end = type.indexOf(';');
  return (end === -1 ? type : type.slice(0, end)).trim().toLowerCase();
}

/**
 * True when an Accept header takes a media type; the most specific range decides. Absent or empty: everything. Not Koa's
 * `ctx.accepts`, for which `application/json; charset=utf-8` is another type than ours: "406 only when Accept rules JSON (or the
 * chosen format) out".
 */
export function accepts(accept: string | undefined, type: string): boolean {
  if (accept === undefined || accept === '*/*') return true;
  const preferences = preferencesOf(accept);
  if (preferences.length === 0) return true;
  const ranges = [type, `${type.slice(0, type.indexOf('/'))}/*`, '*/*'];
  for (const range of ranges) {
    const preference = preferences.find(({ name }) => name === range);
    if (preference) return preference.weight > 0;
  }
  return false;
}

/** Throws `not_acceptable` when an Accept header rules out the type of an answer. */
export function checkType(accept: string | undefined, type: string): void {
  const media = mediaType(type);
  if (!accepts(accept, media)) throw new ApiError('not_acceptable', `Accept rules out ${media}`);
}

/** Answers above this size are compressed for clients that accept it. */
export const GZIP_FROM_BYTES = 1024;

/** True when an Accept-Encoding header asks for gzip, by name or by `*`: "gzip above 1 KB when accepted", preferred or not. */
export function acceptsGzip(acceptEncoding: string | undefined): boolean {
  if (acceptEncoding === undefined) return false;
  const preferences = preferencesOf(acceptEncoding);
  const gzip =
    preferences.find(({ name }) => name === 'gzip' || name === 'x-gzip') ??
    preferences.find(({ name }) => name === '*');
  return gzip !== undefined && gzip.weight > 0;
}

function preferencesOf(header: string): readonly Preference[] {
  const known = parsed.get(header);
  if (known) return known;
  const preferences = header.split(',').flatMap((part) => {
    const [name = '', ...parameters] = part.split(';').map((piece) => piece.trim().toLowerCase());
    if (name === '') return [];
    const weight = parameters.find((parameter) => parameter.startsWith('q='))?.slice(2);
    return [{ name, weight: weight === undefined ? 1 : Number.parseFloat(weight) || 0 }];
  });
  if (header.length <= LONGEST_CACHED) parsed.set(header, preferences);
  return preferences;
}
