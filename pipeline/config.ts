import { parseSettings, type Settings } from '../schemas/settings.ts';
import { UsageError } from './error.ts';

/** Public buckets of the models, without a slash at the end. */
const MODEL_URLS: Readonly<Record<Settings['HAIL_MODEL'], string>> = {
  hrrr: 'https://noaa-hrrr-bdp-pds.s3.amazonaws.com',
  rrfs: 'https://noaa-rrfs-ops-pds.s3.amazonaws.com',
};

/** Base addresses of public servers, without a slash at the end. */
export interface WebAddresses {
  readonly spc_url: string;
  readonly lsr_url: string;
  readonly nws_url: string;
  readonly user_agent: string;
}

/** Settings of the pipeline, read once from the environment and frozen. */
export interface Config {
  readonly data_root: string;
  readonly mrms_url: string;
  /** Servers of the feeds of reports, warnings and outlooks, and the user agent that requests to them carry. */
  readonly web: WebAddresses;
  /** Forecast model and the base address of its files. */
  readonly model: { readonly name: Settings['HAIL_MODEL']; readonly url: string };
  readonly storm_day_start_hour: number;
  /** Days that raw files are kept after they arrived; null: never deleted. Null whenever HAIL_NOW fixes the clock. */
  readonly raw_keep_days: number | null;
  /** Hours after a scan that its archive of reflectivity is kept; 0: none is painted. */
  readonly reflectivity_keep_hours: number;
  readonly log_level: Settings['HAIL_LOG_LEVEL'];
  /** Where metrics are served; a null port serves none. */
  readonly metrics: { readonly host: string; readonly port: number | null };
  /** True where HAIL_NOW fixes the data clock. */
  readonly clock_is_fixed: boolean;
  /** The data clock, epoch milliseconds. */
  readonly now: () => number;
}

/** Reads the settings; throws UsageError naming every setting that does not fit. */
export function readConfig(environment: Readonly<Record<string, string | undefined>> = process.env): Config {
  const settings = parseSettings(environment, (faults) => new UsageError(faults));
  const fixed_ms = settings.HAIL_NOW === undefined ? null : Date.parse(settings.HAIL_NOW);
  return Object.freeze({
    data_root: settings.HAIL_DATA,
    mrms_url: withoutSlash(settings.HAIL_MRMS_URL),
    web: {
      spc_url: withoutSlash(settings.HAIL_SPC_URL),
      lsr_url: withoutSlash(settings.HAIL_LSR_URL),
      nws_url: withoutSlash(settings.HAIL_NWS_URL),
      user_agent: settings.HAIL_USER_AGENT,
    },
    model: { name: settings.HAIL_MODEL, url: withoutSlash(settings.HAIL_MODEL_URL ?? MODEL_URLS[settings.HAIL_MODEL]) },
    storm_day_start_hour: settings.HAIL_STORM_DAY_START_HOUR,
    raw_keep_days: fixed_ms === null ? (settings.HAIL_RAW_KEEP_DAYS ?? null) : null,
    reflectivity_keep_hours: settings.HAIL_REFLECTIVITY_KEEP_HOURS,
    log_level: settings.HAIL_LOG_LEVEL,
    metrics: { host: settings.HAIL_HOST, port: settings.HAIL_PIPELINE_METRICS_PORT ?? null },
    clock_is_fixed: fixed_ms !== null,
    now: () => fixed_ms ?? Date.now(),
  });
}

function withoutSlash(url: string): string {
  return url.replace(/\/+$/, '');
}
