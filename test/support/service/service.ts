import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { dirname, join } from 'node:path';
import { ensureFirstBusiness } from '../../../api/accounts/keys.ts';
import { openRecords, type Records } from '../../../api/billing/records.ts';
import { EARLIER_VARIANT } from '../../../api/legacy/endpoint.ts';
import { archives, files } from '../../../api/routes/files.ts';
import { livez, readyz } from '../../../api/routes/health.ts';
import { ENDPOINTS } from '../../../api/routes/index.ts';
import { tileStyle } from '../../../api/routes/tile-style.ts';
import type { Telemetry } from '../../../api/server/answer.ts';
import { createApp } from '../../../api/server/app.ts';
import type { Endpoint } from '../../../api/server/endpoint.ts';
import { createHttpServer, serveApp } from '../../../api/server/http-server.ts';
import type { PublicRoute } from '../../../api/server/public.ts';
import { openServices, type Services } from '../../../api/services.ts';
import type { openWebhookClient } from '../../../api/webhooks/client.ts';
import { SCRATCH } from '../data/world.ts';

let made: Promise<Buffer> | undefined;

/** Where the SQLite file of the records lies below their root. */
const fileIn = (records_root: string) => join(records_root, 'records', 'hail.sqlite');

/** Puts records as a first start leaves them, before their first business: their tables are made once for all tests of a process. */
async function placeNewRecords(records_root: string): Promise<void> {
  made ??= makeRecords();
  const content = await made;
  mkdirSync(dirname(fileIn(records_root)), { recursive: true, mode: 0o700 });
  writeFileSync(fileIn(records_root), content, { mode: 0o600, flag: 'wx' });
}

async function makeRecords(): Promise<Buffer> {
  const folder = mkdtempSync(join(SCRATCH, 'hail-new-records-'));
  try {
    const records = await openRecords({ data_root: folder, database_url: null, now: Date.now });
    await records.close();
    return readFileSync(fileIn(folder));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** The data clock of a service without data. */
export const SERVICE_NOW_MS = Date.parse('2026-05-02T00:55:00Z');

export interface ServiceOptions {
  /** Those of the product when left out. */
  readonly endpoints?: readonly Endpoint[];
  /** Published data; an empty root when left out. */
  readonly data_root?: string;
  readonly tiles_url?: string;
  /** Another service, whose records this one shares. */
  readonly beside?: Pick<RunningService, 'services' | 'live_key' | 'test_key'>;
  readonly now_ms?: number;
  /** A data clock that moves by itself. */
  readonly now?: () => number;
  /** Parts that stand in for the real ones. */
  readonly records?: (records: Records) => Records;
  readonly webhookClient?: ReturnType<typeof openWebhookClient>;
  readonly app?: Partial<Parameters<typeof createApp>[0]>;
  /** Probes and files when left out. */
  readonly public_routes?: (services: Services) => readonly PublicRoute[];
}

/** `key` instead of the live key, null for none; `duplex` goes with a body that is a stream. */
export type CallInit = RequestInit & { readonly key?: string | null; readonly duplex?: 'half' };

/** A service that listens, its first business, and a way to call it. */
export interface RunningService {
  readonly data_root: string;
  /** The data clock, which a test may move. */
  readonly clock: { ms: number };
  /** Address without a path. */
  readonly url: string;
  readonly server: Server;
  readonly services: Services;
  readonly records: Records;
  readonly live_key: string;
  readonly test_key: string;
  /** Failures that were reported; a test that expects none looks here. */
  readonly failures: unknown[];
  /** Calls a path with the live key; `headers` may replace it. */
  readonly call: (path: string, init?: CallInit) => Promise<Response>;
  /** The same and its body of JSON. */
  readonly json: (path: string, init?: CallInit) => Promise<unknown>;
  readonly close: () => Promise<void>;
}

const keylessRoutes = (services: Services): readonly PublicRoute[] => [
  ...[livez, readyz(services), archives(services.catalog), tileStyle(services), files(services)],
];

const DEEP_POCKETS = 1_000_000;
const IDLE_CONNECTION_S = 120;

/** Starts a service over its own records; `close` removes them. Replies are all checked against their schemas. */
export async function startService(options: ServiceOptions = {}): Promise<RunningService> {
  const { beside } = options;
  const scratch = beside?.services.files_root ?? mkdtempSync(join(SCRATCH, 'hail-service-'));
  const data_root = options.data_root ?? scratch;
  const clock = { ms: options.now_ms ?? SERVICE_NOW_MS };
  const now = options.now ?? (() => clock.ms);
  if (beside === undefined) await placeNewRecords(scratch);
  const { services: opened, close } = await openServices({
    data_root,
    records_root: scratch,
    database_url: null,
    storm_day_start_hour: 0,
    base_url: 'http://127.0.0.1:8080/v1',
    now,
    ...(options.tiles_url === undefined ? {} : { tiles_url: options.tiles_url }),
  });
  const keys =
    beside === undefined
      ? await ensureFirstBusiness(opened.records, now())
      : { live: beside.live_key, test: beside.test_key };
  if (keys === null) throw new Error('the records of a new service hold a business already');
  if (beside === undefined)
    await opened.records.reader.updateTable('plans').set({ rate_per_minute: DEEP_POCKETS }).execute();
  const records = options.records?.(opened.records) ?? opened.records;
  const services = { ...opened, records, webhookClient: options.webhookClient ?? opened.webhookClient };
  const failures: unknown[] = [];
  const telemetry: Telemetry = {
    answered: () => {},
    refused: () => {},
    failed: (_, error) => failures.push(error),
  };
  const app = createApp({
    endpoints: options.endpoints ?? ENDPOINTS,
    publicRoutes: (options.public_routes ?? keylessRoutes)(services),
    services,
    trusted: null,
    check_replies: true,
    telemetry,
    variants: [{ endpoints: [], variant: EARLIER_VARIANT }],
    ...options.app,
  });
  // Many tests share this process: a connection may wait long for its next question, and must not be closed meanwhile.
  const server = createHttpServer(IDLE_CONNECTION_S);
  serveApp(server, app, options.app?.trusted ?? null);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const call: RunningService['call'] = (path, { key = keys.live, headers, ...init } = {}) =>
    fetch(`${url}${path}`, {
      ...init,
      headers: {
        ...(key === null ? {} : { Authorization: `Bearer ${key}` }),
        ...Object.fromEntries(new Headers(headers)),
      },
    });
  return {
    data_root,
    clock,
    url,
    server,
    services,
    records,
    live_key: keys.live,
    test_key: keys.test,
    failures,
    call,
    json: async (path, init) => (await call(path, init)).json(),
    close: async () => {
      await new Promise((resolve) => {
        server.close(resolve);
        server.closeAllConnections();
      });
      await close();
      if (beside === undefined) rmSync(scratch, { recursive: true, force: true });
    },
  };
}

/** Starts a service for the length of a test, which fails when the service reports a failure. */
export async function serviceFor(
  t: { readonly teardown: (end: () => Promise<void>) => void },
  options: ServiceOptions = {},
): Promise<RunningService> {
  const service = await startService(options);
  t.teardown(async () => {
    await service.close();
    if (service.failures.length > 0) throw service.failures[0];
  });
  return service;
}
