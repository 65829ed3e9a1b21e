import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import test from 'ava';
import { trustedProxies } from '../../../api/http/address.ts';
import { lockout } from '../../../api/http/lockout.ts';
import { type Consumed, rateWindows } from '../../../api/http/rate-window.ts';
import { MS_PER_MIN } from '../../../schemas/time.ts';
import { type RunningService, startService } from '../../support/service/service.ts';
import { until } from '../../support/until.ts';

/** Opens connections one after the other; how many of them were left open. */
async function openMany({ url }: RunningService, count: number): Promise<number> {
  const { hostname, port } = new URL(url);
  const answers: Promise<boolean>[] = [];
  const sockets: Socket[] = [];
  for (let n = 0; n < count; n++) {
    const socket = connect(Number(port), hostname);
    sockets.push(socket);
    // A connection that the service keeps answers; one that it refuses is closed or reset.
    const { promise, resolve } = Promise.withResolvers<boolean>();
    answers.push(promise);
    socket.once('data', () => resolve(true));
    socket.once('close', () => resolve(false));
    socket.on('error', () => resolve(false));
    await once(socket, 'connect');
    socket.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n');
  }
  const kept = await Promise.all(answers);
  for (const socket of sockets) socket.destroy();
  return kept.filter(Boolean).length;
}

test('the 201st connection from one address is closed, and there is room again once others are', async (t) => {
  const service = await startService({ endpoints: [] });
  t.is(await openMany(service, 203), 200);
  await until(async () => (await connectionsOf(service)) === 0);
  t.is(await openMany(service, 5), 5);
  await service.close();
});

test('connections of a trusted proxy are those of many clients', async (t) => {
  const service = await startService({ endpoints: [], app: { trusted: trustedProxies(['127.0.0.1']) } });
  t.is(await openMany(service, 203), 203);
  await service.close();
});

function connectionsOf({ server }: RunningService): Promise<number> {
  return new Promise((resolve, reject) =>
    server.getConnections((error, count) => (error ? reject(error) : resolve(count))),
  );
}

/** A limiter whose clocks are moved by hand. */
function limiterAt(max?: number) {
  const clock = { ms: 0 };
  const windows = rateWindows({ monotonic_ms: () => clock.ms, unix_ms: () => 1_000_000_000_000 + clock.ms }, max);
  const take = (bucket: string, limit: number) => {
    const consumed = windows.consume(bucket, limit);
    return { ...consumed, admitted: consumed.retry_after_s === null };
  };
  const header = ({ headers }: Consumed, name: string) => headers[name];
  return { clock, take, header };
}

test('admits as many requests as the limit and refuses the next', (t) => {
  const { take } = limiterAt();
  const admitted = Array.from({ length: 61 }, () => take('key', 60).admitted);
  t.is(admitted.filter(Boolean).length, 60);
  t.false(admitted[60]);
});

test('the window rolls: never more than the limit in any 60 seconds', (t) => {
  const { clock, take } = limiterAt();
  const times: number[] = [];
  for (clock.ms = 0; clock.ms < 200_000; clock.ms += 250) if (take('key', 60).admitted) times.push(clock.ms);
  const most = Math.max(
    ...times.map((from) => times.filter((time_ms) => time_ms >= from && time_ms < from + 60_000).length),
  );
  t.is(most, 60);
  t.is(times.length, 60 * 4); // 0, 60, 120 and 180 s each open the window again
});

test('a refused request does not extend the wait', (t) => {
  const { clock, take } = limiterAt();
  for (let n = 0; n < 60; n++) take('key', 60);
  for (clock.ms = 1000; clock.ms < 60_000; clock.ms += 100) t.false(take('key', 60).admitted);
  clock.ms = 60_000;
  t.true(take('key', 60).admitted);
});

test('a refusal says in how many seconds the next request will be admitted', (t) => {
  const { clock, take } = limiterAt();
  take('key', 2);
  clock.ms = 20_500;
  take('key', 2);
  clock.ms = 30_000;
  t.is(take('key', 2).retry_after_s, 30);
  clock.ms = 59_999;
  t.is(take('key', 2).retry_after_s, 1);
});

test('remaining counts down, reset is the unix second at which the window is empty again', (t) => {
  const { clock, take, header } = limiterAt();
  const first = take('key', 60);
  t.is(header(first, 'X-RateLimit-Limit'), '60');
  t.is(header(first, 'X-RateLimit-Remaining'), '59');
  t.is(header(first, 'X-RateLimit-Reset'), '1000000060');
  t.is(header(first, 'RateLimit'), '"key";r=59;t=60');
  t.is(header(first, 'RateLimit-Policy'), '"key";q=60;w=60');
  clock.ms = 1500;
  t.is(header(take('key', 60), 'X-RateLimit-Reset'), '1000000062');
});

test('at a moment that is no whole millisecond the window is still empty again in at most its length', (t) => {
  const { clock, take, header } = limiterAt();
  const now_ms = 5556.040000000001;
  t.true(now_ms + 60_000 - now_ms > 60_000, 'a moment whose sums are rounded up');
  clock.ms = now_ms;
  const first = take('key', 1);
  t.is(header(first, 'RateLimit'), '"key";r=0;t=60');
  t.is(header(first, 'X-RateLimit-Reset'), '1000000066');
  t.is(take('key', 1).retry_after_s, 60);
  clock.ms = now_ms + 59_999.5;
  t.is(header(take('key', 1), 'RateLimit'), '"key";r=0;t=1');
});

