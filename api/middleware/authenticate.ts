import { ApiError } from '../errors.ts';
import { RecordsUnavailable } from '../records/failures.ts';
import type { Caller, Records } from '../records/records.ts';
import type { Exchange } from './exchange.ts';
import { countOf } from './head.ts';
import { lockout } from './lockout.ts';

const KEY_INVALID = 'the key is not valid';
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
    const remembered = survives(path) ? records.remembered(keyText, now_ms) : null;
    if (remembered === null) return await records.authenticate(keyText, now_ms);
    const found = records.authenticate(keyText, now_ms);
    // Whoever asks how the service is waits no longer for records that do not answer than the look at them takes.
    const given = records.health().then((well) => (well ? found : remembered));
    try {
      return await Promise.race([found, given]);
    } catch (error) {
      if (error instanceof RecordsUnavailable) return remembered;
      throw error;
    }
  };

  return async (exchange) => {
    const { keyText, fault } = bearerOf(exchange);
    const caller = keyText === null || keyText.length > LONGEST_KEY ? null : await lookUp(keyText, exchange);
    if (caller !== null) return caller;
    const locked_ms = locks.lockedFor_ms(exchange.address, keyText);
    if (locked_ms > 0)
      throw new ApiError('too_many_failed_attempts', 'too many failed attempts, wait before the next', {
        'Retry-After': String(Math.ceil(locked_ms / 1000)),
      });
    locks.fail(exchange.address, keyText);
    throw new ApiError('unauthorized', fault, CHALLENGE);
  };
}

/** The refusal of a key that nobody owns. */
export function keyInvalid(options?: ErrorOptions): ApiError {
  return new ApiError('unauthorized', KEY_INVALID, CHALLENGE, options);
}

/** The text of the key, null in a malformed header, and what to say should nobody own it. Throws when there is no header. */
function bearerOf({ request }: Exchange): { keyText: string | null; fault: string } {
  const header = request.headers.authorization;
  if (header === undefined)
    throw new ApiError('unauthorized', 'Authorization is missing, expected Bearer and a key', CHALLENGE);
  if (countOf(request.rawHeaders, 'authorization') > 1)
    return { keyText: null, fault: 'Authorization is given more than once' };
  const keyText = /^bearer +(\S+) *$/i.exec(header)?.[1];
  return keyText === undefined
    ? { keyText: null, fault: 'Authorization is not of the form Bearer and a key' }
    : { keyText, fault: KEY_INVALID };
}
