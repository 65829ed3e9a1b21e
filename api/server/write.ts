import type { StoredAnswer } from '../billing/idempotency.ts';
import { type Headers, JSON_TYPE, setHeaders } from '../http/reply.ts';
import { parseQuery } from '../http/target.ts';
import type { Writer } from '../records/database.ts';
import { readBody } from './body.ts';
import {
  answerSimulated,
  authorize,
  chargeOf,
  checkAccept,
  refuseOverCap,
  spendCapExceeded,
  type Tools,
  typesOf,
} from './call.ts';
import type { Answer, WriteEndpoint } from './endpoint.ts';
import type { Once } from './idempotency.ts';
import { coded } from './read.ts';
import type { CallHandler } from './state.ts';
import { paramsOf, validInput } from './validate.ts';

/** Answers the calls of an endpoint that writes: one transaction commits rows, charge and idempotency record. */
export function writeHandler(endpoint: WriteEndpoint, { services, check }: Tools, once: Once): CallHandler {
  const { records, secrets } = services;
  const types = typesOf(endpoint);
  return async (ctx) => {
    const { state, res } = ctx;
    const { caller, request_id, now_ms } = state;
    authorize(endpoint, state);
    checkAccept(ctx, types);
    const body = endpoint.body === null ? null : await readBody(ctx, endpoint);
    if (answerSimulated(ctx, endpoint, body, check)) return;
    const query = parseQuery(state.search);

    const { answer, is_replay } = await once(ctx, endpoint, { query, body }, async (claim) => {
      const input = validInput(endpoint, paramsOf(endpoint, ctx), query, body);
      const price = endpoint.price(input);
      await refuseOverCap(records, price, state);
      const question = { ...input, caller, request_id, now_ms, services };
      const ready = await endpoint.prepare(question);
      const charge = price === null ? null : chargeOf(state, price);
      const work = async (writer: Writer): Promise<StoredAnswer & { readonly sent: string }> => {
        const answer: Answer<unknown> = await endpoint.write(question, writer, ready);
        check(endpoint, answer);
        const sent = JSON.stringify(answer.body);
        const stored = endpoint.answers_secret ? secrets.encrypt(sent) : sent;
        return { status: endpoint.status, type: answer.type ?? JSON_TYPE, body: stored, sent };
      };
      const stored = await records.write(caller.business_id, charge, claim, now_ms, work);
      if (stored === 'over_cap' || stored === 'over_key_cap') throw spendCapExceeded(stored, now_ms);
      state.credits_charged = charge?.credits ?? null;
      return { ...stored, body: stored.sent };
    });
    if (!is_replay) endpoint.committed(services);

    ctx.status = answer.status;
    setHeaders(res, {
      'Content-Type': answer.type,
      'Cache-Control': 'no-store',
      ...dataSource(endpoint, answer),
      ...(is_replay ? { 'Idempotent-Replay': 'true' } : {}),
    });
    const bytes = Buffer.from(answer.body);
    // The length of a compressed answer would show guesses of a secret.
    ctx.body = endpoint.answers_secret ? bytes : await coded(ctx, bytes);
  };
}

function dataSource({ data_source, status: success }: WriteEndpoint, { status, body }: StoredAnswer): Headers {
  if (data_source === null || status !== success) return {};
  const provenance = data_source(JSON.parse(body));
  return provenance === null ? {} : { 'X-Data-Source': provenance };
}
