import { isPathId } from '../../schemas/ids.ts';
import type { Endpoint } from '../endpoint.ts';
import { ApiError } from '../errors.ts';

/** What a path and method lead to. */
export type Match =
  | { readonly kind: 'found'; readonly endpoint: Endpoint; readonly params: Readonly<Record<string, string>> }
  /** The path exists, the method does not; `allow` lists those that do. */
  | { readonly kind: 'wrong_method'; readonly allow: string }
  | { readonly kind: 'nothing' };

export interface Router {
  /** `path` without its trailing slash, undecoded. HEAD finds what GET finds. */
  readonly match: (method: string, path: string) => Match;
  /** Methods of a path as the Allow header lists them; null when there is no such path. */
  readonly allowed: (path: string) => string | null;
}

interface Place {
  readonly segments: readonly string[];
  readonly methods: Map<string, Endpoint>;
  allow: string;
}

const NOTHING: Match = { kind: 'nothing' };
const NO_PARAMS: Readonly<Record<string, string>> = {};

/**
 * Finds endpoints by path. Literal segments win over parameters; a parameter is `[A-Za-z0-9_-]{1,64}`, and any other text
 * names nothing. Empty and dot segments lead nowhere.
 */
export function router(endpoints: readonly Endpoint[]): Router {
  const places = new Map<string, Place>();
  for (const endpoint of endpoints) {
    const place = places.get(endpoint.path) ?? { segments: endpoint.path.split('/'), methods: new Map(), allow: '' };
    if (place.methods.has(endpoint.method)) throw new Error(`${endpoint.method} ${endpoint.path} is declared twice`);
    place.methods.set(endpoint.method, endpoint);
    place.allow = allowHeader([...place.methods.keys()]);
    places.set(endpoint.path, place);
  }
  const literal = new Map([...places].filter(([path]) => !path.includes('{')));
  // More literal segments, further to the left, come first.
  const patterns = [...places.values()]
    .filter((place) => !literal.has(place.segments.join('/')))
    .sort((a, b) => (shapeOf(a) < shapeOf(b) ? -1 : 1));

  const find = (path: string): { place: Place; params: Readonly<Record<string, string>> } | null => {
    const place = literal.get(path);
    if (place) return { place, params: NO_PARAMS };
    const segments = path.split('/');
    for (const pattern of patterns) {
      const params = paramsOf(pattern.segments, segments);
      if (params) return { place: pattern, params };
    }
    return null;
  };

  return {
    match: (method, path) => {
      const found = find(path);
      if (!found) return NOTHING;
      const endpoint = found.place.methods.get(method === 'HEAD' ? 'GET' : method);
      if (!endpoint) return { kind: 'wrong_method', allow: found.place.allow };
      return { kind: 'found', endpoint, params: found.params };
    },
    allowed: (path) => find(path)?.place.allow ?? null,
  };
}

/** The refusal of a path or method that leads nowhere. */
export function nowhere(match: Exclude<Match, { kind: 'found' }>, method: string): ApiError {
  if (match.kind === 'nothing') return new ApiError('not_found', 'there is nothing at this path');
  const message = `${method} is not served here, expected ${match.allow}`;
  return new ApiError('method_not_allowed', message, { Allow: match.allow });
}

/** Value of the header Allow of a path that takes some methods. */
export function allowHeader(methods: readonly string[]): string {
  return ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']
    .filter((method) => method === 'OPTIONS' || methods.includes(method === 'HEAD' ? 'GET' : method))
    .join(', ');
}

function shapeOf(place: Place): string {
  return place.segments.map((segment) => (segment.startsWith('{') ? '1' : '0')).join('');
}

function paramsOf(pattern: readonly string[], segments: readonly string[]): Record<string, string> | null {
  if (pattern.length !== segments.length) return null;
  const params: Record<string, string> = {};
  for (const [at, wanted] of pattern.entries()) {
    const given = segments[at] as string;
    if (!wanted.startsWith('{')) {
      if (wanted !== given) return null;
    } else if (!isPathId(given)) return null;
    else params[wanted.slice(1, -1)] = given;
  }
  return params;
}
