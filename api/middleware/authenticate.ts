import { ApiError } from '../errors.ts';
import { RecordsUnavailable } from '../records/failures.ts';
import type { Caller, Records } from '../records/records.ts';
import type { Exchange } from './exchange.ts';
import { lockout } from './lockout.ts';

const CHALLENGE = { 'WWW-Authenticate': 'Bearer realm="hail"' } as const;
/** Longer text is no key, and is not worth hashing. */
const LONGEST_KEY = 200;

/**
 * Finds out who asks. Throws `unauthorized`, or `too_many_failed_attempts` when the address or the guessed key is locked. With
 * the records out of reach it throws RecordsUnavailable, except on paths that `survives` names for a key seen before.
 */
export function authenticator(
  records: Records,
  monotonic_ms: () => number,
  survives: (path: string) => boolean,
): (exchange: Exchange) => Promise<Caller> {
  const locks = lockout(monotonic_ms);

  const lookUp = async (keyText: string, { path, now_ms }: Exchange): Promise<Caller | null> => {
    try {
      return await records.authenticate(keyText, now_ms);
    } catch (error) {
      const caller = error instanceof RecordsUnavailable && survives(path) ? records.remembered(keyText, now_ms) : null;
      if (caller !== null) return caller;
      throw error;
    }
  };

  return async (exchange) => {
    const keyText = bearerOf(exchange);
    const caller = keyText.length > LONGEST_KEY ? null : await lookUp(keyText, exchange);
    if (caller !== null) return caller;
    const locked_ms = locks.lockedFor_ms(exchange.address, keyText);
    if (locked_ms > 0)
      throw new ApiError('too_many_failed_attempts', 'too many failed attempts, wait before the next', {
        'Retry-After': String(Math.ceil(locked_ms / 1000)),
      });
    locks.fail(exchange.address, keyText);
    throw new ApiError('unauthorized', 'the key is not valid', CHALLENGE);
  };
}

function bearerOf({ request }: Exchange): string {
  const header = request.headers.authorization;
  if (header === undefined)
    throw new ApiError('unauthorized', 'Authorization is missing, expected Bearer and a key', CHALLENGE);
  if (countOf(request.rawHeaders, 'authorization') > 1)
    throw new ApiError('unauthorized', 'Authorization is given more than once', CHALLENGE);
  const keyText = /^bearer +(\S+) *$/i.exec(header)?.[1];
  if (keyText === undefined)
    throw new ApiError('unauthorized', 'Authorization is not of the form Bearer and a key', CHALLENGE);
  return keyText;
}

/** How often a header came; Node itself keeps only the first of some. */
export function countOf(rawHeaders: readonly string[], name: string): number {
  let count = 0;
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const given = rawHeaders[at] as string;
    if (given.length === name.length && given.toLowerCase() === name) count += 1;
  }
  return count;
}
