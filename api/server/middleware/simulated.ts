import { parseQuery } from '../../http/query.ts';
import { JSON_TYPE, respond } from '../../http/reply.ts';
import type { Endpoint } from '../endpoint.ts';
import type { CallMiddleware } from '../state.ts';
import { simulatedRate } from '../variant.ts';
import type { CheckReply } from './check-reply.ts';
import { paramReader, validInput } from './validate.ts';

/**
 * Answers callers who get simulated data, from the question and the day alone: it reads no data and no records, and charges
 * nothing. It writes nothing, so an Idempotency-Key has no effect.
 */
export function simulated(
  endpoint: Endpoint,
  simulate: NonNullable<Endpoint['simulate']>,
  check: CheckReply,
): CallMiddleware {
  const paramsOf = paramReader(endpoint);
  return async (ctx, next) => {
    const { state } = ctx;
    if (simulatedRate(state.caller, state.variant) === null) {
      await next();
      return;
    }
    const { request_id, now_ms, search, body } = state;
    const input = validInput(endpoint, paramsOf(ctx), parseQuery(search), body);
    const answer = { body: simulate({ ...input, request_id, now_ms }) };
    check(endpoint, answer);
    respond(ctx, {
      status: endpoint.status,
      type: JSON_TYPE,
      headers: { 'Cache-Control': 'no-store', 'X-Data-Source': 'simulated' },
      body: Buffer.from(JSON.stringify(answer.body)),
    });
  };
}
