import test, { type ExecutionContext } from 'ava';
import type { Endpoint } from '../../../api/server/endpoint.ts';
import { creditsUsed } from './portfolio.ts';
import { startService } from './service.ts';

/** Starts a service of one endpoint, whose clock the test moves, for the length of a test, which fails when the service reports a failure. */
export async function serveAt(t: ExecutionContext, endpoint: Endpoint, data_root: string, now_ms: number) {
  const clock = { ms: now_ms };
  const service = await startService({ endpoints: [endpoint], data_root, now: () => clock.ms });
  t.teardown(async () => {
    await service.close();
    if (service.failures.length > 0) throw service.failures[0];
  });
  return Object.assign(service, { clock, data_root });
}

/** Declares that a GET endpoint refuses queries, before any data are read: the service holds none. */
export function declareRefusals(endpoint: Endpoint, now_ms: number, queries: readonly string[]): void {
  test(`GET ${endpoint.path} refuses values that it does not take, and charges nothing`, async (t) => {
    const service = await startService({ endpoints: [endpoint], now_ms });
    t.teardown(service.close);
    for (const query of queries) {
      const response = await service.call(`${endpoint.path}?${query}`);
      t.is(response.status, 400, query);
      t.like(await response.json(), { error: 'invalid_parameter' }, query);
    }
    t.is(await creditsUsed(service), 0);
  });
}
