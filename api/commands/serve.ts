import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Writable } from 'node:stream';
import { Command } from 'commander';
import pino, { type Logger } from 'pino';
import { escapeInvisible } from '../../schemas/errors.ts';
import { metricsPage } from '../../schemas/metrics.ts';
import { ensureFirstBusiness, type FirstKeys } from '../accounts/keys.ts';
import { type Config, rootAddress } from '../config.ts';
import { docsRoutes, referencePage } from '../docs/pages.ts';
import { startPage } from '../docs/start-page.ts';
import { createMetrics } from '../http/metrics.ts';
import { EARLIER, EARLIER_DESCRIPTION } from '../legacy/variants.ts';
import { serviceMetrics } from '../metrics/service-metrics.ts';
import { openStreets } from '../published/archives/basemap-streets.ts';
import { takeServiceLock } from '../records/sqlite.ts';
import { archives, files, openApiDocument } from '../routes/files.ts';
import { livez, readyz } from '../routes/health.ts';
import { ENDPOINTS, GUEST_ENDPOINTS } from '../routes/index.ts';
import { exchangeLink } from '../routes/link.ts';
import { searchPlaces } from '../routes/places.ts';
import { tileStyle } from '../routes/tile-style.ts';
import { favicon, type ViewerOptions, viewerPages } from '../routes/viewer.ts';
import { telemetryOf } from '../server/answer.ts';
import { createApp } from '../server/app.ts';
import { trustedProxies } from '../server/head.ts';
import { createHttpServer, serveApp } from '../server/http-server.ts';
import { describeApi } from '../server/openapi.ts';
import type { PublicRoute } from '../server/public.ts';
import { openServices, type Services } from '../services.ts';
import { startWorkers, WORKERS, type Worker } from '../workers.ts';
import { CommandError, stopSignal } from './cli.ts';

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
      const stop = await startServing(config(), workers ? WORKERS : []);
      await stopping;
      // A system call that hangs, as on a mount whose server is gone, would keep the stop waiting, or the process alive.
      setTimeout(() => {
        process.stderr.write('hail-api: a call that does not end keeps the process: the process ends itself\n');
        process.kill(process.pid, 'SIGKILL'); // any other exit waits for the threads
      }, DRAIN_MS + HANG_MS).unref();
      await stop();
    });
}

/**
 * Opens the services, listens, starts the workers, and prints how to call the service. Returns what takes no more requests, waits for
 * those under way and for the workers, and closes everything. Throws CommandError where another service runs on the same SQLite file.
 */
export async function startServing(
  config: Config,
  workers: readonly Worker[] = WORKERS,
  say: (text: string) => unknown = (text) => process.stdout.write(text),
): Promise<() => Promise<void>> {
  await using opening = new AsyncDisposableStack();
  // Several services may share a PostgreSQL.
  const unlock = config.database_url === null ? takeServiceLock(config.data_root) : () => {};
  if (unlock === null)
    throw new CommandError(
      'conflict',
      `serve: another service runs on the SQLite records of ${config.data_root}, expected one; several need PostgreSQL (HAIL_DATABASE_URL)`,
    );
  opening.defer(unlock);
  const streets = await openStreets(config.basemap);
  const log = await openServiceLog(config.log_level, process.stderr.isTTY === true);
  const server = createHttpServer(config.keep_alive_s);
  opening.defer(() => void server.close());
  // A port that the system picks must be known before the base URL is built.
  if (config.port === 0) await listen(server, 0, config.host, 'HAIL_PORT');
  const port = config.port === 0 ? (server.address() as AddressInfo).port : config.port;
  const base_url = `${rootAddress(config, port)}/v1`;
  const metrics = config.metrics_port === null ? null : createMetrics();
  const { services, close } = await openServices({ ...config, base_url, ...(metrics && { meter: metrics }) }, log);
  opening.defer(close);
  let drain_ms = 0;
  const stops: ((longest_ms: number) => Promise<unknown>)[] = [];
  opening.defer(async () => void (await Promise.all(stops.map((stop) => stop(drain_ms)))));
  const trusted = config.trusted_proxies.length === 0 ? null : trustedProxies(config.trusted_proxies);
  const geocoderFailed = (error: unknown) => log.warn({ err: error }, 'Geocoder:Ask:Failed');
  const { geocoder_url } = config;
  const places = geocoder_url === null ? [] : [searchPlaces(geocoder_url, config.user_agent, geocoderFailed)];
  const app = createApp({
    endpoints: [...ENDPOINTS, exchangeLink, ...places],
    variants: [EARLIER],
    publicRoutes: publicRoutesOf(services, {
      ...config,
      access: config.viewer,
      streets,
      has_addresses: geocoder_url !== null,
    }),
    guestEndpoints: config.viewer === 'public' ? [...GUEST_ENDPOINTS, ...places] : [],
    services,
    trusted,
    telemetry: telemetryOf(log, metrics),
  });
  stops.push(serveApp(server, app, trusted));
  if (!server.listening) await listen(server, port, config.host, 'HAIL_PORT');
  if (metrics !== null && config.metrics_port !== null) {
    const readMetrics = serviceMetrics(metrics, services);
    const page = metricsPage(metrics.registry, async () => (await readMetrics()).metrics());
    const metricsServer = createServer(page);
    stops.push(async () => metricsServer.close());
    await listen(metricsServer, config.metrics_port, config.host, 'HAIL_METRICS_PORT');
  }
  if (workers.length > 0) stops.push(await startWorkers(services, log, workers));
  // The last step that may fail, and printed at once: the keys are shown this once.
  say(welcome(base_url, await ensureFirstBusiness(services.records, services.now())));
  log.info({ base_url, records: config.database_url === null ? 'sqlite' : 'postgresql' }, 'Service:Listen:Ready');
  const opened = opening.move();
  return async () => {
    log.info({}, 'Service:Stop:Begun');
    drain_ms = DRAIN_MS;
    await opened.disposeAsync();
    log.info({}, 'Service:Stop:Done');
  };
}

