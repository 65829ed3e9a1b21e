import { hash } from 'node:crypto';
import { MS_PER_MIN } from '../../schemas/time.ts';
import { type BoundedMap, boundedMap } from './bounded-map.ts';

/** How many failures in which time lock for how long. */
export interface LockoutRule {
  readonly attempts: number;
  readonly window_ms: number;
  readonly lock_ms: number;
}

export const BY_ADDRESS: LockoutRule = { attempts: 20, window_ms: 5 * MS_PER_MIN, lock_ms: 5 * MS_PER_MIN };
export const BY_KEY: LockoutRule = { attempts: 10, window_ms: 10 * MS_PER_MIN, lock_ms: 15 * MS_PER_MIN };
/** Addresses, and guessed keys, whose failures are kept; and as many again that are locked. */
export const MAX_ENTRIES = 20_000;

/** `hs_live_` or `hs_test_`, then the eight characters that name a key. */
const PUBLIC_ID = /^hs_(?:live|test)_([A-Za-z0-9]{8})/;

/**
 * Whose attempts failed. Locks have their own map: a lock takes many failures, so that a flood of single ones, which is
 * cheap to a client with many addresses, pushes none of them out.
 */
interface Offenders {
  /** Monotonic times of the last failures, oldest first. */
  readonly failures: BoundedMap<readonly number[]>;
  /** Monotonic times until which they are locked. */
  readonly locks: BoundedMap<number>;
}

/** Failed attempts, where they are counted. */
export interface FailedAttempts {
  /**
   * Records a failed attempt, unless the address or the guessed key is locked; milliseconds for which one of them still is, 0: neither
   * was. An attempt that names no key (null) counts for its address only.
   */
  readonly attempt: (address: string, keyText: string | null) => number | Promise<number>;
}

/** Failed attempts in the memory of this process. */
export interface Lockout extends FailedAttempts {
  readonly attempt: (address: string, keyText: string | null) => number;
  /** Milliseconds for which the address or the guessed key is still locked; 0: neither is. */
  readonly lockedFor_ms: (address: string, keyText: string | null) => number;
  /** Records a failed attempt. One that names no key (null) counts for its address only. */
  readonly fail: (address: string, keyText: string | null) => void;
}

/**
 * Locks out guessing, separately by the address it comes from and by the key that is guessed. Only failures count: a
 * valid key is served from anywhere, so that one bad client locks no other one out. Bounded: the oldest entry is dropped.
 */
export function lockout(monotonic_ms: () => number): Lockout {
  const addresses = offenders();
  const keys = offenders();
  const lockedFor_ms: Lockout['lockedFor_ms'] = (address, keyText) => {
    const until_ms = Math.max(
      addresses.locks.get(address) ?? -Infinity,
      (keyText === null ? undefined : keys.locks.get(guessed(keyText))) ?? -Infinity,
    );
    return Math.max(0, until_ms - monotonic_ms());
  };
  const fail: Lockout['fail'] = (address, keyText) => {
    const now_ms = monotonic_ms();
    record(addresses, address, BY_ADDRESS, now_ms);
    if (keyText !== null) record(keys, guessed(keyText), BY_KEY, now_ms);
  };
  return {
    lockedFor_ms,
    fail,
    attempt: (address, keyText) => {
      const locked_ms = lockedFor_ms(address, keyText);
      if (locked_ms === 0) fail(address, keyText);
      return locked_ms;
    },
  };
}

function offenders(): Offenders {
  return { failures: boundedMap(MAX_ENTRIES), locks: boundedMap(MAX_ENTRIES) };
}

function record({ failures, locks }: Offenders, name: string, rule: LockoutRule, now_ms: number): void {
  const recent = (failures.get(name) ?? []).filter((time_ms) => time_ms > now_ms - rule.window_ms);
  const times_ms = [...recent, now_ms];
  if (times_ms.length < rule.attempts) {
    failures.set(name, times_ms);
    return;
  }
  failures.delete(name);
  locks.set(name, now_ms + rule.lock_ms);
}

/** What names the key that is guessed: its public id, else the digest of the text. */
export function guessed(keyText: string): string {
  return PUBLIC_ID.exec(keyText)?.[1] ?? hash('sha256', keyText);
}
