import test from 'ava';
import pino from 'pino';
import { createMetrics } from '../../api/http/metrics.ts';
import { telemetryOf } from '../../api/middleware/telemetry.ts';
import { archives } from '../../api/routes/archives.ts';
import { livez } from '../../api/routes/health.ts';
import { sampleEndpoints } from '../support/service/sample-endpoints.ts';
import { startService } from '../support/service/service.ts';

test('a request is counted under the path of its route, below a folder under the folder, else under none', async (t) => {
  const metrics = createMetrics();
  const service = await startService({
    endpoints: sampleEndpoints().endpoints,
    public_routes: ({ catalog }) => [livez, archives(catalog)],
    app: { telemetry: telemetryOf(pino({ level: 'silent' }), metrics) },
  });
  t.teardown(service.close);
  for (const path of ['/livez', '/tiles/daily/2026-05-01.pmtiles', '/tiles', '/v1/sample/items/known', '/v1/nothing'])
    await service.call(path);
  const { values } =
    (await metrics.registry.getMetricsAsJSON()).find(({ name }) => name === 'hail_requests_total') ?? {};
  t.deepEqual(
    values?.map(({ labels: { route, status }, value }) => `${route} ${status} ${value}`),
    ['/livez 200 1', '/tiles/ 404 2', '/v1/sample/items/{id} 200 1', 'none 404 1'],
  );
});
