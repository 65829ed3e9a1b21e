import type { Generated } from 'kysely';

/**
 * Rows of the records. The same on SQLite and PostgreSQL: ids and timestamps are text, flags and credits whole numbers,
 * lists JSON text. Timestamps are ISO 8601 UTC with milliseconds, so they compare as text.
 */
export interface Database {
  readonly migrations: MigrationsTable;
  readonly businesses: BusinessesTable;
  readonly plans: PlansTable;
  readonly members: MembersTable;
  readonly keys: KeysTable;
  readonly periods: PeriodsTable;
  readonly ledger: LedgerTable;
  readonly usage: UsageTable;
  readonly request_counts: RequestCountsTable;
  readonly idempotency: IdempotencyTable;
  readonly portfolio_locations: PortfolioLocationsTable;
  readonly cursors: CursorsTable;
  readonly audit: AuditTable;
  readonly probes: ProbesTable;
  readonly data_root: DataRootTable;
  readonly commits: CommitsTable;
}

/**
 * Every table but the list of migrations, in the order in which a transaction locks rows of one business; within a table in
 * the order of their primary keys. Transactions that keep to it never wait for each other in a circle.
 */
export const TABLES = [
  'businesses',
  'plans',
  'members',
  'portfolio_locations',
  'periods',
  'ledger',
  'usage',
  'cursors',
  'keys',
  'request_counts',
  'idempotency',
  'audit',
  'commits',
  'probes',
  'data_root',
] as const satisfies readonly Exclude<keyof Database, 'migrations'>[];

interface MigrationsTable {
  name: string;
  applied_at: string;
}

interface BusinessesTable {
  id: string;
  name: string;
  status: 'active' | 'suspended';
  /** Counts writes; its row is what one write at a time of a business holds. */
  writes: number;
  created_at: string;
}

/** What a business may do: one row each. */
interface PlansTable {
  business_id: string;
  name: string;
  monthly_limit: number | null;
  spend_cap: number | null;
  overage_policy: 'allow' | 'block';
  /** Currency units per credit above the limit. */
  overage_rate: number;
  rate_per_minute: number;
  /** JSON array of names. */
  features: string;
  /** JSON object of numbers. */
  quotas: string;
  /** Most credits a month: follows from the limit, the spend cap and the policy. Null: none. */
  cap: number | null;
}

interface MembersTable {
  business_id: string;
  email: string;
  role: 'admin' | 'manager' | 'member';
  created_at: string;
}

/** Keys without their secrets: the text of a key is shown once and never stored. */
interface KeysTable {
  id: string;
  business_id: string;
  public_id: string;
  /** SHA-256 of the whole key, hex. */
  digest: string;
  kind: 'live' | 'test';
  name: string;
  /** JSON array. */
  scopes: string;
  /** Keys of one rotation share it. */
  rate_bucket: string;
  created_at: string;
  /** First instant at which it no longer opens anything; null: never. */
  expires_at: string | null;
  revoked_at: string | null;
  /** The key that took over; it runs out at `expires_at`. */
  replaced_by: string | null;
  last_used_at: string | null;
}

/** Credits a business used in a month, `YYYY-MM`. */
interface PeriodsTable {
  business_id: string;
  period: string;
  used: number;
  updated_at: string;
}

/** Every charge, refund and adjustment, append-only. */
interface LedgerTable {
  id: Generated<number>;
  business_id: string;
  /** Null: an operator's adjustment. */
  key_id: string | null;
  operation: string;
  count: number;
  credits: number;
  at: string;
  reason: string | null;
}

/** The ledger summed by day, key and operation, in the transaction that writes it. */
interface UsageTable {
  business_id: string;
  /** `YYYY-MM-DD`, UTC. */
  day: string;
  /** Empty: an operator's adjustment. */
  key_id: string;
  operation: string;
  /** Requests. */
  calls: number;
  /** Units of the price: locations of a batch, else requests. */
  count: number;
  credits: number;
}

/** Requests of a key that cost nothing: free, refused or replayed. */
interface RequestCountsTable {
  key_id: string;
  day: string;
  requests: number;
}

interface IdempotencyTable {
  business_id: string;
  /** Method and route. */
  route: string;
  /** SHA-256 of the idempotency key, hex. */
  key: string;
  fingerprint: string;
  /** Names one claim: a later claim of the same key has another. */
  token: string;
  /** Process that holds the claim. */
  owner: string;
  /** When the claim of a silent owner may be taken over, epoch milliseconds of the machine's clock. */
  lease_until_ms: number;
  state: 'pending' | 'done';
  status: number | null;
  type: string | null;
  body: string | null;
  created_at: string;
}

interface PortfolioLocationsTable {
  id: string;
  business_id: string;
  name: string;
  lat: number;
  lon: number;
  address: string;
  /** JSON array. */
  tags: string;
  created_at: string;
  updated_at: string;
}

/** Where a page ended, kept while its row may change or vanish. */
interface CursorsTable {
  business_id: string;
  /** Rate bucket of the key that was given the cursor; empty: for every key, because the row was deleted. */
  holder: string;
  list: string;
  item_id: string;
  sort_key: string;
  expires_at: string;
}

/** Every act of an operator, append-only. */
interface AuditTable {
  id: Generated<number>;
  at: string;
  /** User and machine. */
  actor: string;
  act: string;
  business_id: string | null;
  subject: string;
  /** JSON object. */
  detail: string;
}

/** One row that health writes with another time each time, to see whether commits work. */
interface ProbesTable {
  name: string;
  at: string;
}

/** What the data root held when it was served last: one row. It belongs to the place, not to the records: no backup holds it. */
interface DataRootTable {
  name: string;
  /** JSON object. */
  state: string;
  noted_at: string;
}

/** A row for each transaction whose commit was not yet heard to have gone well: it is there when the transaction is. */
interface CommitsTable {
  id: string;
  at: string;
}
