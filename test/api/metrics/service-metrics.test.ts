import { execFileSync, spawnSync } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import test, { type ExecutionContext } from 'ava';
import pino from 'pino';
import { ApiError } from '../../../api/http/errors.ts';
import { createMetrics } from '../../../api/http/metrics.ts';
import { serviceMetrics } from '../../../api/metrics/service-metrics.ts';
import { getHailCurrent } from '../../../api/routes/hail-current.ts';
import { GUEST_RATE_PER_MINUTE } from '../../../api/server/admit.ts';
import { telemetryOf } from '../../../api/server/answer.ts';
import type { Endpoint } from '../../../api/server/endpoint.ts';
import type { Services } from '../../../api/services.ts';
import { midnight, NOW_MS, preparedRoot } from '../../support/data/world.ts';
import { type RunningService, startService } from '../../support/service/service.ts';

/** Lines of a page of metrics, without the comments: value by series. */
function seriesOf(page: string): ReadonlyMap<string, number> {
  return new Map(
    page
      .split('\n')
      .filter((line) => line !== '' && !line.startsWith('#'))
      .map((line) => [line.slice(0, line.lastIndexOf(' ')), Number(line.slice(line.lastIndexOf(' ') + 1))]),
  );
}

async function measured(t: ExecutionContext, data_root?: string, guestEndpoints: readonly Endpoint[] = []) {
  const metrics = createMetrics();
  const service = await startService({
    endpoints: [getHailCurrent],
    now_ms: NOW_MS,
    ...(data_root === undefined ? {} : { data_root }),
    app: { guestEndpoints, telemetry: telemetryOf(pino({ level: 'silent' }), metrics) },
  });
  t.teardown(service.close);
  return { metrics, service, pageOf: (changes: Partial<Services> = {}) => pageOf(metrics, service, changes) };
}

function pageOf(metrics: ReturnType<typeof createMetrics>, { services }: RunningService, changes: Partial<Services>) {
  const read = serviceMetrics(metrics, { ...services, ...changes });
  return async () => (await read()).metrics();
}

const promtool = spawnSync('promtool', ['--version']).status === 0;
if (!promtool) test.skip('promtool, which checks the page of metrics, is not installed on this machine', () => {});

test('the page of a service with data says how old its newest scan and its feeds are', async (t) => {
  const { service, pageOf } = await measured(t, await preparedRoot(await midnight()));
  await service.call('/v1/hail/current?lat=35&lon=-97');
  await service.call('/v1/hail/current?lat=35');
  const page = await pageOf()();
  if (promtool) t.notThrows(() => execFileSync('promtool', ['check', 'metrics'], { input: page, stdio: 'pipe' }));
  const series = seriesOf(page);
  const newest_ms = service.services.catalog.edition().newest_scan_ms ?? 0;
  t.is(series.get('hail_scan_age_seconds'), (NOW_MS - newest_ms) / 1000);
  t.is(series.get('hail_feed_stale{feed="MESH"}'), NOW_MS - newest_ms > 600_000 ? 1 : 0);
  t.is(series.get('hail_ready{part="records"}'), 1);
  t.is(series.get('hail_ready{part="data"}'), 1);
  t.is(series.get('hail_refusals_total{code="invalid_parameter"}'), 1);
  t.is(series.get('hail_deliveries_pending'), 0);
  t.is(series.get('hail_delivery_oldest_due_age_seconds'), 0);
  t.is(series.get('hail_scrape_failed{part="records"}'), 0);
  t.is(series.get('hail_engine_statements_max{engine="answers",state="waiting"}'), 256);
  t.true([...series.keys()].some((name) => name.startsWith('hail_build_info{version="')));
});

test('a call without a key that is refused for its rate counts for its route', async (t) => {
  const { service, pageOf } = await measured(t, undefined, [getHailCurrent]);
  const ask = () => service.call('/v1/hail/current?lat=35&lon=-97', { key: null });
  for (let call = 0; call <= GUEST_RATE_PER_MINUTE; call++) await ask();
  const series = seriesOf(await pageOf()());
  t.is(series.get('hail_requests_total{route="/v1/hail/current",method="GET",status="429"}'), 1);
});

test('what is not known has no series: no scan, no feed, no worker of deliveries', async (t) => {
  const { pageOf } = await measured(t);
  const series = seriesOf(await pageOf()());
  const absent = [...series.keys()].filter((name) => /^hail_(scan_age|delivery_(attempts_running|slots))/.test(name));
  t.deepEqual(absent, []);
  t.is(series.get('hail_feed_stale{feed="MESH"}'), 1);
});

test('a clock that is behind the newest scan shows no negative age', async (t) => {
  const { service, pageOf } = await measured(t, await preparedRoot(await midnight()));
  const newest_ms = service.services.catalog.edition().newest_scan_ms ?? 0;
  const series = seriesOf(await pageOf({ now: () => newest_ms - 86_400_000 })());
  t.is(series.get('hail_scan_age_seconds'), 0);
  t.is(series.get('hail_feed_stale{feed="MESH"}'), 1);
});

test('without its database a scrape answers within a second, with what the process itself knows', async (t) => {
  const { service, pageOf } = await measured(t, await preparedRoot(await midnight()));
  const never = new Promise<never>(() => {});
  const hanging = new Proxy(service.services.records.reader, { get: () => () => never, has: () => true });
  const records = { ...service.services.records, reader: hanging, health: () => never };
  // Of two timers of one process the shorter ends first, however busy the machine is.
  const late = sleep(2_000, 'late', { ref: false });
  const series = seriesOf(await Promise.race([pageOf({ records })(), late]));
  t.is(series.get('hail_ready{part="records"}'), 0);
  for (const name of ['ready', 'records']) t.is(series.get(`hail_scrape_failed{part="${name}"}`), 1, name);
  t.false(series.has('hail_deliveries_pending'));
  t.true(series.has('hail_scan_age_seconds'));
});

test('refusals are counted by their reason, and each reason is there before the first', async (t) => {
  const metrics = createMetrics();
  const telemetry = telemetryOf(pino({ level: 'silent' }), metrics);
  const before = seriesOf(await metrics.registry.metrics());
  for (const reason of ['engine', 'thread', 'guests', 'cache'])
    t.is(before.get(`hail_overload_refusals_total{reason="${reason}"}`), 0);
  telemetry.refused(new ApiError('overloaded', 'busy', {}, { reason: 'engine' }));
  telemetry.refused(new ApiError('rate_limited', 'often', {}, { reason: 'day' }));
  telemetry.refused(new ApiError('not_found', 'none'));
  const after = seriesOf(await metrics.registry.metrics());
  t.is(after.get('hail_overload_refusals_total{reason="engine"}'), 1);
  t.is(after.get('hail_rate_refusals_total{reason="day"}'), 1);
  t.is(after.get('hail_refusals_total{code="not_found"}'), 1);
});
