import { asOneQuestion } from '../duckdb.ts';
import type { Answer, ReadEndpoint } from '../endpoint.ts';
import { JSON_TYPE } from '../http/reply.ts';
import type { Services } from '../services.ts';
import type { CallMiddleware } from '../state.ts';
import type { CheckReply } from './check-reply.ts';
import { checkType } from './negotiate.ts';
import { provenanceOfPlan, tagOf } from './plan.ts';

/** Makes the answer of an endpoint that reads, from its plan. X-Data-Source is the provenance of what it read. */
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
    state.reply = {
      status: 200,
      type,
      headers: {
        ...(state.tag === null ? { 'Cache-Control': 'no-store' } : {}),
        ...(provenance === null ? {} : { 'X-Data-Source': provenance }),
        ...answer.headers,
      },
      bytes: Buffer.from(text),
      gzipped: null,
    };
  };
}
