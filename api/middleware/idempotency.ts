import { createHash } from 'node:crypto';
import type { Endpoint } from '../endpoint.ts';
import { ApiError } from '../errors.ts';
import { yieldToEventLoop } from '../event-loop.ts';
import type { Records, StoredAnswer } from '../records/records.ts';
import { canonical } from './canonical.ts';
import type { Exchange } from './exchange.ts';
import { countOf } from './head.ts';
import type { JsonObject } from './json.ts';
import type { QueryText } from './validate.ts';

const LONGEST = 255;
/** Different bytes are different keys: nothing is replaced, and a byte order mark is kept. */
const UTF8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
/** Rows of a list that are put into the fingerprint before other requests get their turn. */
const ROWS_PER_TURN = 1000;
/** Refusals that are kept under their key: the same request would be refused again. */
const KEPT_REFUSALS: readonly number[] = [400, 404, 409];

/** Idempotency keys of requests, over the records. */
export interface IdempotencyKeys {
  /**
   * Claims the request's key, where the endpoint honours one. Returns the answer to replay, or null when the request is to
   * be worked on, its claim being in the exchange. Throws `idempotency_key_in_progress`, and `invalid_idempotency_key` for a
   * malformed key or one that was used with a different request.
   */
  readonly claim: (
    exchange: Exchange,
    endpoint: Endpoint,
    query: QueryText,
    body: JsonObject | null,
  ) => Promise<StoredAnswer | null>;
  /** Ends the claim of a request that failed: keeps a refusal that would come again, forgets everything else. */
  readonly settleFailure: (exchange: Exchange, answer: StoredAnswer) => Promise<void>;
  /** The request is over, however it ended. */
  readonly finish: (exchange: Exchange) => void;
}

/**
 * What this process works on is known without asking the records, which may be busy with that very request: a second
 * request with its key is told so at once.
 */
export function idempotencyKeys(records: Records): IdempotencyKeys {
  const inFlight = new Set<string>();
  const inProgress = () =>
    new ApiError('idempotency_key_in_progress', 'Idempotency-Key is that of a request still being processed');
  return {
    claim: async (exchange, endpoint, query, body) => {
      const key = endpoint.kind === 'write' && endpoint.idempotent ? keyOf(exchange) : null;
      if (key === null || exchange.caller === null) return null;
      const { business_id } = exchange.caller;
      const route = `${endpoint.method} ${endpoint.path}`;
      const name = `${business_id} ${route} ${key}`;
      if (inFlight.has(name)) throw inProgress();
      inFlight.add(name);
      exchange.key_in_flight = name;
      const claim = await records.claim({ business_id, route, key, fingerprint: await fingerprint(query, body) });
      switch (claim.kind) {
        case 'claimed':
          exchange.claim = claim.token;
          return null;
        case 'replay':
          return claim.answer;
        case 'in_progress':
          throw inProgress();
        case 'other_request':
          throw new ApiError('invalid_idempotency_key', 'Idempotency-Key was used with a different request');
      }
    },
    settleFailure: async (exchange, answer) => {
      const { claim } = exchange;
      if (claim === null) return;
      exchange.claim = null;
      if (KEPT_REFUSALS.includes(answer.status)) await records.storeRefusal(claim, answer);
      else await records.releaseClaim(claim);
    },
    finish: (exchange) => {
      if (exchange.key_in_flight !== null) inFlight.delete(exchange.key_in_flight);
    },
  };
}

/** The key, null when there is none; throws when it is empty, no UTF-8, longer than 255 code points, or given twice. */
function keyOf({ request }: Exchange): string | null {
  const header = request.headers['idempotency-key'];
  if (header === undefined) return null;
  if (countOf(request.rawHeaders, 'idempotency-key') > 1)
    throw new ApiError('invalid_idempotency_key', 'Idempotency-Key is given more than once');
  const key = utf8Of(String(header));
  const length = [...key].length;
  if (length === 0) throw new ApiError('invalid_idempotency_key', 'Idempotency-Key is empty');
  if (length > LONGEST)
    throw new ApiError(
      'invalid_idempotency_key',
      `Idempotency-Key has ${length} characters, expected at most ${LONGEST}`,
    );
  return key;
}

/** The text of a header: Node gives each of its bytes as a character. */
function utf8Of(header: string): string {
  try {
    return UTF8.decode(Buffer.from(header, 'latin1'));
  } catch (cause) {
    throw new ApiError('invalid_idempotency_key', 'Idempotency-Key is not UTF-8', {}, { cause });
  }
}

/** SHA-256 of query and body in canonical JSON; long lists in turns with other requests. */
async function fingerprint(query: QueryText, body: JsonObject | null): Promise<string> {
  const digest = createHash('sha256').update(canonical({ ...query }));
  for (const name of Object.keys(body ?? {}).sort()) {
    const value = body?.[name];
    digest.update(`\n${JSON.stringify(name)}:`);
    if (!Array.isArray(value)) digest.update(canonical(value));
    else
      for (let at = 0; at < value.length; at += ROWS_PER_TURN) {
        if (at > 0) await yieldToEventLoop();
        digest.update(canonical(value.slice(at, at + ROWS_PER_TURN)));
      }
  }
  return digest.digest('hex');
}
