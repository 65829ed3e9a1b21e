import test from 'ava';
import { lockout } from '../../../api/http/lockout.ts';
import { MS_PER_MIN } from '../../../schemas/time.ts';

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
