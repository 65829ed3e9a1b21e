import pino, { type Logger } from 'pino';
import { layout } from '../schemas/layout.ts';
import { openMailer } from './accounts/mail.ts';
import { openRecords } from './billing/records.ts';
import type { Config, WebhookSettings } from './config.ts';
import { openCallLimits } from './http/call-limits.ts';
import { type Meter, NO_METER } from './http/metrics.ts';
import { openCatalog, UnreadableVersion } from './published/catalog.ts';
import { ANSWERS, JOBS, openEngine } from './published/duckdb.ts';
import { openLive } from './published/live.ts';
import { openTerrain } from './published/terrain.ts';
import { openClimatology } from './queries/climatology.ts';
import { openHistoryMemory } from './queries/history-memory.ts';
import { openCipher } from './records/cipher.ts';
import { openQueue } from './records/tasks.ts';
import { openWebhookClient } from './webhooks/client.ts';

type OpenedServices = Awaited<ReturnType<typeof openServices>>;
/** Everything that answers and jobs are made from; opened once at start, shared by all requests. */
export type Services = OpenedServices['services'];

/** What the services are opened with. */
interface ServicesConfig
  extends Pick<Config, 'data_root' | 'database_url' | 'storm_day_start_hour' | 'now'>,
    Partial<Pick<Config, 'tiles_url' | 'master_keys' | 'webhooks' | 'smtp_url' | 'now_is_fixed'>> {
  /** Public address, ending in `/v1`. */
  readonly base_url: string;
  /** Folder with the SQLite file of the records, their key and mail, and the files of jobs; the data root when left out. */
  readonly records_root?: string;
  /** Counts what workers do; nothing is counted when left out. */
  readonly meter?: Meter;
}

const NO_WEBHOOK_SETTINGS: WebhookSettings = { allow_cidrs: [], ca_file: null, time_scale: 1 };

const SILENT = pino({ level: 'silent' });

/**
 * Opens everything, and returns it with what closes it, the last opened first: the one composition, for the service, its tests and its
 * benches. When something cannot be opened, what was opened before is closed again. A data root that contradicts itself is no failure: its answers are refused until it is mended.
 */
export async function openServices(config: ServicesConfig, log: Logger = SILENT) {
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
  const cipher = await openCipher(records.store, { records_root, master_keys, now });
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
  const catalog = await openCatalog(data_root, storm_day_start_hour, (reason) => {
    if (reason === null) log.info({}, 'Data:Open:Recovered');
    else log.error({ reason }, 'Data:Open:Unavailable');
  });
  opened.defer(catalog.close);
  const failure = catalog.failure();
  // Only another release can read such a root: the start fails.
  if (failure instanceof UnreadableVersion && failure.path === layout.root) throw failure;
  const live = await openLive(catalog);
  const terrain = await openTerrain(engine, catalog);
  const climatology = await openClimatology(engine, catalog);
  const files = openHistoryMemory(engine, (path, error) => log.warn({ path, err: error }, 'Data:Remember:Failed'));
  // A file that is being read would wait behind statements whose results are no longer needed.
  opened.defer(() => Promise.all([engine.close(), files.close()]).then(() => {}));
  const open = opened.move();
  return {
    services: {
      /** Which published files answer now; and in memory the last 30 minutes, terrain, climatology and files of the past. */
      ...{ catalog, live, terrain, climatology, files },
      /** For answers, and for the statements of jobs, which may take minutes: no question waits for them. */
      ...{ engine, jobEngine },
      ...{ records, limits, queue, cipher },
      /** The one way out to addresses that others gave. */
      webhookClient,
      mailer: openMailer({ smtp_url, records_root }, (mail, error) =>
        log.warn({ ...mail, err: error }, 'Mail:Send:Refused'),
      ),
      /** Factor of the waits between attempts of a delivery. */
      webhook_time_scale: webhooks.time_scale,
      /** Counts what workers do. */
      meter: config.meter ?? NO_METER,
      base_url,
      /** Public address of a mirror of the data root, from which map viewers load tile archives; null: from the service. */
      tiles_url: config.tiles_url ?? null,
      /** Folder with the files of jobs. */
      files_root: records_root,
      storm_day_start_hour,
      /** Data clock, epoch milliseconds. */
      now,
    },
    close: () => open.disposeAsync(),
  };
}
