import type { Generated } from 'kysely';

/** Variants of the interface. */
export const VARIANT_NAMES = ['current', 'legacy'] as const;
export type VariantName = (typeof VARIANT_NAMES)[number];
/** A receiver has the event format of the variant in which it was made. */
export type ReceiverFormat = VariantName;

/**
 * A column. The same on SQLite and PostgreSQL: ids and timestamps are text, flags and credits whole numbers, lists JSON text.
 * Timestamps are ISO 8601 UTC with milliseconds, so they compare as text.
 */
export interface Column<Value = unknown> {
  /** `counter`: a primary key that the database numbers. */
  readonly type: 'text' | 'whole' | 'real' | 'counter';
  readonly nullable?: true;
  readonly unique?: true;
  /** Part of the primary key, which is the first column of a table without such columns. */
  readonly key?: true;
  /** For the compiler alone: what a row holds. */
  readonly holds?: Value;
}

const text = <Value extends string = string>(): Column<Value> => ({ type: 'text' });
const whole = (): Column<number> => ({ type: 'whole' });
const real = (): Column<number> => ({ type: 'real' });
const counter = (): Column<Generated<number>> => ({ type: 'counter' });
const nullable = <Value>(column: Column<Value>): Column<Value | null> => ({
  ...(column as Column<Value | null>),
  nullable: true,
});
const unique = <Value>(column: Column<Value>): Column<Value> => ({ ...column, unique: true });
const key = <Value>(column: Column<Value>): Column<Value> => ({ ...column, key: true });

type Columns = Readonly<Record<string, Column>>;
const table = <const Of extends Columns>(columns: Of) => ({ columns, indexes: [] });
/** A table with indexes, each over columns with a blank between them. */
const indexed = <const Of extends Columns>(indexes: readonly string[], columns: Of) => ({ columns, indexes });

/** Columns of what a business has under an id. */
const OWN = { id: text(), business_id: text() };
const WRITTEN = { created_at: text(), updated_at: text() };
const POSITION = { lat: real(), lon: real() };
/** Columns of what receives events, a webhook or a subscription. */
const RECEIVER = {
  ...OWN,
  /** Encrypted under the master key. */
  secret: text(),
  /** Types and bytes of the events that are sent to it. */
  format: text<VariantName>(),
  /** Distinct events in a row whose first attempt failed. */
  consecutive_failures: whole(),
  /** When a mail last reported its failures, before it was disabled. */
  warned_at: nullable(text()),
  /** When the team was last mailed that deliveries were given up. */
  give_up_mailed_at: nullable(text()),
  ...WRITTEN,
};

/**
 * Every table, once, in the order in which a transaction locks rows of one business, and within a table in the order of its
 * primary key: transactions that keep to it never wait for each other in a circle. Rows with a `business_id` go with their
 * business, unless that may be null.
 */
