import { combineProvenances, type MixedProvenance } from '../../../schemas/provenance.ts';
import { entityTag } from '../../http/entity-tag.ts';
import { checkType } from '../../http/negotiate.ts';
import { JSON_TYPE, respond } from '../../http/reply.ts';
import { type Edition, NOTHING_PUBLISHED } from '../../published/catalog.ts';
import { asOneQuestion } from '../../published/duckdb.ts';
import type { Services } from '../../services.ts';
import type { Answer, PlanInput, ReadEndpoint, ReadPlan } from '../endpoint.ts';
import type { CallMiddleware, Input } from '../state.ts';
import type { CheckReply } from './check-reply.ts';

const NO_PLAN: ReadPlan = { dates: [] };

/**
 * First half of a read: pins one edition for the request, and plans which data the answer will use. Without an edition the call
 * is neither answered nor charged. The entity tag follows from the version of the plan, where it has one.
 */
export function plan(endpoint: ReadEndpoint, services: Services): CallMiddleware {
  const readsData = endpoint.cacheable || endpoint.plan !== null;
  return (ctx, next) => {
    const { state } = ctx;
    const { now_ms, input } = state;
    state.edition ??= readsData ? services.catalog.edition() : NOTHING_PUBLISHED;
    const { plan, version } = planOf(endpoint, { ...input, now_ms, services, edition: state.edition });
    Object.assign(state, { plan, version });
    // Answers hold addresses.
    const addresses = [services.base_url, services.tiles_url].filter((one) => one !== null).join(' ');
    if (version !== null) state.tag = tagOf(endpoint, input, `${addresses} ${version}`);
    return next();
  };
}

/** Second half of a read: makes the answer from its plan. X-Data-Source is the provenance of the data used. */
export function read(endpoint: ReadEndpoint, services: Services, check: CheckReply): CallMiddleware {
  return async (ctx) => {
    const { state } = ctx;
    const { input, caller, request_id, now_ms, edition, plan } = state;
    const question = { ...input, caller, request_id, now_ms, services, edition, plan };
    const answer: Answer<unknown> = await asOneQuestion(() => endpoint.answer(question));
    check(endpoint, answer);
    const text = typeof answer.body === 'string' ? answer.body : JSON.stringify(answer.body);
    const provenance =
      answer.provenance === undefined ? provenanceOfPlan(edition, plan, answer.dates) : answer.provenance;
    const type = answer.type ?? JSON_TYPE;
    checkType(ctx.req.headers.accept, type);
    if (endpoint.cacheable)
      state.tag ??= tagOf(
        endpoint,
        input,
        `${provenance} ${answer.tag === undefined ? text : JSON.stringify(answer.tag)}`,
      );
    const headers = {
      ...(state.tag === null ? { 'Cache-Control': 'no-store' } : {}),
      ...(provenance === null ? {} : { 'X-Data-Source': provenance }),
      ...answer.headers,
    };
    respond(ctx, { status: 200, type, headers, body: Buffer.from(text) });
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

/** Provenance of everything that an answer uses: its storm dates and the other data of its plan; null when it uses none. */
export function provenanceOfPlan(
  edition: Edition,
  { dates, provenance = null }: ReadPlan,
  read: readonly string[] = dates,
): MixedProvenance | null {
  return combineProvenances([edition.provenanceOf(read), provenance].filter((one) => one !== null));
}

/** Entity tag of an answer. Parameters whose default the clock decides are left out. */
function tagOf({ path, clocked }: ReadEndpoint, input: Input, content: string): string {
  const query = Object.entries(input.query ?? {}).filter(([name]) => !clocked.includes(name));
  return entityTag(path, { params: input.params, query: Object.fromEntries(query) }, content);
}
