import { resolve } from 'node:path';
import { parseSettings, type Settings } from '../schemas/settings.ts';

/** What receivers of events may be, and how long they are waited for. */
export interface WebhookSettings {
  /** Private addresses and networks that receivers may live in; empty: none. */
  readonly allow_cidrs: readonly string[];
  /** Certificates of further authorities; null: the usual ones alone. */
  readonly ca_file: string | null;
  /** Factor of the waits between attempts. */
  readonly time_scale: number;
}

/** Settings of the service, read once from the environment and frozen. */
export interface Config {
  readonly data_root: string;
  readonly host: string;
  readonly port: number;
  /** How long a connection is kept after an answer. */
  readonly keep_alive_s: number;
  /** Public address, ending in `/v1`; null: from host and port, once they are known. */
  readonly base_url: string | null;
  /** PostgreSQL; null: a SQLite file under the data root. */
  readonly database_url: string | null;
  /** Public address of a mirror of the data root, from which map viewers load tile archives; null: from the service. */
  readonly tiles_url: string | null;
  /** Addresses and networks of proxies that are believed; empty: none. */
  readonly trusted_proxies: readonly string[];
  /** Port of the metrics; null: none. */
  readonly metrics_port: number | null;
  /** Who may open the map: callers with a key, or anyone. */
  readonly viewer: Settings['HAIL_VIEWER'];
  /** Encrypt stored secrets; the first encrypts new ones; null: a file under the data root. */
  readonly master_keys: readonly Buffer[] | null;
  readonly webhooks: WebhookSettings;
  /** Mail server; null: mail is put into a folder. */
  readonly smtp_url: string | null;
  readonly storm_day_start_hour: number;
  /** Days that raw files are kept after they came; null: for ever. */
  readonly raw_keep_days: number | null;
  /** Path or address of a Protomaps archive for the map page; null: the map that the service makes itself. */
  readonly basemap: string | null;
  readonly log_level: Settings['HAIL_LOG_LEVEL'];
  /** The data clock, epoch milliseconds. */
  readonly now: () => number;
  /** True where HAIL_NOW fixes the data clock: nothing is deleted by its age then. */
  readonly now_is_fixed: boolean;
}

/** A setting in the environment does not fit. */
export class SettingsError extends Error {
  constructor(reason: string, options?: ErrorOptions) {
    super(reason, options);
    this.name = 'SettingsError';
  }
}

/** Reads the settings; throws SettingsError naming every one that does not fit. */
export function readConfig(environment: Readonly<Record<string, string | undefined>> = process.env): Config {
  const settings = parseSettings(environment, (faults) => new SettingsError(faults));
  const fixed_ms = settings.HAIL_NOW === undefined ? null : Date.parse(settings.HAIL_NOW);
  return Object.freeze({
    data_root: resolve(settings.HAIL_DATA),
    host: settings.HAIL_HOST,
    port: settings.HAIL_PORT,
    keep_alive_s: settings.HAIL_KEEP_ALIVE_S,
    base_url: settings.HAIL_BASE_URL?.replace(/\/$/, '') ?? null,
    database_url: settings.HAIL_DATABASE_URL ?? null,
    tiles_url: settings.HAIL_TILES_URL?.replace(/\/+$/, '') ?? null,
    trusted_proxies: settings.HAIL_TRUST_PROXY ?? [],
    metrics_port: settings.HAIL_METRICS_PORT ?? null,
    viewer: settings.HAIL_VIEWER,
    master_keys: settings.HAIL_MASTER_KEY ?? null,
    webhooks: {
      allow_cidrs: settings.HAIL_WEBHOOK_ALLOW_CIDRS ?? [],
      ca_file: settings.HAIL_WEBHOOK_CA_FILE === undefined ? null : resolve(settings.HAIL_WEBHOOK_CA_FILE),
      time_scale: settings.HAIL_WEBHOOK_TIME_SCALE,
    },
    smtp_url: settings.HAIL_SMTP_URL ?? null,
    storm_day_start_hour: settings.HAIL_STORM_DAY_START_HOUR,
    raw_keep_days: settings.HAIL_RAW_KEEP_DAYS ?? null,
    basemap: settings.HAIL_BASEMAP === undefined ? null : basemapOf(settings.HAIL_BASEMAP),
    log_level: settings.HAIL_LOG_LEVEL,
    now: () => fixed_ms ?? Date.now(),
    now_is_fixed: fixed_ms !== null,
  });
}

/** An address as it is, a path absolute. */
function basemapOf(text: string): string {
  return text.includes('://') ? text : resolve(text);
}
