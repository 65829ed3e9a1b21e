import type { StoredAnswer } from '../../billing/idempotency.ts';
import { type Headers, JSON_TYPE, type Reply, respond } from '../../http/reply.ts';
import type { Writer } from '../../records/database.ts';
import type { Services } from '../../services.ts';
import type { Answer, Endpoint, WriteEndpoint } from '../endpoint.ts';
import type { CallMiddleware } from '../state.ts';
import { chargeOf, spendCapExceeded } from './charge.ts';
import type { CheckReply } from './check-reply.ts';

/** Makes the answer of an endpoint that writes: one transaction commits rows, charge and idempotency record. */
export function write(endpoint: WriteEndpoint, services: Services, check: CheckReply): CallMiddleware {
  return async (ctx) => {
    const { state } = ctx;
    const { input, caller, request_id, now_ms, price, claim } = state;
    const question = { ...input, caller, request_id, now_ms, services };
    const ready = await endpoint.prepare(question);
    const work = async (writer: Writer): Promise<StoredAnswer & { readonly sent: string }> => {
      const answer: Answer<unknown> = await endpoint.write(question, writer, ready);
      check(endpoint, answer);
      const sent = JSON.stringify(answer.body);
      const body = endpoint.answers_secret ? services.secrets.encrypt(sent) : sent;
      return { status: endpoint.status, type: answer.type ?? JSON_TYPE, body, sent };
    };
    const charge = price === null ? null : chargeOf(state, price);
    const stored = await services.records.write(caller.business_id, charge, claim, now_ms, work);
    if (stored === 'over_cap' || stored === 'over_key_cap') throw spendCapExceeded(stored, now_ms);
    state.claim = null;
    state.charged = charge !== null;
    respond(ctx, storedReply(endpoint, { ...stored, body: stored.sent }));
    endpoint.committed(services);
  };
}

/** Reply of a stored answer, when it is first sent and when it is repeated. */
export function storedReply(endpoint: Endpoint, { status, type, body }: StoredAnswer, headers: Headers = {}): Reply {
  return {
    status,
    type,
    headers: { 'Cache-Control': 'no-store', ...dataSource(endpoint, status, body), ...headers },
    body: Buffer.from(body),
  };
}

function dataSource(endpoint: Endpoint, status: number, body: string): Headers {
  if (endpoint.kind !== 'write' || endpoint.data_source === null || status !== endpoint.status) return {};
  const provenance = endpoint.data_source(JSON.parse(body));
  return provenance === null ? {} : { 'X-Data-Source': provenance };
}
