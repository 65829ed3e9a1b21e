import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Command } from 'commander';
import { EXIT, STOP_SIGNALS } from '../../schemas/command-line.ts';
import { metricsPage } from '../../schemas/metrics.ts';
import { RELEASE } from '../../schemas/release.ts';
import { ensureFirstBusiness, type FirstKeys } from '../accounts/first-business.ts';
import type { Config } from '../config.ts';
import { docsRoutes, referencePage } from '../docs/pages.ts';
import { createMetrics } from '../http/metrics.ts';
import { OTHER_FORMATS, OTHER_VARIANTS } from '../legacy/variants.ts';
import { serviceMetrics } from '../metrics/service-metrics.ts';
import { openStreets } from '../published/archives/basemap-streets.ts';
import { openViewer, type ViewerOptions } from '../published/archives/viewer.ts';
import { takeServiceLock } from '../records/sqlite.ts';
import { files } from '../routes/files.ts';
import { livez, readyz } from '../routes/health.ts';
import { ENDPOINTS, GUEST_ENDPOINTS } from '../routes/index.ts';
import { archives, frontPage, openApiDocument, viewerPages } from '../routes/public-pages.ts';
import { telemetryOf } from '../server/answer.ts';
import { createApp } from '../server/app.ts';
import { createHttpServer, type StopServing, serveApp, trustedProxies } from '../server/http-server.ts';
import { describeApi } from '../server/openapi.ts';
import type { PublicRoute } from '../server/public.ts';
import { openServices, type Services } from '../services.ts';
import { startWorkers, WORKERS, type Worker } from '../workers.ts';
import { CommandError } from './cli.ts';
import { openServiceLog } from './service-log.ts';

/** Longest time for requests and workers to end once the service stops. */
const DRAIN_MS = 25_000;
/** Longest time from then until the process ends. */
const HANG_MS = 5_000;

/** `hail-api serve`: migrates the records, listens, and serves until a signal stops it. */
export function serveCommand(config: () => Config): Command {
  return new Command('serve')
    .description('answer requests from the published files, and do the work beside them')
    .option('--no-workers', 'answer only: another service on the same PostgreSQL does the work beside the answers')
    .addHelpText(
      'after',
      '\nThe first start makes the business "default" with a live and a test key, and prints both once.',
    )
    .action(async ({ workers }: { readonly workers: boolean }) => {
      const stopping = stopSignal(); // registered before startup so no signal is lost
      const running = await startServing(config(), { workers: workers ? WORKERS : null });
      await stopping;
      await running.stop();
      // A system call that hangs, as on a mount whose server is gone, would keep the process alive.
      setTimeout(() => {
        process.stderr.write('hail-api: a call that does not end keeps the process: the process ends itself\n');
        process.kill(process.pid, 'SIGKILL'); // any other exit waits for the threads
      }, HANG_MS).unref();
    });
}

/** A service that listens. */
export interface Serving {
  readonly base_url: string;
  /** Keys of the first business, when this start made it. */
  readonly first_keys: FirstKeys | null;
  /** Takes no more requests, waits for those under way and for the workers, and closes everything. */
  readonly stop: () => Promise<void>;
}

interface ServingOptions {
  /** Background workers; null: none in this process. */
  readonly workers?: readonly Worker[] | null;
  /** Takes the welcome text; standard output when left out. */
  readonly say?: (text: string) => void;
}

/**
 * Opens the services, listens, starts the workers, and prints how to call the service. Throws CommandError where
 * another service runs on the same SQLite file.
 */
export async function startServing(config: Config, options: ServingOptions = {}): Promise<Serving> {
  const release = lockRecords(config);
  try {
    const serving = await openServing(config, options);
    return { ...serving, stop: () => serving.stop().finally(release) };
  } catch (error) {
    release();
    throw error;
  }
}

/** Locks the SQLite records for this service and returns the function that unlocks them. Several services may share a PostgreSQL. */
function lockRecords({ data_root, database_url }: Config): () => void {
  if (database_url !== null) return () => {};
  const release = takeServiceLock(data_root);
  if (release !== null) return release;
  throw new CommandError(
    EXIT.conflict,
    `serve: another service runs on the SQLite records of ${data_root}, expected one; several need PostgreSQL (HAIL_DATABASE_URL)`,
  );
}

