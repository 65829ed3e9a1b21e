import test from 'ava';
import { openCallLimits } from '../../api/http/call-limits.ts';
import { startProxy } from '../support/store/proxy.ts';
import { hasPostgres, onPostgres, type World } from '../support/store/world.ts';

const urlOf = ({ location }: World) => ('url' in location ? location.url : '');

async function admitted(processes: readonly Awaited<ReturnType<typeof openCallLimits>>[], count: number) {
  const calls = Array.from({ length: count }, (_, k) => processes[k % processes.length]?.countCall('key', 10));
  return (await Promise.all(calls)).filter((each) => each?.retry_after_s === null).length;
}

if (hasPostgres) {
  onPostgres('three processes count calls and failed attempts together', async (t, world) => {
    const processes = await Promise.all(Array.from({ length: 3 }, () => openCallLimits(urlOf(world))));
    for (const { close } of processes) t.teardown(close);
    t.is(await admitted(processes, 30), 10);
    const locked_ms = await Promise.all(
      Array.from({ length: 60 }, (_, k) => processes[k % 3]?.countFailure('192.0.2.1', null)),
    );
    t.is(locked_ms.filter((ms) => ms === 0).length, 20);
    t.true(((await processes[0]?.countFailure('192.0.2.1', null)) ?? 0) > 290_000);
  });

  onPostgres('while PostgreSQL is out of reach a process counts alone', async (t, world) => {
    const proxy = await startProxy(urlOf(world));
    t.teardown(proxy.close);
    const limits = await openCallLimits(proxy.url);
    t.teardown(limits.close);
    t.is(await admitted([limits], 4), 4);
    proxy.silent = true;
    t.is(await admitted([limits], 30), 10);
    proxy.silent = false;
  });
} else test.skip('call limits on a real PostgreSQL (HAIL_TEST_DATABASE_URL is not set)', () => {});
