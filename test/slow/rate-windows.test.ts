import { Agent, request } from 'node:http';
import test from 'ava';
import { NAMES_MAX } from '../../api/http/call-limits.ts';
import { trustedProxies } from '../../api/server/head.ts';
import { openAccount } from '../support/service/account.ts';
import { sampleEndpoints } from '../support/service/sample-endpoints.ts';
import { serviceFor } from '../support/service/service.ts';

const FREE = '/v1/sample/items/known';
const CONNECTIONS = 20;

test('requests without a key from more addresses than are remembered open no window of a key again', async (t) => {
  const service = await serviceFor(t, {
    endpoints: sampleEndpoints().endpoints,
    app: { trusted: trustedProxies(['127.0.0.1/32']) },
  });
  const { key } = await openAccount(service, { plan: { rate_per_minute: 60 } });
  for (let n = 0; n < 60; n++) t.is((await service.call(FREE, { key })).status, 200);

  const agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS });
  t.teardown(() => agent.destroy());
  const knock = (n: number) =>
    new Promise<number>((resolve, reject) => {
      const headers = { 'X-Forwarded-For': `10.${n >> 16}.${(n >> 8) & 255}.${n & 255}` };
      request(`${service.url}${FREE}`, { agent, headers }, (reply) => {
        reply.resume();
        reply.on('end', () => resolve(reply.statusCode ?? 0));
      })
        .on('error', reject)
        .end();
    });
  const statuses = new Set<number>();
  for (let n = 0; n <= NAMES_MAX; n += CONNECTIONS)
    for (const status of await Promise.all(Array.from({ length: CONNECTIONS }, (_, k) => knock(n + k))))
      statuses.add(status);
  t.deepEqual([...statuses], [401]);
  t.is((await service.call(FREE, { key })).status, 429);
  t.deepEqual(service.failures, []);
});
