import { combineProvenances, type MixedProvenance } from '../../schemas/provenance.ts';
import { type Edition, NOTHING_PUBLISHED } from '../catalog.ts';
import type { PlanInput, ReadEndpoint, ReadPlan } from '../endpoint.ts';
import { entityTag } from '../http/entity-tag.ts';
import type { Services } from '../services.ts';
import type { CallMiddleware, Input } from '../state.ts';

const NO_PLAN: ReadPlan = { dates: [] };

/**
 * Plans the answer before it is made: pins one edition for the request, and lists what of it will be read. Without an
 * edition nothing is answered, and nothing charged. The entity tag follows from the version.
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

/** The plan of an input, and the version that identifies its answer; null where there is none. */
export function planOf(
  endpoint: ReadEndpoint,
  input: PlanInput,
): { readonly plan: ReadPlan; readonly version: string | null } {
  const plan = endpoint.plan?.(input) ?? NO_PLAN;
  const version = endpoint.cacheable ? (plan.version ?? null) : null;
  return { plan, version: version === null ? null : `${provenanceOfPlan(input.edition, plan)} ${version}` };
}

/** Provenance of all that an answer reads: of the storm dates, and of what its plan names beside them; null for nothing. */
export function provenanceOfPlan(
  edition: Edition,
  { dates, provenance = null }: ReadPlan,
  read: readonly string[] = dates,
): MixedProvenance | null {
  return combineProvenances([edition.provenanceOf(read), provenance].filter((one) => one !== null));
}

/** Tag of an answer; what the clock decides stays out of it. */
export function tagOf({ path, clocked }: ReadEndpoint, input: Input, content: string): string {
  const query = Object.entries(input.query ?? {}).filter(([name]) => !clocked.includes(name));
  return entityTag(path, { params: input.params, query: Object.fromEntries(query) }, content);
}
