import type { Generated } from 'kysely';

/** Names of the migrations, oldest first. Released ones never change; what each does besides making tables and columns is in `migrate.ts`. */
export const MIGRATION_NAMES = [
  '001-businesses-keys-credits-portfolio',
  '002-data-root',
  '003-idempotency-key-digests',
  '004-commits',
  '005-alerts-webhooks-areas',
  '006-jobs',
  '007-earlier-variant',
  '008-fair-queue',
  '009-submitted-rings',
  '010-messages-and-attempts',
  '011-ledger-outcome',
  '012-key-columns',
  '013-receiver-formats',
  '014-one-task-table',
  '015-shared-windows',
] as const;
export type MigrationName = (typeof MIGRATION_NAMES)[number];

/** Name of a variant of the interface. */
export type VariantName = 'current' | 'earlier';

/** Name of an event format: a receiver has that of the variant in which it was made. */
export type ReceiverFormat = VariantName;

/**
 * A column. The same on SQLite and PostgreSQL: ids and timestamps are text, flags and credits whole numbers, lists JSON text.
 * Timestamps are ISO 8601 UTC with milliseconds, so they compare as text.
 */
export interface Column<Value = unknown> {
  /** `counter`: numbered by the database. */
  readonly type: 'text' | 'whole' | 'real' | 'counter';
  readonly nullable: boolean;
  readonly unique: boolean;
  /** The migration that added it to its table, and what the rows of then hold; absent: it came with the table. */
  readonly added?: { readonly since: MigrationName; readonly default: string | number | null };
  /** For the compiler alone: what a row holds. */
  readonly holds?: Value;
}

const text = <Value extends string = string>(): Column<Value> => ({ type: 'text', nullable: false, unique: false });
const whole = (): Column<number> => ({ type: 'whole', nullable: false, unique: false });
const real = (): Column<number> => ({ type: 'real', nullable: false, unique: false });
const counter = (): Column<Generated<number>> => ({ type: 'counter', nullable: false, unique: false });
const nullable = <Value>(column: Column<Value>): Column<Value | null> => ({
  type: column.type,
  nullable: true,
  unique: column.unique,
});
const unique = <Value>(column: Column<Value>): Column<Value> => ({ ...column, unique: true });

const added = <Value extends string | number | null>(
  since: MigrationName,
  column: Column<Value>,
  value: Value,
): Column<Value> => ({ ...column, added: { since, default: value } });

type Columns = Readonly<Record<string, Column>>;

/** Definition of a table. Migrations, backups, the purge of a business and the checks of `doctor` follow from it. */
interface TableStatement<Of extends Columns> {
  /** The migration that makes it. */
  readonly since: MigrationName;
  readonly columns: Of;
  /** Names a row; rows are dumped, and locked, in its order. */
  readonly primary_key: readonly (keyof Of & string)[];
  /** Names of indexes, and their columns. */
  readonly indexes?: Readonly<Record<string, readonly (keyof Of & string)[]>>;
  /**
   * Whose rows these are: they go with the business of their `business_id`, or with the key of their `key_id`, and are orphans
   * without it. Null: no owner, they stay.
   */
  readonly belongs_to: 'businesses' | 'keys' | null;
  /** True when the database itself refuses rows without their owner. */
  readonly references_owner?: true;
  /** True when charges and counts change its rows: who purges a business locks those first, in their order. */
  readonly locked_by_purge?: true;
  /** True when its rows run out by themselves within a day: orphans among them are nothing to mend. */
  readonly expires?: true;
}

const table = <const Of extends Columns>(statement: TableStatement<Of>): TableStatement<Of> => statement;

/**
 * Every table, once, in the order in which a transaction locks rows of one business, and within a table in the order of its
 * primary key: transactions that keep to it never wait for each other in a circle. A table comes after those that it refers to,
 * and before the keys' come the tables of businesses.
 */
