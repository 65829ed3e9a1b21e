import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Command } from 'commander';
import pino, { type Logger } from 'pino';
import { attachApp } from '../app.ts';
import { openCatalog } from '../catalog.ts';
import { type Config, releaseVersion } from '../config.ts';
import { openEngine } from '../duckdb.ts';
import { openViewer } from '../files/viewer.ts';
import { openLive } from '../live.ts';
import { trustedProxies } from '../middleware/address.ts';
import { serveInTurn } from '../middleware/connections.ts';
import { SERVER_OPTIONS } from '../middleware/limits.ts';
import { createMetrics, type Metrics } from '../middleware/metrics.ts';
import type { OpenRoute } from '../middleware/open-route.ts';
import { watcherOf } from '../middleware/watcher.ts';
import { describeApi } from '../openapi.ts';
import { journalPath } from '../records/database.ts';
import { ensureFirstBusiness, type FirstKeys } from '../records/first-business.ts';
import { openRecords } from '../records/open.ts';
import { rootMemory } from '../records/remembered-root.ts';
import { archives } from '../routes/archives.ts';
import { docsPage } from '../routes/docs.ts';
import { livez, readyz } from '../routes/health.ts';
import { ENDPOINTS } from '../routes/index.ts';
import { openApiDocument } from '../routes/openapi.ts';
import { frontPage, viewerPages } from '../routes/pages.ts';
import type { Services } from '../services.ts';
import { openTerrain } from '../terrain.ts';

/** How long requests may still take once the service was told to stop. */
const DRAIN_MS = 25_000;

/** `hail-api serve`: migrates the records, listens, and serves until it is told to stop. */
export function serveCommand(config: () => Config): Command {
  return new Command('serve')
    .description('answer requests from the published files')
    .addHelpText(
      'after',
      '\nThe first start makes the business "default" with a live and a test key, and prints both once.',
    )
    .action(async () => {
      const stopping = stopSignal(); // heard from the first moment on, also while everything is being opened
      const running = await startServing(config());
      await stopping;
      await running.stop();
    });
}

/** A service that listens. */
export interface Serving {
  readonly base_url: string;
  /** Keys of the first business, when this start made it. */
  readonly first_keys: FirstKeys | null;
  /** Takes no more requests, waits for those under way, and closes everything. */
  readonly stop: () => Promise<void>;
}

/** Opens everything that answers are made from, and listens. Says on standard output how to call it. */
export async function startServing(config: Config, say: (text: string) => void = sayAloud): Promise<Serving> {
  const log = pino(
    { level: config.log_level, base: null, timestamp: pino.stdTimeFunctions.isoTime },
    pino.destination(2),
  );
  const server = createServer(SERVER_OPTIONS);
  // A port that the system picks has to be known before anything can name the address.
  if (config.port === 0) await listen(server, 0, config.host);
  const port = config.port === 0 ? (server.address() as AddressInfo).port : config.port;
  const base_url = config.base_url ?? `http://${hostOf(config.host)}:${port}/v1`;
  const { services, close } = await openServices(config, base_url, log).catch((error: unknown) => {
    // A server that listens already would keep the failed process alive.
    server.close();
    throw error;
  });
  const metrics = config.metrics_port === null ? null : createMetrics();
  const connections = attachApp(server, {
    endpoints: ENDPOINTS,
    openRoutes: openRoutesOf(services),
    services,
    trusted: config.trusted_proxies.length === 0 ? null : trustedProxies(config.trusted_proxies),
    clock: { monotonic_ms: () => performance.now(), unix_ms: Date.now },
    check_replies: 'sample',
    watcher: watcherOf(log, metrics),
  });
  const listening = [{ server, connections }];
  try {
    const first_keys = await ensureFirstBusiness(services.records, services.now());
    if (!server.listening) await listen(server, port, config.host);
    if (metrics !== null && config.metrics_port !== null) {
      const metricsServer = createServer();
      listening.push({ server: metricsServer, connections: serveInTurn(metricsServer, metricsPage(metrics)) });
      await listen(metricsServer, config.metrics_port, config.host);
    }
    say(welcome(base_url, first_keys));
    log.info({ base_url, records: config.database_url === null ? 'sqlite' : 'postgresql' }, 'Service:Listen:Ready');
    return {
      base_url,
      first_keys,
      stop: async () => {
        log.info({}, 'Service:Stop:Begun');
        await Promise.all(listening.map(({ connections }) => connections.drain(DRAIN_MS)));
        await close();
        log.info({}, 'Service:Stop:Done');
      },
    };
  } catch (error) {
    for (const each of listening) each.server.close();
    await close();
    throw error;
  }
}

