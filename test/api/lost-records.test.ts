import { renameSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import test from 'ava';
import { verifyLedger } from '../../api/records/verify.ts';
import { livez, readyz } from '../../api/routes/health.ts';
import { ENDPOINTS } from '../../api/routes/index.ts';
import type { Health } from '../../schemas/resources/health.ts';
import { scratch } from '../support/data/world.ts';
import { startServe } from '../support/service/serve-child.ts';
import { startService } from '../support/service/service.ts';

const COVERAGE = '/v1/coverage?lat=35&lon=-97';
const UPLOAD = {
  method: 'POST',
  headers: { 'Content-Type': 'application/json' },
  body: JSON.stringify({ format: 'json', data: [{ name: 'Depot', lat: 35.2, lon: -97.4 }] }),
};

test('with its records file moved away, the service is not ready and refuses billed calls, until the file is back', async (t) => {
  const service = await startService({
    endpoints: ENDPOINTS,
    public_routes: (services) => [livez, readyz(services)],
  });
  t.teardown(service.close);
  const { name } = service.records.store;
  t.is((await service.call(COVERAGE)).status, 200);
  t.is((await service.call('/readyz')).status, 200);

  renameSync(name, `${name}.away`);
  for (const refused of [
    await service.call(COVERAGE),
    await service.call('/v1/portfolio/locations', UPLOAD),
    await service.call('/v1/portfolio/locations', {
      ...UPLOAD,
      headers: { ...UPLOAD.headers, 'Idempotency-Key': 'a' },
    }),
  ]) {
    t.is(refused.status, 503);
    t.is(((await refused.json()) as { error: string }).error, 'metering_unavailable');
  }
  const ready = await service.call('/readyz');
  t.is(ready.status, 503);
  t.like(await ready.json(), { status: 'unavailable', records: false });
  const health = (await service.json('/v1/health')) as Health;
  t.deepEqual(
    [health.status, health.components.database.status, health.components.metering.status],
    ['degraded', 'degraded', 'degraded'],
  );
  t.is((await service.call('/livez')).status, 200);

  renameSync(`${name}.away`, name);
  for (const until_ms = performance.now() + 30_000; performance.now() < until_ms; await sleep(50))
    if ((await service.call('/readyz')).status === 200) break;
  t.is((await service.call('/readyz')).status, 200);
  t.is((await service.call(COVERAGE)).status, 200);
  t.is((await service.records.reader.selectFrom('ledger').selectAll().execute()).length, 2);
  t.deepEqual((await verifyLedger(service.records.reader)).faults, []);
});

test('a server whose records file is moved away says so in its log, as an error, and when it is back', async (t) => {
  const root = await scratch(t);
  const server = await startServe(root, undefined, 'info');
  t.teardown(() => server.end('SIGKILL'));
  const file = join(root, 'records', 'hail.sqlite');
  const told = async (pattern: RegExp) => {
    for (const until_ms = performance.now() + 30_000; performance.now() < until_ms; await sleep(50))
      if (
        server
          .log()
          .split('\n')
          .some((line) => pattern.test(line))
      )
        return true;
    return false;
  };
  renameSync(file, `${file}.away`);
  t.true(await told(/"level":50.*hail\.sqlite is not there any more.*Records:Store:Failed/));
  t.is((await fetch(`${server.url}/readyz`)).status, 503);
  renameSync(`${file}.away`, file);
  t.true(await told(/hail\.sqlite is in its place again/));
  await server.end('SIGTERM');
});