/** Routes that need no key. */
function publicRoutesOf(services: Services, viewer: ViewerOptions): readonly PublicRoute[] {
  const { base_url } = services;
  const document = describeApi(ENDPOINTS, base_url);
  const earlier = describeApi(EARLIER.endpoints, base_url, EARLIER_DESCRIPTION);
  return [
    livez,
    readyz(services),
    archives(services.catalog),
    tileStyle(services),
    files(services),
    openApiDocument(document),
    ...docsRoutes(document),
    openApiDocument(earlier, EARLIER_DESCRIPTION.own_path),
    referencePage('/docs/legacy', EARLIER_DESCRIPTION.own_path),
    ...viewerPages(base_url, viewer),
    favicon,
    startPage(services),
  ];
}

/** How to call the service, and its first keys. */
function welcome(base_url: string, keys: FirstKeys | null): string {
  const root = base_url.replace(/\/v1$/, '');
  const key = keys?.live ?? '$HAIL_KEY';
  const newKey = `npm run -s hail-api -- key create ${keys === null ? 'BUSINESS' : 'default'} --live`;
  const about =
    keys === null
      ? `\nHAIL_KEY stands for a key of yours. Keys are shown only when they are made; \`${newKey}\` makes one.\n`
      : `
Keys of the business "default", shown this once:
  live  ${keys.live}
  test  ${keys.test}
If they are lost, \`${newKey}\` makes a new one.
`;
  return `hail listens at ${root}  (documentation ${root}/docs, map ${root}/viewer)
${about}
Try:
  curl -H "Authorization: Bearer ${keys?.test ?? key}" '${base_url}/health'
  curl -H "Authorization: Bearer ${key}" '${base_url}/hail/current?lat=35.47&lon=-97.52&radius_km=150'
  curl -H "Authorization: Bearer ${key}" '${base_url}/usage'

`;
}

/** Why a server cannot listen, by the code of the error; any other error is thrown as it is. */
const LISTEN_FAULTS: Readonly<Partial<Record<string, string>>> = {
  EADDRINUSE: 'is in use by another program, expected a free one: stop that program, or set',
  EACCES: 'may not be used by this user, expected another: set',
};

/** Listens; throws CommandError with the setting to change where the port cannot be used. */
async function listen(server: Server, port: number, host: string, setting: string): Promise<void> {
  try {
    await once(server.listen(port, host), 'listening');
  } catch (error) {
    const fault = LISTEN_FAULTS[(error as NodeJS.ErrnoException).code ?? ''];
    if (fault === undefined) throw error;
    throw new CommandError('conflict', `serve: port ${port} of ${host} ${fault} ${setting} to another port`);
  }
}

const STDERR = 2;
/** In a line of JSON: what a terminal would obey, escaped already or not, but for the line's own end. */
const OBEYED = /\\(?:\\|[bfr]|u00[01][\da-f])|(?!\n)[\p{C}\p{Zl}\p{Zp}]/gu;

/** Log of the service on standard error: JSON lines, or readable ones on a terminal. `stream` takes the lines instead. */
export async function openServiceLog(level: string, isTerminal: boolean, stream?: Writable): Promise<Logger> {
  const options = { level, base: null, timestamp: pino.stdTimeFunctions.isoTime };
  if (!isTerminal) return pino(options, stream ?? pino.destination(STDERR));
  // Loaded here: most services run without a terminal.
  const { default: pretty } = await import('pino-pretty');
  const shape = { translateTime: 'SYS:HH:MM:ss', singleLine: true, colorize: stream === undefined };
  return pino(
    { ...options, hooks: { streamWrite: visible } },
    pretty({ ...shape, destination: stream ?? STDERR, sync: true }),
  );
}

/** A line of JSON whose texts, once they are read, show control characters instead of holding them: callers choose some texts. */
function visible(line: string): string {
  return line.replace(OBEYED, (found) => {
    if (found === '\\\\') return found;
    return found.startsWith('\\') ? `\\${found}` : `\\${escapeInvisible(found)}`;
  });
}
