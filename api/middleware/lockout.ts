import { hash } from 'node:crypto';
import { type BoundedMap, boundedMap } from './bounded-map.ts';

/** How many failures in which time lock for how long. */
interface LockoutRule {
  readonly attempts: number;
  readonly window_ms: number;
  readonly lock_ms: number;
}

const MINUTE_MS = 60_000;
const BY_ADDRESS: LockoutRule = { attempts: 20, window_ms: 5 * MINUTE_MS, lock_ms: 5 * MINUTE_MS };
const BY_KEY: LockoutRule = { attempts: 10, window_ms: 10 * MINUTE_MS, lock_ms: 15 * MINUTE_MS };
/** Addresses and guessed keys remembered. */
const REMEMBERED = 20_000;

/** `hs_live_` or `hs_test_`, then the eight characters that name a key. */
const PUBLIC_ID = /^hs_(?:live|test)_([A-Za-z0-9]{8})/;

interface Failures {
  /** Monotonic times of the last failures, oldest first. */
  readonly times_ms: readonly number[];
  /** Locked until; -Infinity when it is not. */
  readonly until_ms: number;
}

export interface Lockout {
  /** Milliseconds for which the address or the guessed key is still locked; 0: neither is. */
  readonly lockedFor_ms: (address: string, keyText: string | null) => number;
  /** Remembers a failed attempt. One that names no key (null) counts for its address only. */
  readonly fail: (address: string, keyText: string | null) => void;
}

/**
 * Locks out guessing, separately by the address it comes from and by the key that is guessed. Only failures are judged: a
 * valid key is served from anywhere, so that one bad client takes nobody else down. Bounded: the oldest entry is forgotten.
 */
export function lockout(monotonic_ms: () => number): Lockout {
  const addresses = boundedMap<Failures>(REMEMBERED);
  const keys = boundedMap<Failures>(REMEMBERED);
  return {
    lockedFor_ms: (address, keyText) => {
      const until_ms = Math.max(
        addresses.get(address)?.until_ms ?? -Infinity,
        (keyText === null ? undefined : keys.get(guessed(keyText)))?.until_ms ?? -Infinity,
      );
      return Math.max(0, until_ms - monotonic_ms());
    },
    fail: (address, keyText) => {
      const now_ms = monotonic_ms();
      remember(addresses, address, BY_ADDRESS, now_ms);
      if (keyText !== null) remember(keys, guessed(keyText), BY_KEY, now_ms);
    },
  };
}

function remember(failures: BoundedMap<Failures>, name: string, rule: LockoutRule, now_ms: number): void {
  const recent = (failures.get(name)?.times_ms ?? []).filter((time_ms) => time_ms > now_ms - rule.window_ms);
  const times_ms = [...recent, now_ms];
  const locks = times_ms.length >= rule.attempts;
  failures.set(name, locks ? { times_ms: [], until_ms: now_ms + rule.lock_ms } : { times_ms, until_ms: -Infinity });
}

/** What names the key that is guessed: its public id, else the digest of the text. */
function guessed(keyText: string): string {
  return PUBLIC_ID.exec(keyText)?.[1] ?? hash('sha256', keyText);
}
