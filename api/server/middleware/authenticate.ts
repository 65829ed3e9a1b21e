import type { Caller } from '../../accounts/keyring.ts';
import { ApiError } from '../../http/errors.ts';
import { RecordsUnavailable } from '../../records/errors.ts';
import type { Services } from '../../services.ts';
import { countOf } from '../http-server.ts';
import type { Context, Middleware } from '../state.ts';
import type { Variant } from '../variant.ts';

const KEY_INVALID = 'the key is not valid';
const CHALLENGE = { 'WWW-Authenticate': 'Bearer realm="hail"' } as const;
/** Longer text is no key, and is not worth hashing. */
const LONGEST_KEY = 200;

/**
 * Identifies the caller. Throws `unauthorized`, or `too_many_failed_attempts` when the address or the guessed key is locked. With
 * the records out of reach it throws RecordsUnavailable, except on the health path for a key seen before. Calls that are not
 * charged, which would count them, are counted in the key's total.
 */
export function authenticate(
  { records, limits }: Pick<Services, 'records' | 'limits'>,
  others: readonly Variant[],
): Middleware {
  const lookUp = (keyText: string, { path, variant, now_ms }: Context['state']): Promise<Caller | null> => {
    const remembered = path === variant.health_path ? records.remembered(keyText, now_ms) : null;
    const found = records.authenticate(keyText, now_ms);
    return remembered === null ? found : foundOr(remembered, found);
  };

  const foundOr = async (remembered: Caller, found: Promise<Caller | null>): Promise<Caller | null> => {
    // A health call waits for records that do not answer no longer than the check of the records takes.
    const given = records.health().then((well) => (well ? found : remembered));
    try {
      return await Promise.race([found, given]);
    } catch (error) {
      if (error instanceof RecordsUnavailable) return remembered;
      throw error;
    }
  };

  const refusal = async (address: string, keyText: string | null, fault: string): Promise<ApiError> => {
    const locked_ms = await limits.countFailure(address, keyText);
    if (locked_ms > 0)
      return new ApiError('too_many_failed_attempts', 'too many failed attempts, wait before the next', {
        'Retry-After': String(Math.ceil(locked_ms / 1000)),
      });
    return new ApiError('unauthorized', fault, CHALLENGE);
  };

  return async (ctx, next) => {
    const { state } = ctx;
    const { keyText, fault } = bearerOf(ctx);
    const caller = keyText === null || keyText.length > LONGEST_KEY ? null : await lookUp(keyText, state);
    if (caller === null) throw await refusal(state.address, keyText, fault);
    state.caller = caller;
    state.variant = others.find(({ name }) => name === caller.variant) ?? state.variant;
    try {
      await next();
    } finally {
      if (state.credits_charged === null) records.countRequest(caller.key_id, state.now_ms);
    }
  };
}

/** The refusal of an unknown key. */
export function keyInvalid(options?: ErrorOptions): ApiError {
  return new ApiError('unauthorized', KEY_INVALID, CHALLENGE, options);
}

/** The text of the key, null in a malformed header, and the fault if the key is unknown. Throws when there is no header. */
function bearerOf({ req }: Context): { keyText: string | null; fault: string } {
  const header = req.headers.authorization;
  if (header === undefined)
    throw new ApiError('unauthorized', 'Authorization is missing, expected Bearer and a key', CHALLENGE);
  if (countOf(req.rawHeaders, 'authorization') > 1)
    return { keyText: null, fault: 'Authorization is given more than once' };
  const keyText = /^bearer +(\S+) *$/i.exec(header)?.[1];
  return keyText === undefined
    ? { keyText: null, fault: 'Authorization is not of the form Bearer and a key' }
    : { keyText, fault: KEY_INVALID };
}
