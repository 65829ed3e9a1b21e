import Router, { type Layer } from '@koa/router';
import { PATH_ID } from '../../schemas/ids.ts';
import { ApiError } from '../errors.ts';

/** A router for paths as they come: capitals count, and the trailing slash is gone already. */
export function strictRouter(): Router {
  return new Router({ sensitive: true, strict: true });
}

/**
 * Path of a route from its template, such as `/v1/storms/{track_id}`. Not `:track_id` of the router, which takes and decodes
 * anything: "Path ids not matching `^[A-Za-z0-9_-]{1,64}$`: 404, not 400 (an id that cannot exist does not exist)".
 */
export function routePath(template: string): string | RegExp {
  if (!template.includes('{')) return template;
  const segments = template.split('/').map((segment) => (segment.startsWith('{') ? `(${PATH_ID})` : segment));
  return new RegExp(`^${segments.join('/')}$`);
}

/** Names of the parameters of a template, in order. */
export function paramNames(template: string): readonly string[] {
  return [...template.matchAll(/\{(\w+)\}/g)].map(([, name]) => name as string);
}

/** What lies at a path, of the layers that a router matched by path: "Literal path segments win over parameters". */
export function atPath(matched: readonly Layer[]): readonly Layer[] {
  const literal = matched.filter(({ path }) => typeof path === 'string');
  return literal.length > 0 ? literal : matched;
}

/** Methods of layers as the header Allow lists them; null when there is none. */
export function allowOf(layers: readonly Layer[]): string | null {
  return layers.length === 0 ? null : allowHeader(layers.flatMap(({ methods }) => methods));
}

/** Value of the header Allow of a path that takes some methods. */
export function allowHeader(methods: readonly string[]): string {
  return ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']
    .filter((method) => method === 'OPTIONS' || methods.includes(method === 'HEAD' ? 'GET' : method))
    .join(', ');
}

/** The refusal of a path or method that leads nowhere; `allow`: methods that the path takes, null where there is no such path. */
export function noRouteError(method: string, allow: string | null): ApiError {
  if (allow === null) return new ApiError('not_found', 'there is nothing at this path');
  return new ApiError('method_not_allowed', `${method} is not served here, expected ${allow}`, { Allow: allow });
}
