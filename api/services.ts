import pino, { type Logger } from 'pino';
import { layout } from '../schemas/layout.ts';
import { type Mailer, openMailer } from './accounts/mail.ts';
import { openRecords, type Records } from './billing/records.ts';
import type { Config, WebhookSettings } from './config.ts';
import { type CallLimits, openCallLimits } from './http/call-limits.ts';
import { type Meter, NO_METER } from './http/metrics.ts';
import { type Catalog, openCatalog, UnreadableVersion } from './published/catalog.ts';
import { ANSWERS, type Engine, JOBS, openEngine } from './published/duckdb.ts';
import { type Live, openLive } from './published/live.ts';
import { openTerrain, type Terrain } from './published/terrain.ts';
import { type Climatology, openClimatology } from './queries/climatology.ts';
import { type HistoryMemory, openHistoryMemory } from './queries/history-memory.ts';
import { openSecrets, type Secrets } from './records/secrets.ts';
import { openQueue, type Queue } from './records/tasks.ts';
import { openWebhookClient, type WebhookClient } from './webhooks/client.ts';

/** Everything that answers and jobs are made from; opened once at start, shared by all requests. */
export interface Services {
  /** Which published files answer now. */
  readonly catalog: Catalog;
  /** The last 30 minutes, in memory. */
  readonly live: Live;
  /** What terrain blocks of radar beams, in memory. */
  readonly terrain: Terrain;
  /** How likely hail is anywhere, in memory. */
  readonly climatology: Climatology;
  /** Files that history was asked about, in memory. */
  readonly files: HistoryMemory;
  /** Runs the queries of answers over published files. */
  readonly engine: Engine;
  /** Runs the statements of jobs, which may take minutes: no question waits for them. */
  readonly jobEngine: Engine;
  /** Businesses, keys, credits, portfolios. */
  readonly records: Records;
  /** Counts of calls by key, and of failed attempts. */
  readonly limits: CallLimits;
  /** Public address, ending in `/v1`. */
  readonly base_url: string;
  /** Public address of a mirror of the data root, from which map viewers load tile archives; null: from the service. */
  readonly tiles_url: string | null;
  /** Folder with the files of jobs. */
  readonly files_root: string;
  /** Work that outlives its request: deliveries, mail, reports, exports. */
  readonly queue: Queue;
  /** The one way out to addresses that others gave. */
  readonly webhookClient: WebhookClient;
  /** Encrypts the secrets that are stored. */
  readonly secrets: Secrets;
  readonly mailer: Mailer;
  /** Factor of the waits between attempts of a delivery. */
  readonly webhook_time_scale: number;
  /** Counts what workers do. */
  readonly meter: Meter;
  readonly storm_day_start_hour: number;
  /** Data clock, epoch milliseconds. */
  readonly now: () => number;
}

/** What the services are opened with. */
export interface ServicesConfig
  extends Pick<Config, 'data_root' | 'database_url' | 'storm_day_start_hour' | 'now'>,
    Partial<Pick<Config, 'tiles_url' | 'master_keys' | 'webhooks' | 'smtp_url' | 'now_is_fixed'>>,
    Pick<Services, 'base_url'> {
  /** Folder with the SQLite file of the records, their key and mail, and the files of jobs; the data root when left out. */
  readonly records_root?: string;
  /** Counts what workers do; nothing is counted when left out. */
  readonly meter?: Meter;
}

export interface OpenedServices {
  readonly services: Services;
  /** Closes all of it, the last opened first. */
  readonly close: () => Promise<void>;
}

const NO_WEBHOOK_SETTINGS: WebhookSettings = { allow_cidrs: [], ca_file: null, time_scale: 1 };

const SILENT = pino({ level: 'silent' });

/**
 * Opens everything: the one composition, for the service, its tests and its benches. When something cannot be opened, what was
 * opened before is closed again. A data root that contradicts itself is no failure: its answers are refused until it is mended.
 */
export async function openServices(config: ServicesConfig, log: Logger = SILENT): Promise<OpenedServices> {
  const { data_root, records_root = data_root, database_url, storm_day_start_hour, base_url, now } = config;
  const { master_keys = null, webhooks = NO_WEBHOOK_SETTINGS, smtp_url = null, now_is_fixed = false } = config;
  await using opened = new AsyncDisposableStack();
  const records = await openRecords({
    data_root: records_root,
    database_url,
    now,
    now_is_fixed,
    report: (line) => log.info({ line }, 'Records:Open:Reported'),
    alarm: (line) => log.error({ line }, 'Records:Store:Failed'),
  });
  opened.defer(records.close);
  const secrets = await openSecrets(records, { records_root, master_keys, now });
  const limits = await openCallLimits(database_url);
  opened.defer(limits.close);
  const queue = openQueue(records.store, {
    failed: (name, { id, taken }, error) => log.error({ name, task: id, taken, err: error }, 'Queue:Run:Failed'),
    troubled: (name, error) => {
      if (error === null) log.info({ name }, 'Queue:Look:Recovered');
      else log.error({ name, err: error }, 'Queue:Look:Failed');
    },
  });
  opened.defer(queue.close);
  const webhookClient = openWebhookClient(webhooks);
  opened.defer(webhookClient.close);
  const engine = openEngine(data_root, ANSWERS);
  opened.defer(engine.close);
  const jobEngine = openEngine(data_root, JOBS);
  opened.defer(jobEngine.close);
  const catalog = await openCatalog(data_root, storm_day_start_hour);
  opened.defer(catalog.close);
  const failure = catalog.failure();
  // Only another release can read such a root: the start fails.
  if (failure instanceof UnreadableVersion && failure.path === layout.root) throw failure;
  if (failure !== null) log.error({ reason: failure.message }, 'Data:Open:Unavailable');
  const live = await openLive(catalog);
  const terrain = await openTerrain(engine, catalog);
  const climatology = await openClimatology(engine, catalog);
  const files = openHistoryMemory(engine, (path, error) => log.warn({ path, err: error }, 'Data:Remember:Failed'));
  // A file that is being read would wait behind statements whose results are no longer needed.
  opened.defer(() => Promise.all([engine.close(), files.close()]).then(() => {}));
  const open = opened.move();
  return {
    services: {
      catalog,
      live,
      terrain,
      climatology,
      files,
      engine,
      jobEngine,
      records,
      limits,
      queue,
      webhookClient,
      secrets,
      mailer: openMailer({ smtp_url, records_root }, (mail, error) =>
        log.warn({ ...mail, err: error }, 'Mail:Send:Refused'),
      ),
      webhook_time_scale: webhooks.time_scale,
      meter: config.meter ?? NO_METER,
      base_url,
      tiles_url: config.tiles_url ?? null,
      files_root: records_root,
      storm_day_start_hour,
      now,
    },
    close: () => open.disposeAsync(),
  };
}
