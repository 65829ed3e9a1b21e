import type { Endpoint } from '../endpoint.ts';
import { ApiError } from '../errors.ts';
import type { Caller } from '../records/records.ts';

/** Throws unless the caller's key and plan open the endpoint: kind of key, then scope, then feature. */
export function checkPermission(caller: Caller, endpoint: Endpoint): void {
  if (caller.kind === 'test' && !endpoint.test_key)
    throw new ApiError('forbidden', 'test keys open /v1/health only, use a live key (hs_live_…)');
  const { scope, feature } = endpoint;
  if (scope !== null && !hasScope(caller.scopes, scope))
    throw new ApiError('insufficient_scope', `the key lacks the scope ${scope}`, { 'X-Required-Scope': scope });
  if (feature !== null && !caller.plan.features.includes(feature))
    throw new ApiError('feature_not_available', `the plan has no ${feature}`);
}

/** `*`, `resource:*` or the scope itself; writing does not imply reading. */
export function hasScope(scopes: readonly string[], scope: string): boolean {
  return scopes.includes(scope) || scopes.includes('*') || scopes.includes(`${scope.slice(0, scope.indexOf(':'))}:*`);
}