async function openServing(config: Config, { workers = WORKERS, say = sayAloud }: ServingOptions): Promise<Serving> {
  const streets = await openStreets(config.basemap);
  const log = await openServiceLog(config.log_level, process.stderr.isTTY === true);
  const server = createHttpServer(config.keep_alive_s);
  // A port that the system picks must be known before the base URL is built.
  if (config.port === 0) await listen(server, 0, config.host, 'HAIL_PORT');
  const port = config.port === 0 ? (server.address() as AddressInfo).port : config.port;
  const base_url = config.base_url ?? `http://${hostOf(config.host)}:${port}/v1`;
  const metrics = config.metrics_port === null ? null : createMetrics();
  const { services, close } = await openServices(
    { ...config, base_url, formats: OTHER_FORMATS, ...(metrics === null ? {} : { meter: metrics }) },
    log,
  ).catch((error: unknown) => {
    // A server that listens already would keep the failed process alive.
    server.close();
    throw error;
  });
  const trusted = config.trusted_proxies.length === 0 ? null : trustedProxies(config.trusted_proxies);
  const app = createApp({
    endpoints: ENDPOINTS,
    variants: OTHER_VARIANTS,
    publicRoutes: publicRoutesOf(services, { access: config.viewer, streets, tiles_url: config.tiles_url }),
    guestEndpoints: config.viewer === 'public' ? GUEST_ENDPOINTS : [],
    services,
    trusted,
    check_replies: 'sample',
    telemetry: telemetryOf(log, metrics),
  });
  const stops: StopServing[] = [serveApp(server, app, trusted)];
  let endWork = async () => {};
  try {
    if (!server.listening) await listen(server, port, config.host, 'HAIL_PORT');
    if (metrics !== null && config.metrics_port !== null) {
      const readMetrics = serviceMetrics(metrics, services);
      const metricsServer = createServer(metricsPage(metrics.registry, async () => (await readMetrics()).metrics()));
      stops.push(async () => {
        metricsServer.close();
      });
      await listen(metricsServer, config.metrics_port, config.host, 'HAIL_METRICS_PORT');
    }
    const running = workers === null ? null : await startWorkers(services, log, workers);
    endWork = async () => {
      await running?.stop(DRAIN_MS);
    };
    // The last step that may fail, and printed at once: the keys are shown this once.
    const first_keys = await ensureFirstBusiness(services.records, services.now());
    say(welcome(base_url, first_keys));
    log.info({ base_url, records: config.database_url === null ? 'sqlite' : 'postgresql' }, 'Service:Listen:Ready');
    return {
      base_url,
      first_keys,
      stop: async () => {
        log.info({}, 'Service:Stop:Begun');
        await Promise.all([...stops.map((stopServing) => stopServing(DRAIN_MS)), endWork()]);
        await close();
        log.info({}, 'Service:Stop:Done');
      },
    };
  } catch (error) {
    await Promise.all(stops.map((stopServing) => stopServing(0)));
    await endWork();
    await close();
    throw error;
  }
}

/** Routes that need no key. */
function publicRoutesOf(services: Services, viewer: ViewerOptions): readonly PublicRoute[] {
  const { base_url } = services;
  const document = describeApi({ endpoints: ENDPOINTS, base_url, version: RELEASE });
  return [
    livez,
    readyz(services),
    archives(services.catalog),
    files(services),
    openApiDocument(document),
    ...docsRoutes(document),
    ...OTHER_VARIANTS.flatMap(({ endpoints, description, docs_path }) => {
      const other = describeApi({ endpoints, base_url, version: RELEASE, variant: description });
      return [openApiDocument(other, description.own_path), referencePage(docs_path, description.own_path)];
    }),
    viewerPages(openViewer(base_url, viewer)),
    frontPage,
  ];
}

/** Command that makes one more key of a business. */
const newKey = (business: string) => `npx hail-api key create ${business} --live`;

/** How to call the service, and its first keys. */
function welcome(base_url: string, keys: FirstKeys | null): string {
  const root = base_url.replace(/\/v1$/, '');
  const key = keys?.live ?? '$HAIL_KEY';
  const about =
    keys === null
      ? `\nHAIL_KEY stands for a key of yours. Keys are shown only when they are made; \`${newKey('BUSINESS')}\` makes one.\n`
      : `
Keys of the business "default", shown this once:
  live  ${keys.live}
  test  ${keys.test}
If they are lost, \`${newKey('default')}\` makes a new one.
`;
  return `hail listens at ${root}  (documentation ${root}/docs, map ${root}/viewer)
${about}
Try:
  curl -H "Authorization: Bearer ${keys?.test ?? key}" '${base_url}/health'
  curl -H "Authorization: Bearer ${key}" '${base_url}/hail/current?lat=35.47&lon=-97.52&radius_km=150'
  curl -H "Authorization: Bearer ${key}" '${base_url}/usage'

`;
}

/** One write: the reader may close the pipe afterwards. */
function sayAloud(text: string): void {
  process.stdout.write(text);
}

/** Address that a client on this machine reaches the host by. */
function hostOf(host: string): string {
  if (host === '0.0.0.0' || host === '::') return '127.0.0.1';
  return host.includes(':') ? `[${host}]` : host;
}

/** Why a server cannot listen, by the code of the error; any other error is thrown as it is. */
const LISTEN_FAULTS: Readonly<Partial<Record<string, string>>> = {
  EADDRINUSE: 'is in use by another program, expected a free one: stop that program, or set',
  EACCES: 'may not be used by this user, expected another: set',
};

/** Listens; throws CommandError with the setting to change where the port cannot be used. */
function listen(server: Server, port: number, host: string, setting: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const failed = (error: NodeJS.ErrnoException) => {
      const fault = LISTEN_FAULTS[error.code ?? ''];
      reject(
        fault === undefined
          ? error
          : new CommandError(EXIT.conflict, `serve: port ${port} of ${host} ${fault} ${setting} to another port`),
      );
    };
    server.once('error', failed);
    server.listen(port, host, () => {
      server.off('error', failed);
      resolve();
    });
  });
}

function stopSignal(): Promise<void> {
  return new Promise((resolve) => {
    for (const signal of STOP_SIGNALS) process.once(signal, () => resolve());
  });
}
