import type { Kysely, Transaction } from 'kysely';
import type { Store } from './database.ts';
import type { Deletions } from './deletions.ts';
import type { Database, VariantName } from './schema.ts';

/** What a plan allows a business. Null limits: none. */
export interface Tariff {
  readonly name: string;
  readonly monthly_limit: number | null;
  readonly spend_cap: number | null;
  readonly overage_policy: 'allow' | 'block';
  readonly overage_rate: number;
  readonly rate_per_minute: number;
  readonly features: readonly string[];
  readonly quotas: {
    readonly locations: number;
    readonly polygons: number;
    readonly point_areas: number;
    readonly real_time_polygons: number;
    readonly area_sq_mi: number;
    readonly subscriptions: number;
    readonly webhooks: number;
    /** Requests a UTC day with all keys together; null: any number. */
    readonly requests_per_day: number | null;
  };
}

/** Who asks: a valid key and its business. */
export interface Caller {
  readonly business_id: string;
  readonly key_id: string;
  /** Keys of one rotation share this: their requests count in one window. */
  readonly rate_bucket: string;
  readonly kind: 'live' | 'test';
  /** Variant of the interface that the key gets under `/v1`. */
  readonly variant: VariantName;
  readonly scopes: readonly string[];
  readonly suspended: boolean;
  /** Most credits a month with the keys of this rotation; null: none but the business's. */
  readonly key_cap: number | null;
  readonly plan: Tariff;
}

/** A charge was refused by a cap: that of the business, or that of the key. */
export type OverCap = 'over_cap' | 'over_key_cap';

export interface Charge {
  readonly business_id: string;
  readonly key_id: string;
  readonly operation: string;
  readonly credits: number;
  readonly count: number;
  /** Data clock, epoch milliseconds: decides month and day. */
  readonly at_ms: number;
}

/**
 * The records inside one transaction, for the rows of a write. It must not read through `Records.reader`: that sees what
 * is committed, and on one connection would wait for itself.
 */
export interface Writer {
  readonly rows: Transaction<Database>;
  readonly business_id: string;
  readonly now_ms: number;
}

/** An answer as it is stored for an idempotency key. */
export interface StoredAnswer {
  readonly status: number;
  readonly type: string;
  readonly body: string;
}

/** What became of a claim of an idempotency key. */
export type Claim =
  | { readonly kind: 'claimed'; readonly token: string }
  | { readonly kind: 'in_progress' }
  | { readonly kind: 'replay'; readonly answer: StoredAnswer }
  | { readonly kind: 'other_request' };

export interface ClaimRequest {
  readonly business_id: string;
  /** Method and route. */
  readonly route: string;
  readonly key: string;
  /** SHA-256 of the canonical body and query. */
  readonly fingerprint: string;
}

/** Where a page ended: what the next page starts after. */
export interface CursorNote {
  readonly business_id: string;
  /** Rate bucket of the key that is given the cursor. */
  readonly holder: string;
  readonly list: string;
  readonly item_id: string;
  readonly sort_key: string;
  readonly expires_at: string;
}

/**
 * The businesses' rows. Every function throws RecordsUnavailable when the store cannot be reached and nothing was done,
 * CommitFailed when a commit failed and was rolled back, and OutcomeUnknown when the answer to a commit was lost and what
 * became of it could not be looked up in time.
 */
export interface Records {
  /** Key by its text; null when no such key is alive. Remembered for at most a second. */
  readonly authenticate: (keyText: string, now_ms: number) => Promise<Caller | null>;
  /** The same from memory alone, however old: for the time in which the records are out of reach. */
  readonly remembered: (keyText: string, now_ms: number) => Caller | null;
  /**
   * Charges a call; resolves once the charge is committed. `over_cap`, `over_key_cap`: nothing was charged. Charges that arrive while
   * a commit runs are committed together with the next. Throws BusinessGone; after OutcomeUnknown it is refunded if made.
   */
  readonly charge: (charge: Charge) => Promise<'charged' | OverCap>;
  /** The cap that would refuse a charge now, null for none: a look, nothing is reserved. Throws RecordsUnavailable when none can be written. */
  readonly wouldExceed: (caller: Caller, credits: number, now_ms: number) => Promise<OverCap | null>;
  /**
   * Counts a free, refused or replayed call in the key's total of requests; committed within a second, not before the
   * answer. Charged calls are counted by their charge.
   */
  readonly countRequest: (key_id: string, now_ms: number) => void;
  /** Counts a request in the UTC day of its business, and says whether the day still had one. */
  readonly admitToday: (business_id: string, limit: number, now_ms: number) => boolean | Promise<boolean>;
  readonly claim: (request: ClaimRequest) => Promise<Claim>;
  /** Forgets a claim whose request ended without anything to keep; when it cannot now, as soon as it can. */
  readonly releaseClaim: (token: string) => Promise<void>;
  /** Keeps a refusal (400, 404, 409) under its claim; when it cannot, it forgets the claim as soon as it can. */
  readonly storeRefusal: (token: string, answer: StoredAnswer) => Promise<void>;
  /**
   * One transaction: `work`, the charge, and the finished claim with the answer that `work` returned. `over_cap`,
   * `over_key_cap`: everything was rolled back. What `work` throws rolls back and is thrown again. Writes of one business take turns. Throws
   * BusinessGone; after OutcomeUnknown rows and charge stand or fall together.
   */
  readonly write: <Result extends StoredAnswer>(
    business_id: string,
    charge: Charge | null,
    claim: string | null,
    now_ms: number,
    work: (writer: Writer) => Promise<Result>,
  ) => Promise<Result | OverCap>;
  /** One transaction that is neither charged nor claimed: an operator's, or housekeeping. */
  readonly transaction: <Result>(work: (rows: Transaction<Database>) => Promise<Result>) => Promise<Result>;
  /** What may be deleted by its age. */
  readonly deletions: Deletions;
  /** Remembers where a page ended; committed with the next charge, at the latest within a second. */
  readonly rememberCursor: (note: CursorNote) => void;
  /** Reads outside any transaction. */
  readonly reader: Kysely<Database>;
  /** False when the records cannot be read, what was read or written last failed and still does, or their file is gone or damaged. */
  readonly health: () => Promise<boolean>;
  /** The database beneath, for operators' commands. */
  readonly store: Store;
  /** Waits for what is being committed, writes what was noted, and closes. */
  readonly close: () => Promise<void>;
}