const TABLES = {
  businesses: table({
    id: text(),
    name: unique(text()),
    status: text<'active' | 'suspended'>(),
    /** Counts writes; its row is what one write at a time of a business holds. */
    writes: whole(),
    created_at: text(),
  }),

  /** Tariff of a business: one row each. */
  plans: table({
    business_id: text(),
    name: text(),
    monthly_limit: nullable(whole()),
    spend_cap: nullable(whole()),
    overage_policy: text<'allow' | 'block'>(),
    /** Currency units per credit above the limit. */
    overage_rate: real(),
    rate_per_minute: whole(),
    features: text(),
    quotas: text(),
    /** Most credits a month: follows from the limit, the spend cap and the policy. Null: none. */
    cap: nullable(whole()),
  }),

  members: table({
    business_id: key(text()),
    email: key(text()),
    role: text<'admin' | 'manager' | 'member'>(),
    created_at: text(),
  }),

  portfolio_locations: indexed(['business_id name id', 'business_id id'], {
    ...OWN,
    name: text(),
    ...POSITION,
    address: text(),
    tags: text(),
    ...WRITTEN,
  }),

  /** Polygons and points that a business watches. */
  areas: indexed(['business_id updated_at id', 'business_id group_id'], {
    ...OWN,
    kind: text<'polygon' | 'point'>(),
    name: text(),
    description: nullable(text()),
    tags: text(),
    priority: text<'low' | 'normal' | 'high' | 'critical'>(),
    group_id: nullable(text()),
    /** 1: matched first in each scan. */
    real_time: whole(),
    purpose: text<'monitoring' | 'canvassing' | 'both'>(),
    /** JSON array of minLon, minLat, maxLon, maxLat. */
    bbox: text(),
    centroid_geohash4: text(),
    area_sq_mi: real(),
    version: whole(),
    lat: nullable(real()),
    lon: nullable(real()),
    /** GeoJSON Polygon of a polygon, as answers show it. */
    geometry: nullable(text()),
    ...WRITTEN,
    geometry_at: text(),
  }),

  /** Rings of polygons as they were submitted, where `areas.geometry` is simplified. */
  area_rings: indexed(['business_id'], {
    area_id: text(),
    business_id: text(),
    /** GeoJSON Polygon of up to 20,000 positions, 440 kB. */
    geometry: text(),
  }),

  /** Circles whose hail is reported to an address of the subscription's own. */
  subscriptions: indexed(['business_id id'], {
    ...RECEIVER,
    name: text(),
    ...POSITION,
    radius_km: real(),
    min_size_mm: real(),
    webhook_url: text(),
    status: text<'active' | 'paused'>(),
    /** Counts changes of what it asks for and of its name; not what happens to it. */
    version: whole(),
    trigger_count: whole(),
    last_triggered_at: nullable(text()),
  }),

  /** Addresses that a business gives for its events. */
  webhooks: indexed(['business_id id'], {
    ...RECEIVER,
    url: text(),
    /** The secrets before, encrypted as one text, each with its end; the last one ends at `old_secret_until`. */
    old_secret: nullable(text()),
    old_secret_until: nullable(text()),
    events: text(),
    status: text<'active' | 'paused' | 'disabled'>(),
    /** Since when it takes nothing; null while active. */
    inactive_since: nullable(text()),
    success_count: whole(),
    failure_count: whole(),
  }),

  /** Episodes of hail over a subscription or an area. */
  alerts: indexed(['location_id triggered_at', 'business_id id'], {
    ...OWN,
    location_id: text(),
    location_kind: text<'subscription' | 'area'>(),
    location_name: text(),
    /** Version of the subscription or area at the last detection. */
    location_version: whole(),
    /** `closed`: its subscription or area no longer asks for it; no event is sent. */
    status: text<'open' | 'resolved' | 'closed'>(),
    /** `location_id` while open, else null: a location has one open alert. */
    open_location: nullable(unique(text())),
    scan_id: text(),
    triggered_at: text(),
    last_seen_at: text(),
    /** Last detection and half an hour; null while open. */
    resolved_at: nullable(text()),
    estimated_size_mm: real(),
    max_size_mm: real(),
    confidence: real(),
    /** Of the detection that opened it. */
    ...POSITION,
    distance_km: real(),
    track_id: nullable(text()),
    /** Blocks of and around the place that radars covered at the last detection; null: not known. */
    covered_blocks: nullable(whole()),
    data_source: text<'observed' | 'simulated'>(),
  }),

  /** Events for one receiver each, whose bytes are the same with every attempt. */
  messages: indexed(['receiver_id state', 'alert_id', 'after_id', 'state next_at', 'state created_at'], {
    ...OWN,
    receiver_id: text(),
    event: text(),
    body: text(),
    alert_id: nullable(text()),
    /** Event that must be acknowledged or dropped before this one is sent. */
    after_id: nullable(text()),
    /** `waiting`: for `after_id`. */
    state: text<'waiting' | 'pending' | 'delivered' | 'dropped'>(),
    attempts: whole(),
    /** Those of them that were made before an operator had it sent again: retries are counted from there. */
    attempts_before: whole(),
    first_attempt_at: nullable(text()),
    /** When the next attempt is due; null without one. */
    next_at: nullable(text()),
    /** Delivery that this sends again. */
    redelivered_from: nullable(text()),
    created_at: text(),
  }),

  /** Attempts, the last 100 of each receiver. */
  attempts: indexed(['receiver_id created_at id', 'event_id'], {
    ...OWN,
    receiver_id: text(),
    event_id: text(),
    event: text(),
    attempt: whole(),
    status_code: nullable(whole()),
    success: whole(),
    error: nullable(text()),
    error_class: nullable(text()),
    /** The first bytes of what the receiver answered. */
    answer: text(),
    redelivered_from: nullable(text()),
    duration_ms: whole(),
    next_retry_at: nullable(text()),
    created_at: text(),
  }),

  /** Scans that were laid over subscriptions and areas: the transaction that notes one raises its alerts. */
  matched_scans: table({ scan_id: text(), at: text() }),

  /** Reports and exports: work that a caller polls, and the file it makes. */
  jobs: indexed(['status id', 'expires_at', 'business_id id'], {
    ...OWN,
    kind: text<'report' | 'export'>(),
    status: text<'pending' | 'done' | 'failed'>(),
    /** JSON object: the validated request. */
    params: text(),
    /** JSON object: the charge, for the refund when the job fails. */
    charge: text(),
    created_at: text(),
    /** Start of the last attempt; null while it waits. */
    started_at: nullable(text()),
    takes: whole(),
    /** When the file was made, or the job failed; null while pending. */
    finished_at: nullable(text()),
    /** When the file and this row are deleted. */
    expires_at: text(),
    /** JSON object of the poll's result; null until done. */
    summary: nullable(text()),
    /** Why it failed, in words; null unless failed. */
    message: nullable(text()),
    data_as_of: nullable(text()),
    data_source: nullable(text()),
    media_type: nullable(text()),
    /** Name that a browser saves the file under. */
    file_name: nullable(text()),
    bytes: nullable(whole()),
    /** Of the file, hex. */
    sha256: nullable(text()),
  }),

  /** Requests of a business on a UTC day, where its plan limits them. */
  request_days: table({ business_id: key(text()), day: key(text()), requests: whole() }),

  /** Risk score of a subscription or saved location that was last sent to the receivers of its business. */
  risk_scores: indexed(['business_id'], { location_id: text(), business_id: text(), score: whole(), at: text() }),

  /** Queued work that no caller polls. */
  tasks: indexed(['name tenant retry due_ms id'], {
    id: text(),
    name: text(),
    /** Tasks of one group run a few at a time. */
    task_group: text(),
    payload: text(),
    /** Epoch milliseconds of the database's clock, on SQLite the machine's, like all times of a task. */
    due_ms: whole(),
    /** End of the lease; 0: not claimed. */
    lease_until_ms: whole(),
    lease: nullable(text()),
    taken: whole(),
    /** Tenants share the slots of a handler. */
    tenant: text(),
    /** 1: it repeats one that failed. */
    retry: whole(),
  }),

  /** Credits a business used in a month. */
  periods: table({
    business_id: key(text()),
    /** `YYYY-MM`. */
    period: key(text()),
    used: whole(),
    updated_at: text(),
  }),

  /** Every charge, refund and adjustment, append-only. */
  ledger: table({
    id: counter(),
    business_id: text(),
    /** Null: an operator's adjustment. */
    key_id: nullable(text()),
    operation: text(),
    count: whole(),
    credits: whole(),
    at: text(),
    reason: nullable(text()),
    /** Names the request that was charged, so that the outcome of its commit can be looked up. Null: an adjustment, a job's refund. */
    request_id: nullable(unique(text())),
  }),

  /** The ledger summed by day, key and operation, in the transaction that writes it. */
  usage: indexed(['key_id day'], {
    business_id: key(text()),
    /** `YYYY-MM-DD`, UTC. */
    day: key(text()),
    /** Empty: an operator's adjustment. */
    key_id: key(text()),
    operation: key(text()),
    calls: whole(),
    /** Units of the price: locations of a batch, else requests. */
    count: whole(),
    credits: whole(),
  }),

  /** Where a page ended, kept while its row may change or vanish. */
  cursors: indexed(['expires_at'], {
    business_id: key(text()),
    /** Rate bucket of the key that was given the cursor; empty: for every key, because the row was deleted. */
    holder: key(text()),
    list: key(text()),
    item_id: key(text()),
    sort_key: text(),
    expires_at: text(),
  }),

  /** Keys without their secrets: the text of a key is shown once and never stored. */
  keys: indexed(['business_id', 'rate_bucket'], {
    ...OWN,
    public_id: unique(text()),
    /** SHA-256 of the whole key, hex. */
    digest: text(),
    kind: text<'live' | 'test'>(),
    name: text(),
    scopes: text(),
    /** Keys of one rotation share it. */
    rate_bucket: text(),
    created_at: text(),
    /** First instant at which it no longer opens anything; null: never. */
    expires_at: nullable(text()),
    revoked_at: nullable(text()),
    /** The key that took over; it runs out at `expires_at`. */
    replaced_by: nullable(text()),
    last_used_at: nullable(text()),
    variant: text<VariantName>(),
    /** Most credits a month with the keys of a rotation together; set on the first of them, whose id is the rate bucket. Null: none. */
    monthly_cap: nullable(whole()),
  }),

  /** Requests of a key that cost nothing: free, refused or replayed. */
  request_counts: table({ key_id: key(text()), day: key(text()), requests: whole() }),

  idempotency: indexed(['created_at'], {
    business_id: key(text()),
    /** Method and route. */
    route: key(text()),
    /** SHA-256 of the idempotency key, hex. */
    key: key(text()),
    fingerprint: text(),
    status: whole(),
    type: text(),
    body: text(),
    created_at: text(),
  }),

  /** What an operator has settled for the service as a whole, or its processes have agreed on. */
  settings: table({
    name: text(),
    value: text(),
    noted_at: text(),
  }),

  /** Every act of an operator, append-only. Its lines outlive the business. */
  audit: table({
    id: counter(),
    at: text(),
    actor: text(),
    act: text(),
    business_id: nullable(text()),
    subject: text(),
    detail: text(),
  }),

  /** One row that health writes with another time each time, to see whether commits work. */
  probes: table({ name: text(), at: text() }),
} as const;

export type TableName = keyof typeof TABLES;

/** Rows of the records, as Kysely takes them. */
export type Database = { readonly [Name in TableName]: RowOf<(typeof TABLES)[Name]['columns']> };

type RowOf<Of> = { -readonly [Name in keyof Of]: Of[Name] extends Column<infer Value> ? Value : never };

/** Definition of any table, without the types of its columns. */
type Table = Readonly<{ name: TableName; columns: Columns; indexes: readonly string[] }>;

/** Every table, in the order of the locks. */
export const ALL_TABLES = Object.entries(TABLES).map(([name, definition]): Table => {
  return { name: name as TableName, ...definition };
});

/** True for a table whose rows go with their business. */
export function isOwned({ columns }: Table): boolean {
  const { business_id } = columns;
  return business_id !== undefined && !business_id.nullable;
}
