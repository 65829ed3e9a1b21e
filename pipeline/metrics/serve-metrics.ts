import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { systemFault } from '../../schemas/command-line.ts';
import { metricsPage } from '../../schemas/metrics.ts';
import { UsageError } from '../error.ts';
import type { PipelineMetrics } from './registry.ts';

/** A scraper needs one; more than these wait, so that no crowd of them slows a commit. */
const MAX_CONNECTIONS = 8;
const REQUEST_TIMEOUT_MS = 10_000;

/** The metrics of a process at `http://HOST:PORT/metrics`. */
export interface MetricsServer {
  /** The port in use, also where 0 asked for a free one. */
  readonly port: number;
  readonly close: () => void;
}

/**
 * Serves metrics; `refresh` is called before each answer, and a connection without traffic for `idle_ms` ends. Throws UsageError
 * where the port cannot be used.
 */
export async function serveMetrics(
  { registry }: PipelineMetrics,
  { host, port }: { readonly host: string; readonly port: number },
  refresh: () => Promise<void>,
  idle_ms = REQUEST_TIMEOUT_MS,
): Promise<MetricsServer> {
  const server = createServer(
    { requestTimeout: REQUEST_TIMEOUT_MS, headersTimeout: REQUEST_TIMEOUT_MS },
    metricsPage(registry, async () => {
      await refresh();
      return await registry.metrics();
    }),
  );
  server.maxConnections = MAX_CONNECTIONS;
  // A scraper that does not read its answer must not hold a place for ever.
  server.setTimeout(idle_ms);
  await listen(server, port, host);
  // A stream that has ended ends its process, whoever is still connected.
  server.unref();
  const close = () => {
    server.close();
    server.closeAllConnections();
  };
  return { port: (server.address() as AddressInfo).port, close };
}

async function listen(server: Server, port: number, host: string): Promise<void> {
  server.listen(port, host);
  try {
    await once(server, 'listening');
  } catch (error) {
    const fault = systemFault(error) ?? String(error);
    throw new UsageError(
      `HAIL_PIPELINE_METRICS_PORT is ${port}, which cannot be listened on at ${host} (${fault}), expected a free port`,
    );
  }
}
