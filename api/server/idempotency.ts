import { createHash } from 'node:crypto';
import { AnsweredBefore, type KeyedCall, type StoredAnswer } from '../billing/idempotency.ts';
import { ApiError } from '../http/errors.ts';
import { forEachInChunks } from '../http/event-loop.ts';
import { canonical } from '../http/reply.ts';
import { isEncrypted } from '../records/cipher.ts';
import type { Services } from '../services.ts';
import { asApiError, errorAnswer, type Telemetry } from './answer.ts';
import type { JsonObject } from './body.ts';
import type { WriteEndpoint } from './endpoint.ts';
import { countOf } from './head.ts';
import type { CallState, Context, State } from './state.ts';
import type { QueryText } from './validate.ts';

const LONGEST = 255;
/** Different bytes are different keys: nothing is replaced, and a byte order mark is kept. */
const UTF8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
/** Rows of a list that are put into the fingerprint before other requests run: about 5 ms. */
const ROWS_PER_TURN = 1000;
/** Refusals that are kept under their key: the same request would be refused again. */
const KEPT_REFUSALS: readonly number[] = [400, 404, 409];

/** Query, with the parameters of the path, and body of a call. */
type Request = Readonly<{ query: QueryText; body: JsonObject | null }>;

/**
 * Idempotency keys over the records. Keys in flight in this process are refused from memory, at once; one that is in flight in another
 * process waits for its transaction, and is answered as that was. Throws `idempotency_key_in_progress`, and
 * `invalid_idempotency_key` for a malformed key or one that was used with a different request.
 */
export function idempotency({ records, cipher }: Pick<Services, 'records' | 'cipher'>, telemetry: Telemetry) {
  const inFlight = new Set<string>();

  const keepRefusal = async (call: KeyedCall, error: ApiError, state: State): Promise<void> => {
    if (error.may_change || !KEPT_REFUSALS.includes(error.status)) return;
    try {
      await records.keepRefusal(call, errorAnswer(error, state));
    } catch (lost) {
      telemetry.failed(state.request_id, lost);
    }
  };

  const replay = async (call: KeyedCall) => {
    const found = await records.answerOf(call);
    if (found === null) return null;
    if (found === 'other_request')
      throw new ApiError('invalid_idempotency_key', 'Idempotency-Key was used with a different request');
    // Answers that carry a secret are kept encrypted; refusals of the same endpoint are not.
    const body = isEncrypted(found.body) ? cipher.decrypt(found.body) : found.body;
    return { answer: { ...found, body }, is_replay: true };
  };

  /**
   * Makes the answer of a call, or finds it when a call with the same Idempotency-Key has made it. `make` gets the call under its key,
   * whose answer it keeps in its transaction; null: the call has no key.
   */
  return async (
    ctx: Context<CallState>,
    endpoint: WriteEndpoint,
    request: Request,
    make: (call: KeyedCall | null) => Promise<StoredAnswer>,
  ) => {
    const key = endpoint.idempotent ? keyOf(ctx) : null;
    if (key === null) return { answer: await make(null), is_replay: false };
    const { business_id } = ctx.state.caller;
    const route = `${endpoint.method} ${endpoint.path}`;
    const name = `${business_id} ${route} ${key}`;
    if (inFlight.has(name))
      throw new ApiError('idempotency_key_in_progress', 'Idempotency-Key is that of a request still being processed');
    inFlight.add(name);
    try {
      const call = { business_id, route, key, fingerprint: await fingerprintOf(request) };
      const before = await replay(call);
      if (before !== null) return before;
      try {
        return { answer: await make(call), is_replay: false };
      } catch (thrown) {
        const meanwhile = thrown instanceof AnsweredBefore ? await replay(call) : null;
        if (meanwhile !== null) return meanwhile;
        const error = asApiError(thrown);
        await keepRefusal(call, error, ctx.state);
        throw error;
      }
    } finally {
      inFlight.delete(name);
    }
  };
}

/** The key, null when there is none; throws when it is empty, no UTF-8, longer than 255 code points, or given twice. */
function keyOf({ req }: Pick<Context, 'req'>): string | null {
  const header = req.headers['idempotency-key'];
  if (header === undefined) return null;
  if (countOf(req.rawHeaders, 'idempotency-key') > 1)
    throw new ApiError('invalid_idempotency_key', 'Idempotency-Key is given more than once');
  let key: string;
  try {
    key = UTF8.decode(Buffer.from(String(header), 'latin1')); // Node gives each byte of a header as a character
  } catch (cause) {
    throw new ApiError('invalid_idempotency_key', 'Idempotency-Key is not UTF-8', {}, { cause });
  }
  const length = [...key].length;
  if (length === 0) throw new ApiError('invalid_idempotency_key', 'Idempotency-Key is empty');
  if (length > LONGEST)
    throw new ApiError(
      'invalid_idempotency_key',
      `Idempotency-Key has ${length} characters, expected at most ${LONGEST}`,
    );
  return key;
}

/** SHA-256 of query and body in canonical JSON, the rows of its lists one by one: other requests run in between. */
export async function fingerprintOf({ query, body }: Request): Promise<string> {
  const digest = createHash('sha256').update(canonical([query, body === null]));
  for (const [name, value] of Object.entries(body ?? {}).sort(([a], [b]) => (a < b ? -1 : 1))) {
    const rows = Array.isArray(value) ? value : [];
    digest.update(canonical([name, rows === value ? [rows.length] : value]));
    await forEachInChunks(rows, ROWS_PER_TURN, (row) => digest.update(`${canonical(row)},`));
  }
  return digest.digest('hex');
}
