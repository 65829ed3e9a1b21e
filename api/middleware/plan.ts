import { NOTHING_PUBLISHED } from '../catalog.ts';
import type { Plan, PlanInput, ReadEndpoint } from '../endpoint.ts';
import { entityTag } from '../http/entity-tag.ts';
import type { Services } from '../services.ts';
import type { CallMiddleware, Input } from '../state.ts';

const NO_PLAN: Plan = { dates: [] };

/**
 * Says what the answer will read, before it is made: one edition, pinned for the request, and what of it. Where there is no
 * edition nothing is answered, and nothing charged. A version makes the entity tag.
 */
export function plan(endpoint: ReadEndpoint, services: Services): CallMiddleware {
  const readsData = endpoint.cacheable || endpoint.plan !== null;
  return (ctx, next) => {
    const { state } = ctx;
    const { now_ms, input } = state;
    state.edition ??= readsData ? services.catalog.edition() : NOTHING_PUBLISHED;
    const { plan, version } = planOf(endpoint, { ...input, now_ms, services, edition: state.edition });
    Object.assign(state, { plan, version });
    if (version !== null) state.tag = tagOf(endpoint, input, `${services.base_url} ${version}`);
    return next();
  };
}

/** The plan of a question, and what stands for its answer; null where nothing does. */
export function planOf(
  endpoint: ReadEndpoint,
  input: PlanInput,
): { readonly plan: Plan; readonly version: string | null } {
  const plan = endpoint.plan?.(input) ?? NO_PLAN;
  const version = endpoint.cacheable ? (plan.version ?? null) : null;
  return { plan, version: version === null ? null : `${input.edition.provenanceOf(plan.dates)} ${version}` };
}

/** Tag of an answer; what the clock decides stays out of it. */
export function tagOf({ path, clocked }: ReadEndpoint, input: Input, content: string): string {
  const query = Object.entries(input.query ?? {}).filter(([name]) => !clocked.includes(name));
  return entityTag(path, { params: input.params, query: Object.fromEntries(query) }, content);
}