test('an empty window is empty now', (t) => {
  const { clock, take, header } = limiterAt();
  clock.ms = 5556.040000000001;
  const refused = take('key', 0);
  t.is(header(refused, 'RateLimit'), '"key";r=0;t=0');
  t.is(header(refused, 'X-RateLimit-Reset'), '1000000006');
});

test('buckets do not share their windows', (t) => {
  const { take } = limiterAt();
  for (let n = 0; n < 60; n++) take('one', 60);
  t.false(take('one', 60).admitted);
  t.true(take('other', 60).admitted);
});

test('a window is kept for as long as it counts, however many others there are', (t) => {
  const { clock, take } = limiterAt();
  for (let n = 0; n < 60; n++) take('key', 60);
  for (let n = 0; n < 50_000; n++) take(`other ${n}`, 60);
  t.false(take('key', 60).admitted);
  clock.ms = 59_999;
  for (let n = 0; n < 50_000; n++) take(`another ${n}`, 60);
  t.false(take('key', 60).admitted);
});

test('of windows that are bounded the one that admitted nothing for longest is forgotten first', (t) => {
  const { take } = limiterAt(3);
  for (const name of ['first', 'second', 'third', 'first', 'fourth']) take(name, 2);
  t.deepEqual(
    ['first', 'third', 'fourth', 'second'].map((name) => take(name, 1).admitted),
    [false, false, false, true],
  );
});

test('a raised limit holds at once, beyond the first capacity of a bucket', (t) => {
  const { clock, take } = limiterAt();
  for (let n = 0; n < 60; n++) take('key', 60);
  t.is(Array.from({ length: 1000 }, () => take('key', 1000).admitted).filter(Boolean).length, 940);
  clock.ms = 60_000;
  t.true(take('key', 60).admitted);
});

test('a lowered limit refuses until the window has room', (t) => {
  const { clock, take } = limiterAt();
  for (let n = 0; n < 10; n++) {
    clock.ms = n * 1000;
    take('key', 60);
  }
  const refused = take('key', 2);
  t.false(refused.admitted);
  t.is(refused.retry_after_s, 59); // nine of ten have to leave: the ninth was at 8 s, now it is 9 s
});

function locksAt() {
  const clock = { ms: 0 };
  return { clock, locks: lockout(() => clock.ms) };
}

test('twenty failures from one address in five minutes lock it for five', (t) => {
  const { clock, locks } = locksAt();
  for (let n = 0; n < 19; n++) locks.fail('192.0.2.1', `guess${n}`);
  t.is(locks.lockedFor_ms('192.0.2.1', 'another'), 0);
  clock.ms = 1000;
  locks.fail('192.0.2.1', 'guess19');
  t.is(locks.lockedFor_ms('192.0.2.1', 'another'), 5 * MS_PER_MIN);
  t.is(locks.lockedFor_ms('192.0.2.2', 'another'), 0);
  clock.ms = 1000 + 5 * MS_PER_MIN;
  t.is(locks.lockedFor_ms('192.0.2.1', 'another'), 0);
});

test('ten failures against one public id in ten minutes lock it for fifteen, from every address', (t) => {
  const { locks } = locksAt();
  for (let n = 0; n < 10; n++) locks.fail(`192.0.2.${n}`, `hs_live_abcdefgh${'0'.repeat(37)}${n}`);
  t.is(locks.lockedFor_ms('198.51.100.7', 'hs_live_abcdefghSOMETHINGELSE'), 15 * MS_PER_MIN);
  t.is(locks.lockedFor_ms('198.51.100.7', 'hs_live_ABCDEFGHSOMETHINGELSE'), 0);
});

test('text without a public id is told apart by its digest', (t) => {
  const { locks } = locksAt();
  for (let n = 0; n < 10; n++) locks.fail(`192.0.2.${n}`, 'letmein');
  t.true(locks.lockedFor_ms('198.51.100.7', 'letmein') > 0);
  t.is(locks.lockedFor_ms('198.51.100.7', 'letmein2'), 0);
});

test('failures that name no key lock their address, and nothing else', (t) => {
  const { locks } = locksAt();
  for (let n = 0; n < 20; n++) locks.fail('192.0.2.1', null);
  t.is(locks.lockedFor_ms('192.0.2.1', null), 5 * MS_PER_MIN);
  t.is(locks.lockedFor_ms('192.0.2.1', 'a guess'), 5 * MS_PER_MIN);
  t.is(locks.lockedFor_ms('192.0.2.2', null), 0);
});

test('failures that are spread out lock nothing', (t) => {
  const { clock, locks } = locksAt();
  for (let n = 0; n < 100; n++) {
    clock.ms += 20_000; // fifteen in five minutes
    locks.fail('192.0.2.1', `guess${n}`);
    t.is(locks.lockedFor_ms('192.0.2.1', 'another'), 0);
  }
});

test('a flood of single failures from other addresses against other keys lifts no lock', (t) => {
  const { locks } = locksAt();
  for (let n = 0; n < 20; n++) locks.fail('192.0.2.1', null);
  for (let n = 0; n < 10; n++) locks.fail(`192.0.2.${100 + n}`, 'letmein');
  for (let n = 0; n < 25_000; n++) locks.fail(`2001:db8:${n.toString(16)}::/64`, `guess ${n}`);
  t.is(locks.lockedFor_ms('192.0.2.1', null), 5 * MS_PER_MIN);
  t.is(locks.lockedFor_ms('198.51.100.7', 'letmein'), 15 * MS_PER_MIN);
});
