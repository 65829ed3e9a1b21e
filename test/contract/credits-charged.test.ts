import test from 'ava';
import { ENDPOINTS } from '../../api/routes/index.ts';
import type { Endpoint } from '../../api/server/endpoint.ts';
import { creditsOf, openAccount } from '../support/service/account.ts';
import { initOf } from '../support/service/document.ts';
import { ownFor } from '../support/service/own-resources.ts';
import { startWholeService, type WholeService } from '../support/service/whole-service.ts';

let whole: WholeService;
test.before(async () => {
  whole = await startWholeService();
});
test.after.always(() => whole.service.close());

/** Calls the example of an endpoint, changed; returns status, what the header says and what the ledger says. */
async function openCaller(endpoint: Endpoint) {
  const { service, known } = whole;
  const { business_id, key } = await openAccount(service);
  const ids: Record<string, string> = { ...known, ...(await ownFor(endpoint, service, business_id)) };
  const path = endpoint.path.replace(/\{(\w+)\}/g, (_, name: string) => ids[name] ?? 'unknown');
  const values = Object.entries(endpoint.example?.query ?? {}).map(([name, value]) => [name, known[name] ?? value]);
  return async (
    change: { readonly method?: string; readonly query?: string; readonly headers?: Record<string, string> } = {},
  ) => {
    const target = `${path}?${new URLSearchParams(values)}${change.query ?? ''}`;
    const init = initOf({ method: endpoint.method, target, body: endpoint.example?.body });
    const before = await creditsOf(service, business_id);
    const answer = await service.call(target, {
      ...init,
      ...(change.method === undefined ? {} : { method: change.method }),
      headers: { ...init.headers, ...change.headers },
      key,
    });
    await answer.arrayBuffer();
    return {
      status: answer.status,
      said: Number(answer.headers.get('X-Credits-Charged') ?? Number.NaN),
      charged: (await creditsOf(service, business_id)) - before,
      tag: answer.headers.get('ETag'),
      replayed: answer.headers.get('Idempotent-Replay') !== null,
    };
  };
}

for (const endpoint of ENDPOINTS)
  test.serial(
    `${endpoint.method} ${endpoint.path} says in X-Credits-Charged what the ledger has, however it is answered`,
    async (t) => {
      const ask = await openCaller(endpoint);
      const key = { 'Idempotency-Key': 'once' };
      const first = await ask({ headers: endpoint.kind === 'write' ? key : {} });
      t.is(first.said, first.charged, `first ${first.status}`);
      t.is(first.status, endpoint.status);
      const outcomes: Parameters<typeof ask>[0][] = [
        endpoint.kind === 'write' ? { headers: key } : {},
        { query: '&qqqqqqqqqqqq=1' },
        { query: '&_=1', headers: { Accept: 'image/png' } },
        ...(endpoint.method === 'GET' ? [{ method: 'HEAD' }, { method: 'HEAD', query: '&qqqqqqqqqqqq=1' }] : []),
        ...(first.tag === null
          ? []
          : [{ headers: { 'If-None-Match': first.tag } }, { headers: { 'If-None-Match': '*' } }]),
        { method: 'OPTIONS' },
        { method: 'PROPFIND' },
      ];
      for (const outcome of outcomes) {
        const { status, said, charged, replayed } = await ask(outcome);
        t.is(said, charged, `${JSON.stringify(outcome)} ${status}`);
        if (replayed || status >= 400) t.is(charged, 0, `${JSON.stringify(outcome)} ${status}`);
        if (status === 304) t.is(charged, first.charged, JSON.stringify(outcome));
      }
    },
  );