async function openServices(
  config: Config,
  base_url: string,
  log: Logger,
): Promise<{ services: Services; close: () => Promise<void> }> {
  const { data_root, database_url, storm_day_start_hour, now } = config;
  const records = await openRecords({
    data_root,
    database_url,
    now,
    journal: journalPath(data_root),
    report: (line) => log.info({ line }, 'Records:Open:Told'),
    alarm: (line) => log.error({ line }, 'Records:Store:Failed'),
  });
  const memory = rootMemory(records, now, (error) => log.warn({ err: error }, 'Data:Remember:Failed'));
  const catalog = await openCatalog(data_root, storm_day_start_hour, memory);
  if (catalog.failure() !== null) log.error({ reason: catalog.failure() }, 'Data:Open:Unavailable');
  const live = await openLive(data_root, catalog);
  const engine = await openEngine(data_root);
  const terrain = await openTerrain(engine, catalog);
  return {
    services: { catalog, live, terrain, engine, records, base_url, storm_day_start_hour, now },
    close: async () => {
      await catalog.close();
      await engine.close();
      await records.close();
    },
  };
}

/** Everything that needs no key. */
function openRoutesOf(services: Services): readonly OpenRoute[] {
  const document = describeApi({ endpoints: ENDPOINTS, base_url: services.base_url, version: releaseVersion() });
  return [
    livez,
    readyz(services),
    archives(services.catalog),
    openApiDocument(document),
    docsPage(document),
    ...viewerPages(openViewer(services.base_url)),
    frontPage,
  ];
}

function metricsPage({ registry }: Metrics): RequestListener {
  return (request, response) => {
    if (request.method !== 'GET' || request.url !== '/metrics') {
      response.writeHead(404).end();
      return;
    }
    registry.metrics().then(
      (text) => response.writeHead(200, { 'Content-Type': registry.contentType }).end(text),
      () => response.writeHead(500).end(),
    );
  };
}

/** How to call the service, and its first keys. */
function welcome(base_url: string, keys: FirstKeys | null): string {
  const root = base_url.replace(/\/v1$/, '');
  const key = keys?.live ?? '$HAIL_KEY';
  const about =
    keys === null
      ? '\nHAIL_KEY stands for a key of yours; `hail-api key create` makes one.\n'
      : `
Keys of the business "default", shown this once:
  live  ${keys.live}
  test  ${keys.test}
`;
  return `hail listens at ${root}  (documentation ${root}/docs, map ${root}/viewer)
${about}
Try:
  curl -H "Authorization: Bearer ${keys?.test ?? key}" '${base_url}/health'
  curl -H "Authorization: Bearer ${key}" '${base_url}/hail/current?lat=35.47&lon=-97.52&radius_km=150'
  curl -H "Authorization: Bearer ${key}" '${base_url}/usage'

`;
}

/** In one piece: whoever reads it may close the pipe afterwards. */
function sayAloud(text: string): void {
  process.stdout.write(text);
}

/** Address that a client on this machine reaches the host by. */
function hostOf(host: string): string {
  if (host === '0.0.0.0' || host === '::') return '127.0.0.1';
  return host.includes(':') ? `[${host}]` : host;
}

function listen(server: Server, port: number, host: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, () => {
      server.off('error', reject);
      resolve();
    });
  });
}

function stopSignal(): Promise<void> {
  return new Promise((resolve) => {
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => resolve());
  });
}
