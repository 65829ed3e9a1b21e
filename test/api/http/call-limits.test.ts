import test, { type ExecutionContext } from 'ava';
import { countByAddress, NAMES_MAX, openCallLimits } from '../../../api/http/call-limits.ts';

/** Clock and timers of the process stand still until they are moved. */
function stopClock(t: ExecutionContext) {
  const own = Date.now;
  const clock = { ms: own() };
  Date.now = () => clock.ms;
  t.teardown(() => {
    Date.now = own;
  });
  return clock;
}

test.serial('a window begins with its first call, and a refused call does not extend it', async (t) => {
  const clock = stopClock(t);
  const { countCall } = await openCallLimits(null);
  const admitted = async () => (await countCall('key', 60)).retry_after_s === null;
  t.true(await admitted());
  clock.ms += 20_000;
  for (let n = 1; n < 60; n++) t.true(await admitted());
  for (let n = 0; n < 30; n++) t.false(await admitted());
  t.is((await countCall('key', 60)).retry_after_s, 40);
  t.is((await countCall('other', 60)).retry_after_s, null);
  clock.ms += 39_999;
  t.is((await countCall('key', 60)).retry_after_s, 1);
  clock.ms += 1;
  t.true(await admitted());
});

test.serial('remaining counts down, reset is the unix second at which the window ends', async (t) => {
  const clock = stopClock(t);
  clock.ms = 1_000_000_000_500;
  const { countCall } = await openCallLimits(null);
  t.deepEqual((await countCall('key', 60)).headers, {
    'X-RateLimit-Limit': '60',
    'X-RateLimit-Remaining': '59',
    'X-RateLimit-Reset': '1000000061',
    'RateLimit-Policy': '"key";q=60;w=60',
    RateLimit: '"key";r=59;t=60',
  });
});

test.serial('a limit that is raised or lowered holds at once', async (t) => {
  const { countCall } = await openCallLimits(null);
  for (let n = 0; n < 5; n++) await countCall('key', 5);
  t.is((await countCall('key', 10)).retry_after_s, null);
  t.not((await countCall('key', 2)).retry_after_s, null);
});

test('of more addresses than are remembered the one that called longest ago is forgotten', async (t) => {
  const count = countByAddress();
  const remaining = async (name: string) => Number((await count(name, 100)).headers['X-RateLimit-Remaining']);
  t.deepEqual([await remaining('first'), await remaining('second'), await remaining('first')], [99, 99, 98]);
  for (let n = 0; n < NAMES_MAX - 1; n++) await count(`other ${n}`, 100);
  t.deepEqual([await remaining('first'), await remaining('second')], [97, 99]);
});

test.serial(
  'twenty failures in five minutes lock an address for five, ten in ten a guessed key for fifteen',
  async (t) => {
    const clock = stopClock(t);
    const { countFailure } = await openCallLimits(null);
    for (let n = 0; n < 19; n++) t.is(await countFailure('192.0.2.1', `guess ${n}`), 0);
    clock.ms += 299_000;
    t.is(await countFailure('192.0.2.1', null), 0);
    t.is(await countFailure('192.0.2.1', null), 300_000);
    t.is(await countFailure('192.0.2.2', null), 0);
    clock.ms += 300_000;
    t.is(await countFailure('192.0.2.1', null), 0);
    const guess = (text: string) => `hs_live_abcdefgh${text}`;
    for (let n = 0; n < 10; n++) t.is(await countFailure(`192.0.2.${100 + n}`, guess(String(n))), 0);
    t.is(await countFailure('198.51.100.7', guess('other')), 900_000);
    t.is(await countFailure('198.51.100.7', 'hs_live_ABCDEFGH'), 0);
  },
);