export const TABLES = {
  businesses: table({
    since: '001-businesses-keys-credits-portfolio',
    columns: {
      id: text(),
      name: unique(text()),
      status: text<'active' | 'suspended'>(),
      /** Counts writes; its row is what one write at a time of a business holds. */
      writes: whole(),
      created_at: text(),
    },
    primary_key: ['id'],
    belongs_to: null,
  }),

  /** Tariff of a business: one row each. */
  plans: table({
    since: '001-businesses-keys-credits-portfolio',
    columns: {
      business_id: text(),
      name: text(),
      monthly_limit: nullable(whole()),
      spend_cap: nullable(whole()),
      overage_policy: text<'allow' | 'block'>(),
      /** Currency units per credit above the limit. */
      overage_rate: real(),
      rate_per_minute: whole(),
      /** JSON array of names. */
      features: text(),
      /** JSON object of numbers. */
      quotas: text(),
      /** Most credits a month: follows from the limit, the spend cap and the policy. Null: none. */
      cap: nullable(whole()),
    },
    primary_key: ['business_id'],
    belongs_to: 'businesses',
    references_owner: true,
  }),

  members: table({
    since: '001-businesses-keys-credits-portfolio',
    columns: {
      business_id: text(),
      email: text(),
      role: text<'admin' | 'manager' | 'member'>(),
      created_at: text(),
    },
    primary_key: ['business_id', 'email'],
    belongs_to: 'businesses',
    references_owner: true,
  }),

  portfolio_locations: table({
    since: '001-businesses-keys-credits-portfolio',
    columns: {
      id: text(),
      business_id: text(),
      name: text(),
      lat: real(),
      lon: real(),
      address: text(),
      /** JSON array. */
      tags: text(),
      created_at: text(),
      updated_at: text(),
    },
    primary_key: ['id'],
    indexes: {
      portfolio_locations_by_name: ['business_id', 'name', 'id'],
      portfolio_locations_by_id: ['business_id', 'id'],
    },
    belongs_to: 'businesses',
    references_owner: true,
  }),

  /** Polygons and points that a business watches. */
  areas: table({
    since: '005-alerts-webhooks-areas',
    columns: {
      id: text(),
      business_id: text(),
      kind: text<'polygon' | 'point'>(),
      name: text(),
      description: nullable(text()),
      /** JSON array. */
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
      /** Of a point. */
      lat: nullable(real()),
      lon: nullable(real()),
      /** GeoJSON Polygon of a polygon, as answers show it. */
      geometry: nullable(text()),
      created_at: text(),
      updated_at: text(),
      /** When the geometry was given. */
      geometry_at: text(),
    },
    primary_key: ['id'],
    indexes: { areas_by_update: ['business_id', 'updated_at', 'id'], areas_by_group: ['business_id', 'group_id'] },
    belongs_to: 'businesses',
    references_owner: true,
  }),

  /**
   * Rings of polygons as they were submitted, where `areas.geometry` is simplified. An area from before this table has none: it is
   * matched by what is left of its ring.
   */
  area_rings: table({
    since: '009-submitted-rings',
    columns: {
      area_id: text(),
      business_id: text(),
      /** GeoJSON Polygon of up to 20,000 positions, 440 kB. */
      geometry: text(),
    },
    primary_key: ['area_id'],
    indexes: { area_rings_by_business: ['business_id'] },
    belongs_to: 'businesses',
    references_owner: true,
  }),

  /** Circles whose hail is reported to an address of the subscription's own. */
  subscriptions: table({
    since: '005-alerts-webhooks-areas',
    columns: {
      id: text(),
      business_id: text(),
      name: text(),
      lat: real(),
      lon: real(),
      radius_km: real(),
      min_size_mm: real(),
      webhook_url: text(),
      /** Encrypted under the master key. */
      secret: text(),
      status: text<'active' | 'paused'>(),
      /** Types and bytes of the events that are sent to `webhook_url`. */
      format: added('013-receiver-formats', text<ReceiverFormat>(), 'current'),
      /** Counts changes of what it asks for and of its name; not what happens to it. */
      version: whole(),
      trigger_count: whole(),
      last_triggered_at: nullable(text()),
      /** Distinct events in a row whose first attempt failed. */
      consecutive_failures: whole(),
      /** When a mail last reported its failures, before it was disabled. */
      warned_at: nullable(text()),
      /** When the team was last mailed that deliveries were given up. */
      give_up_mailed_at: nullable(text()),
      created_at: text(),
      updated_at: text(),
    },
    primary_key: ['id'],
    indexes: { subscriptions_by_business: ['business_id', 'id'] },
    belongs_to: 'businesses',
    references_owner: true,
  }),

  /** Addresses that a business gives for its events. */
  webhooks: table({
    since: '005-alerts-webhooks-areas',
    columns: {
      id: text(),
      business_id: text(),
      url: text(),
      /** Encrypted under the master key. */
      secret: text(),
      /** The secrets before, encrypted as one text, each with its end; the last one ends at `old_secret_until`. */
      old_secret: nullable(text()),
      old_secret_until: nullable(text()),
      /** JSON array of event types. */
      events: text(),
      status: text<'active' | 'paused' | 'disabled'>(),
      /** Types and bytes of the events that are sent to it. */
      format: added('013-receiver-formats', text<ReceiverFormat>(), 'current'),
      /** Since when it takes nothing; null while active. */
      inactive_since: nullable(text()),
      success_count: whole(),
      failure_count: whole(),
      /** Distinct events in a row whose first attempt failed. */
      consecutive_failures: whole(),
      /** When a mail last reported its failures, before it was disabled. */
      warned_at: nullable(text()),
      /** When the team was last mailed that deliveries were given up. */
      give_up_mailed_at: nullable(text()),
      created_at: text(),
      updated_at: text(),
    },
    primary_key: ['id'],
    indexes: { webhooks_by_business: ['business_id', 'id'] },
    belongs_to: 'businesses',
    references_owner: true,
  }),

  /** Episodes of hail over a subscription or an area. */
  alerts: table({
    since: '005-alerts-webhooks-areas',
    columns: {
      id: text(),
      business_id: text(),
      /** Subscription or area. */
      location_id: text(),
      location_kind: text<'subscription' | 'area'>(),
      location_name: text(),
      /** Version of the subscription or area at the last detection. */
      location_version: whole(),
      /** `closed`: its subscription or area no longer asks for it; no event is sent. */
      status: text<'open' | 'resolved' | 'closed'>(),
      /** `location_id` while open, else null: a location has one open alert. */
      open_location: nullable(unique(text())),
      /** Scan that opened it. */
      scan_id: text(),
      /** First detection. */
      triggered_at: text(),
      /** Last detection. */
      last_seen_at: text(),
      /** Last detection and half an hour; null while open. */
      resolved_at: nullable(text()),
      estimated_size_mm: real(),
      /** Largest while it was open. */
      max_size_mm: real(),
      confidence: real(),
      /** Of the detection that opened it. */
      lat: real(),
      lon: real(),
      distance_km: real(),
      track_id: nullable(text()),
      /** Blocks of and around the place that radars covered at the last detection; null: not known. */
      covered_blocks: nullable(whole()),
      data_source: text<'observed' | 'simulated'>(),
    },
    primary_key: ['id'],
    indexes: { alerts_by_location: ['location_id', 'triggered_at'], alerts_by_business: ['business_id', 'id'] },
    belongs_to: 'businesses',
    references_owner: true,
  }),

  /** Events for one receiver each, whose bytes are the same with every attempt. */
  messages: table({
    since: '005-alerts-webhooks-areas',
    columns: {
      /** Event id. */
      id: text(),
      business_id: text(),
      /** Webhook or subscription. */
      receiver_id: text(),
      event: text(),
      body: text(),
      alert_id: nullable(text()),
      /** Event that must be acknowledged or dropped before this one is sent. */
      after_id: nullable(text()),
      /** `waiting`: for `after_id`. */
      state: text<'waiting' | 'pending' | 'delivered' | 'dropped'>(),
      /** Attempts that ended. */
      attempts: whole(),
      /** Those of them that were made before an operator had it sent again: retries are counted from there. */
      attempts_before: whole(),
      first_attempt_at: nullable(text()),
      /** When the next attempt is due; null without one. */
      next_at: nullable(text()),
      /** Delivery that this sends again. */
      redelivered_from: nullable(text()),
      created_at: text(),
    },
    primary_key: ['id'],
    indexes: {
      messages_by_receiver: ['receiver_id', 'state'],
      messages_by_alert: ['alert_id'],
      messages_waiting: ['after_id'],
      messages_by_due: ['state', 'next_at'],
    },
    belongs_to: 'businesses',
    references_owner: true,
  }),

  /** Attempts, the last 100 of each receiver. */
  attempts: table({
    since: '005-alerts-webhooks-areas',
    columns: {
      id: text(),
      business_id: text(),
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
    },
    primary_key: ['id'],
    indexes: { attempts_by_receiver: ['receiver_id', 'created_at', 'id'], attempts_by_event: ['event_id'] },
    belongs_to: 'businesses',
    references_owner: true,
  }),

  /** Scans that were laid over subscriptions and areas: the transaction that notes one raises its alerts. */
  matched_scans: table({
    since: '005-alerts-webhooks-areas',
    columns: { scan_id: text(), at: text() },
    primary_key: ['scan_id'],
    belongs_to: null,
  }),

  /** The key under which secrets are encrypted: one row. */
  master_key: table({
    since: '005-alerts-webhooks-areas',
    columns: {
      name: text(),
      /** Names the key without telling it. */
      fingerprint: text(),
      noted_at: text(),
    },
    primary_key: ['name'],
    belongs_to: null,
  }),

  /** Reports and exports: work that a caller polls, and the file it makes. */
  jobs: table({
    since: '006-jobs',
    columns: {
      id: text(),
      business_id: text(),
      kind: text<'report' | 'export'>(),
      status: text<'pending' | 'done' | 'failed'>(),
      /** JSON object: the validated request. */
      params: text(),
      /** JSON object: what was charged, so that it can be given back when the job fails. */
      charge: text(),
      created_at: text(),
      /** Start of the last attempt; null while it waits. */
      started_at: nullable(text()),
      /** Number of attempts, those that ended with the death of the process included. */
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
    },
    primary_key: ['id'],
    indexes: {
      jobs_by_status: ['status', 'id'],
      jobs_by_expiry: ['expires_at'],
      jobs_by_business: ['business_id', 'id'],
    },
    belongs_to: 'businesses',
    references_owner: true,
  }),

  /** Requests of a business on a UTC day, where its plan limits them. */
  request_days: table({
    since: '007-earlier-variant',
    columns: { business_id: text(), day: text(), requests: whole() },
    primary_key: ['business_id', 'day'],
    belongs_to: 'businesses',
    references_owner: true,
  }),

  /** Risk score of a subscription or saved location that was last sent to the receivers of its business. */
  risk_scores: table({
    since: '007-earlier-variant',
    columns: { location_id: text(), business_id: text(), score: whole(), at: text() },
    primary_key: ['location_id'],
    indexes: { risk_scores_by_business: ['business_id'] },
    belongs_to: 'businesses',
    references_owner: true,
  }),

  /** Queued work that no caller polls. */
  tasks: table({
    since: '005-alerts-webhooks-areas',
    columns: {
      id: text(),
      /** Which handler it is for. */
      name: text(),
      /** Tasks of one group run a few at a time. */
      task_group: text(),
      /** JSON. */
      payload: text(),
      /** Epoch milliseconds of the database's clock, on SQLite the machine's, like the end of the lease. */
      due_ms: whole(),
      /** End of the lease; 0: not claimed. */
      lease_until_ms: whole(),
      /** Names the lease. */
      lease: nullable(text()),
      /** How often it was taken. */
      taken: whole(),
      /** Whose task it is; empty for one of an earlier version. */
      tenant: added('008-fair-queue', text(), ''),
      /** 1: it repeats one that failed. */
      retry: added('008-fair-queue', whole(), 0),
    },
    primary_key: ['id'],
    indexes: {
      tasks_by_tenant: ['name', 'tenant', 'retry', 'due_ms', 'id', 'task_group', 'lease_until_ms'],
    },
    belongs_to: null,
  }),

  /** Credits a business used in a month. */
  periods: table({
    since: '001-businesses-keys-credits-portfolio',
    columns: {
      business_id: text(),
      /** `YYYY-MM`. */
      period: text(),
      used: whole(),
      updated_at: text(),
    },
    primary_key: ['business_id', 'period'],
    belongs_to: 'businesses',
    locked_by_purge: true,
  }),

  /** Every charge, refund and adjustment, append-only. */
  ledger: table({
    since: '001-businesses-keys-credits-portfolio',
    columns: {
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
      request_id: added('011-ledger-outcome', nullable(unique(text())), null),
    },
    primary_key: ['id'],
    belongs_to: 'businesses',
  }),

  /** The ledger summed by day, key and operation, in the transaction that writes it. */
  usage: table({
    since: '001-businesses-keys-credits-portfolio',
    columns: {
      business_id: text(),
      /** `YYYY-MM-DD`, UTC. */
      day: text(),
      /** Empty: an operator's adjustment. */
      key_id: text(),
      operation: text(),
      /** Requests. */
      calls: whole(),
      /** Units of the price: locations of a batch, else requests. */
      count: whole(),
      credits: whole(),
    },
    primary_key: ['business_id', 'day', 'key_id', 'operation'],
    indexes: { usage_by_key: ['key_id', 'day'] },
    belongs_to: 'businesses',
  }),

  /** Where a page ended, kept while its row may change or vanish. */
  cursors: table({
    since: '001-businesses-keys-credits-portfolio',
    columns: {
      business_id: text(),
      /** Rate bucket of the key that was given the cursor; empty: for every key, because the row was deleted. */
      holder: text(),
      list: text(),
      item_id: text(),
      sort_key: text(),
      expires_at: text(),
    },
    primary_key: ['business_id', 'list', 'item_id', 'holder'],
    indexes: { cursors_by_age: ['expires_at'] },
    belongs_to: 'businesses',
    expires: true,
  }),

  /** Keys without their secrets: the text of a key is shown once and never stored. */
  keys: table({
    since: '001-businesses-keys-credits-portfolio',
    columns: {
      id: text(),
      business_id: text(),
      public_id: unique(text()),
      /** SHA-256 of the whole key, hex. */
      digest: text(),
      kind: text<'live' | 'test'>(),
      name: text(),
      /** JSON array. */
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
      variant: added<'current' | 'earlier'>('012-key-columns', text(), 'current'),
      /** Most credits a month with the keys of a rotation together; set on the first of them, whose id is the rate bucket. Null: none. */
      monthly_cap: added('012-key-columns', nullable(whole()), null),
    },
    primary_key: ['id'],
    indexes: { keys_by_business: ['business_id'], keys_by_rotation: ['rate_bucket'] },
    belongs_to: 'businesses',
    references_owner: true,
    locked_by_purge: true,
  }),

  /** Requests of a key that cost nothing: free, refused or replayed. */
  request_counts: table({
    since: '001-businesses-keys-credits-portfolio',
    columns: { key_id: text(), day: text(), requests: whole() },
    primary_key: ['key_id', 'day'],
    belongs_to: 'keys',
  }),

  /** Requests of the last minute, where processes share them (PostgreSQL): one row for each rotation of keys. */
  rate_windows: table({
    since: '015-shared-windows',
    columns: {
      /** First key of the rotation, which names its rate bucket. */
      key_id: text(),
      /** The newest time slot of `counts`, by the database's clock: `SLOT_MS` each since 1970. */
      slot: whole(),
      /** Requests that were admitted in each slot, newest first, separated by commas; the zeros at the end are left out. */
      counts: text(),
      /** Of the last statement: how many requests it admitted, and under which limit. */
      admitted: whole(),
      rate_limit: whole(),
    },
    primary_key: ['key_id'],
    belongs_to: 'keys',
    locked_by_purge: true,
    expires: true,
  }),

  /** Failed attempts by address and by guessed key, where processes share them (PostgreSQL). */
  failed_attempts: table({
    since: '015-shared-windows',
    columns: {
      /** `address` or `key`, a blank, and what names it. */
      name: text(),
      /** Times of the last failures, epoch milliseconds of the database's clock, oldest first, separated by commas. */
      failures: text(),
      /** 0: not locked. */
      locked_until_ms: whole(),
      /** 1: the last attempt found it locked. */
      refused: whole(),
      /** The last change. */
      at_ms: whole(),
    },
    primary_key: ['name'],
    belongs_to: null,
    expires: true,
  }),

  idempotency: table({
    since: '001-businesses-keys-credits-portfolio',
    columns: {
      business_id: text(),
      /** Method and route. */
      route: text(),
      /** SHA-256 of the idempotency key, hex. */
      key: text(),
      fingerprint: text(),
      /** Names one claim: a later claim of the same key has another. */
      token: unique(text()),
      /** Process that holds the claim. */
      owner: text(),
      /** When the claim of a silent owner may be taken over, epoch milliseconds of the clock of leases. */
      lease_until_ms: whole(),
      state: text<'pending' | 'done'>(),
      status: nullable(whole()),
      type: nullable(text()),
      body: nullable(text()),
      created_at: text(),
    },
    primary_key: ['business_id', 'route', 'key'],
    indexes: { idempotency_by_age: ['created_at'] },
    belongs_to: 'businesses',
    expires: true,
  }),

  /** What an operator has settled for the service as a whole, or its processes have agreed on. */
  settings: table({
    since: '007-earlier-variant',
    columns: {
      name: text(),
      /** JSON. */
      value: text(),
      noted_at: text(),
    },
    primary_key: ['name'],
    belongs_to: null,
  }),

  /** Every act of an operator, append-only. Its lines outlive the business. */
  audit: table({
    since: '001-businesses-keys-credits-portfolio',
    columns: {
      id: counter(),
      at: text(),
      /** User and machine. */
      actor: text(),
      act: text(),
      business_id: nullable(text()),
      subject: text(),
      /** JSON object. */
      detail: text(),
    },
    primary_key: ['id'],
    belongs_to: null,
  }),

  /** One row that health writes with another time each time, to see whether commits work. */
  probes: table({
    since: '001-businesses-keys-credits-portfolio',
    columns: { name: text(), at: text() },
    primary_key: ['name'],
    belongs_to: null,
  }),

  /** The migrations that were applied. */
  migrations: table({
    since: '001-businesses-keys-credits-portfolio',
    columns: { name: text(), applied_at: text() },
    primary_key: ['name'],
    belongs_to: null,
  }),
} as const;

export type TableName = keyof typeof TABLES;

/** Rows of the records, as Kysely takes them. */
export type Database = { readonly [Name in TableName]: RowOf<(typeof TABLES)[Name]['columns']> };

type RowOf<Of> = { -readonly [Name in keyof Of]: Of[Name] extends Column<infer Value> ? Value : never };

/** Definition of any table, without the types of its columns. */
export interface Table extends Omit<TableStatement<Columns>, 'columns' | 'primary_key'> {
  readonly name: TableName;
  readonly columns: Readonly<Record<string, Column>>;
  readonly primary_key: readonly string[];
}

/** Every table, in the order of the locks. */
export const ALL_TABLES: readonly Table[] = Object.entries(TABLES).map(([name, statement]) => ({
  ...statement,
  name: name as TableName,
}));
