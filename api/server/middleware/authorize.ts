import { ApiError } from '../../http/errors.ts';
import type { Endpoint } from '../endpoint.ts';
import type { CallMiddleware } from '../state.ts';
import { simulatedRate } from '../variant.ts';

/** Lets those through whose key and plan open the endpoint: kind of key, then scope, then feature. */
export function authorize({ test_key, scope, feature }: Endpoint): CallMiddleware {
  return (ctx, next) => {
    const { caller, variant } = ctx.state;
    const { kind, scopes, plan } = caller;
    if (kind === 'test' && !test_key && simulatedRate(caller, variant) === null)
      throw new ApiError('forbidden', 'test keys open /v1/health only, use a live key (hs_live_…)');
    if (scope !== null && !hasScope(scopes, scope))
      throw new ApiError('insufficient_scope', `the key lacks the scope ${scope}`, { 'X-Required-Scope': scope });
    if (feature !== null && !plan.features.includes(feature))
      throw new ApiError('feature_not_available', `the plan has no ${feature}`);
    return next();
  };
}

/** `*`, `resource:*` or the scope itself; writing does not imply reading. */
function hasScope(scopes: readonly string[], scope: string): boolean {
  return scopes.includes(scope) || scopes.includes('*') || scopes.includes(`${scope.slice(0, scope.indexOf(':'))}:*`);
}
