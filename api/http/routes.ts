import { PATH_ID } from '../../schemas/ids.ts';
import { ApiError } from './errors.ts';

/**
 * Pattern of a path with parameters, such as `/v1/storms/{track_id}`. Not `:track_id` of the router, which matches and decodes any
 * text: "Path ids not matching `^[A-Za-z0-9_-]{1,64}$`: 404, not 400 (an id that cannot exist does not exist)". The pattern does
 * not match any of `literals`, so that a path has either literal routes or routes with parameters: "GET /v1/alerts/subscribe is
 * 405 with Allow, not a subscription called subscribe".
 */
export function pathPattern(template: string, literals: readonly string[]): RegExp {
  const pattern = template.replace(/\{\w+\}/g, `(${PATH_ID})`);
  // Literals that match have letters, digits, '_', '-' and '/' only, which stand for themselves in a pattern.
  const excluded = literals.filter((path) => new RegExp(`^${pattern}$`).test(path));
  return new RegExp(`^${excluded.map((path) => `(?!${path}$)`).join('')}${pattern}$`);
}

/** True for a path with parameters. */
export function hasParams(template: string): boolean {
  return template.includes('{');
}

/** Names of the parameters of a path, in order. */
export function paramNames(template: string): readonly string[] {
  return [...template.matchAll(/\{(\w+)\}/g)].map(([, name]) => name as string);
}

/** Value of the header Allow of a path that takes some methods. */
export function allowHeader(methods: readonly string[]): string {
  return ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']
    .filter((method) => method === 'OPTIONS' || methods.includes(method === 'HEAD' ? 'GET' : method))
    .join(', ');
}

/** Refusal of an unknown path or method; `allow`: methods of the path, null for an unknown path. */
export function noRouteError(method: string, allow: string | null): ApiError {
  if (allow === null) return new ApiError('not_found', 'there is nothing at this path');
  return new ApiError('method_not_allowed', `${method} is not served here, expected ${allow}`, { Allow: allow });
}
