import { resolve } from 'node:path';
import { parseSettings } from '../schemas/settings.ts';

/** Settings of the service, read once from the environment; `schemas/settings.ts` describes each. Null: it is not set. */
export type Config = ReturnType<typeof readConfig>;
export type WebhookSettings = Config['webhooks'];

/** A setting in the environment does not fit. */
export class SettingsError extends Error {
  constructor(reason: string, options?: ErrorOptions) {
    super(reason, options);
    this.name = 'SettingsError';
  }
}

/** Reads the settings; throws SettingsError naming every one that does not fit. */
export function readConfig(environment: Readonly<Record<string, string | undefined>> = process.env) {
  const settings = parseSettings(environment, (faults) => new SettingsError(faults));
  const fixed_ms = settings.HAIL_NOW === undefined ? null : Date.parse(settings.HAIL_NOW);
  return Object.freeze({
    data_root: settings.HAIL_DATA,
    host: settings.HAIL_HOST,
    port: settings.HAIL_PORT,
    keep_alive_s: settings.HAIL_KEEP_ALIVE_S,
    /** Public address, ending in `/v1`; null: from host and port, once they are known. */
    base_url: settings.HAIL_BASE_URL?.replace(/\/$/, '') ?? null,
    /** PostgreSQL; null: a SQLite file under the data root. */
    database_url: settings.HAIL_DATABASE_URL ?? null,
    /** Public address of a mirror of the data root, from which map viewers load tile archives; null: from the service. */
    tiles_url: settings.HAIL_TILES_URL?.replace(/\/+$/, '') ?? null,
    trusted_proxies: settings.HAIL_TRUST_PROXY ?? [],
    metrics_port: settings.HAIL_METRICS_PORT ?? null,
    viewer: settings.HAIL_VIEWER,
    geocoder_url: settings.HAIL_GEOCODER_URL ?? null,
    user_agent: settings.HAIL_USER_AGENT,
    /** Origins of pages that may show the map in a frame. */
    embed_origins: settings.HAIL_EMBED_ORIGINS ?? [],
    /** Encrypt stored secrets; the first encrypts new ones; null: a file under the data root. */
    master_keys: settings.HAIL_MASTER_KEY ?? null,
    webhooks: {
      allow_cidrs: settings.HAIL_WEBHOOK_ALLOW_CIDRS ?? [],
      ca_file: settings.HAIL_WEBHOOK_CA_FILE === undefined ? null : resolve(settings.HAIL_WEBHOOK_CA_FILE),
      time_scale: settings.HAIL_WEBHOOK_TIME_SCALE,
    },
    smtp_url: settings.HAIL_SMTP_URL ?? null,
    storm_day_start_hour: settings.HAIL_STORM_DAY_START_HOUR,
    basemap: settings.HAIL_BASEMAP === undefined ? null : basemapOf(settings.HAIL_BASEMAP),
    log_level: settings.HAIL_LOG_LEVEL,
    /** The data clock, epoch milliseconds. */
    now: () => fixed_ms ?? Date.now(),
    /** True where HAIL_NOW fixes the data clock: nothing is deleted by its age then. */
    now_is_fixed: fixed_ms !== null,
  });
}

/** Address of a service without the path of its interface: the public one, else of this machine. */
export function rootAddress({ base_url, host }: Pick<Config, 'base_url' | 'host'>, port: number): string {
  if (base_url !== null) return base_url.replace(/\/v1$/, '');
  if (host === '0.0.0.0' || host === '::') return `http://127.0.0.1:${port}`;
  return `http://${host.includes(':') ? `[${host}]` : host}:${port}`;
}

/** An address as it is, a path absolute. */
function basemapOf(text: string): string {
  return text.includes('://') ? text : resolve(text);
}
