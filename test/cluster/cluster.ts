import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import pg from 'pg';
import { selfSigned } from '../../api/commands/self-signed.ts';
import type { StoreAddress } from '../../schemas/object-store/client.ts';
import { Health } from '../../schemas/resources/health.ts';
import { scanId } from '../../schemas/time.ts';
import { freePort } from '../support/free-port.ts';
import { BARE_ENVIRONMENT } from '../support/kill/bare-environment.ts';
import { type CommandName, commandPath } from '../support/kill/command.ts';
import { type FaultProxy, runFaultProxy } from '../support/object-store/fault-proxy.ts';
import { runObjectStore, storeSettings } from '../support/object-store/server.ts';
import { type Cluster as DatabaseServer, runCluster } from '../support/store/cluster.ts';
import { type PostgresProxy, startProxy } from '../support/store/proxy.ts';
import { answers, type Node, type ProgramNode, programNode, until } from './node.ts';
import { clockOf } from './skew.ts';

/** Every node of the cluster, and how they reach each other. */
export interface Cluster {
  readonly postgres: Node;
  readonly store: Node;
  /** Every connection of a node to PostgreSQL goes through this. */
  readonly databaseProxy: PostgresProxy;
  /** The server itself, with a replica that follows it. */
  readonly database: DatabaseServer;
  /** Every request of a node to the store goes through one of these. */
  readonly storeFaults: readonly FaultProxy[];
  readonly services: readonly ProgramNode[];
  readonly proxy: ProgramNode;
  readonly streams: readonly ProgramNode[];
  readonly workers: readonly ProgramNode[];
  readonly receiver: ProgramNode;
  /** All of them, in the order in which they are started. */
  readonly nodes: readonly Node[];
  /** Address of the proxy. */
  readonly url: string;
  /** Address of a service itself. */
  readonly serviceUrl: (number: number) => string;
  /** Address of the database past the proxy. */
  readonly database_url: string;
  readonly store_address: StoreAddress;
  /** Settings of a command beside the cluster, with a data root of its own. */
  readonly settingsOf: (name: string) => Readonly<Record<string, string>>;
  readonly receiver_url: string;
  /** Folder of the receiver: what it received. */
  readonly received: string;
  /** Requests to the store so far, and bytes both ways. */
  readonly storeTraffic: () => Promise<Traffic>;
  readonly stop: () => Promise<void>;
}

/** What went through to the store, from the pipelines and from the services. */
export type Traffic = Readonly<
  Record<'pipelines' | 'services', { readonly requests: number; readonly bytes_in: number; readonly bytes_out: number }>
>;

const EXAMPLE = fileURLToPath(new URL('../../data/examples/deploy/haproxy.cfg', import.meta.url));
const RECEIVER = fileURLToPath(new URL('receiver.ts', import.meta.url));
const STREAMS = 2;

/** How many there are of some kinds of node. */
export interface Size {
  readonly services: number;
  readonly workers: number;
}

/** Makes the nodes in a folder, on free ports. PostgreSQL and the store run when it returns; all others are to be started. */
export async function openCluster(folder: string, feed: string, size: Size): Promise<Cluster> {
  const database = runCluster(await freePort(), 'on');
  database.follow(await freePort());
  const databaseProxy = await startProxy(database.url);
  const objects = await runObjectStore();
  const address = await objects.bucket('hail');
  const ports = {
    services: await portsOf(size.services),
    streams: await portsOf(STREAMS),
    proxy: await freePort(),
    traffic: { pipelines: await freePort(), services: await freePort(), page: await freePort() },
    receiver: await freePort(),
  };
  const storeProxies = {
    pipelines: await runFaultProxy(throughPort(address, ports.traffic.pipelines)),
    services: await runFaultProxy(throughPort(address, ports.traffic.services)),
  };
  const receiver_folder = join(folder, 'receiver');
  const ca_file = await writeCertificate(receiver_folder);
  const common = { HAIL_DATABASE_URL: databaseProxy.url, HAIL_MASTER_KEY: '7'.repeat(64) };
  const settings = (name: string, side: 'pipelines' | 'services', own: Readonly<Record<string, string>> = {}) => ({
    ...BARE_ENVIRONMENT,
    ...common,
    ...storeSettings(storeProxies[side].through(throughPort(address, ports.traffic[side]))),
    HAIL_DATA: join(folder, name.replaceAll(' ', '-')),
    HAIL_LOG_LEVEL: 'info',
    ...clockOf(name),
    ...own,
  });
  const node = (
    name: string,
    command: string,
    args: readonly string[],
    environment: Readonly<Record<string, string>>,
  ) => ({ name, command, args, environment, log: join(folder, 'logs', `${name.replaceAll(' ', '-')}.log`) }) as const;
  const hail = (name: string, command: CommandName, args: readonly string[], own: Readonly<Record<string, string>>) =>
    node(
      name,
      process.execPath,
      ['--disable-sigusr1', commandPath(command), ...args],
      settings(name, command === 'hail-api' ? 'services' : 'pipelines', own),
    );
  const services = ports.services.map((port, k) =>
    programNode({
      ...hail(`API ${k + 1}`, 'hail-api', ['serve'], {
        HAIL_PORT: String(port),
        HAIL_BASE_URL: `http://127.0.0.1:${ports.proxy}/v1`,
        HAIL_TRUST_PROXY: '127.0.0.1',
        HAIL_WEBHOOK_ALLOW_CIDRS: '127.0.0.0/8',
        HAIL_WEBHOOK_CA_FILE: ca_file,
        HAIL_WEBHOOK_TIME_SCALE: '0.05',
      }),
      ready: () => answers(`http://127.0.0.1:${port}/readyz`),
    }),
  );
  const streams = ports.streams.map((port, k) =>
    programNode({
      ...hail(`stream ${k + 1}`, 'hail-pipeline', ['stream', '--source', 'dir', '--from', feed, '--every', '1'], {
        HAIL_PIPELINE_METRICS_PORT: String(port),
      }),
      ready: () => answers(`http://127.0.0.1:${port}/metrics`),
    }),
  );
  const workers = Array.from({ length: size.workers }, (_, k) =>
    programNode({ ...hail(`worker ${k + 1}`, 'hail-pipeline', ['work'], {}), ready: async () => true }),
  );
  const proxy = programNode({
    ...node('proxy', 'haproxy', ['-db', '-f', join(folder, 'haproxy.cfg')], {}),
    ready: () => answers(`http://127.0.0.1:${ports.proxy}/livez`),
  });
  writeFileSync(join(folder, 'haproxy.cfg'), proxyConfig(ports.proxy, ports.services));
  const meter = programNode({
    ...node('meter', 'haproxy', ['-db', '-f', join(folder, 'meter.cfg')], {}),
    ready: () => answers(`http://127.0.0.1:${ports.traffic.page}/;csv`),
  });
  writeFileSync(join(folder, 'meter.cfg'), meterConfig(ports.traffic, new URL(address.url).host));
  await meter.start();
  const receiver = programNode({
    ...node('receiver', process.execPath, [RECEIVER, receiver_folder, String(ports.receiver)], { ...BARE_ENVIRONMENT }),
    ready: async () => true,
  });
  const postgres: Node = {
    name: 'PostgreSQL',
    pid: database.pid,
    start: async () => void (await until('PostgreSQL', 20_000, async () => hasStarted(database.start))),
    kill: async () => database.kill(),
    stop: async () => database.stop(),
  };
  const store: Node = { name: 'store', ...objects };
  const started = [receiver, ...services, proxy, ...streams, ...workers];
  return {
    ...{ postgres, store, databaseProxy, database, services, proxy, streams, workers, receiver },
    storeFaults: Object.values(storeProxies),
    nodes: [postgres, store, ...started],
    url: `http://127.0.0.1:${ports.proxy}`,
    serviceUrl: (number) => `http://127.0.0.1:${ports.services[number]}`,
    database_url: database.url,
    store_address: address,
    settingsOf: (name) => settings(name, 'pipelines'),
    receiver_url: `https://127.0.0.1:${ports.receiver}`,
    received: receiver_folder,
    storeTraffic: () => readTraffic(ports.traffic.page),
    stop: async () => {
      const ended = await Promise.allSettled(started.map((each) => each.stop()));
      for (const each of [...Object.values(storeProxies), databaseProxy])
        await ('stop' in each ? each.stop() : each.close());
      await meter.stop();
      await store.stop();
      await postgres.stop();
      for (const end of ended) if (end.status === 'rejected') throw end.reason;
    },
  };
}

async function portsOf(count: number): Promise<number[]> {
  const ports: number[] = [];
  for (let k = 0; k < count; k++) ports.push(await freePort());
  return ports;
}

/** The address of the store through a port that counts its traffic. */
function throughPort({ url, ...keys }: StoreAddress, port: number): StoreAddress {
  const counted = new URL(url);
  counted.port = String(port);
  return { url: counted.href, ...keys };
}

/** True once PostgreSQL starts; after a kill it refuses to, until the last process of the one before is gone. */
function hasStarted(start: () => void): boolean {
  try {
    start();
    return true;
  } catch {
    return false; // tried again, until `until` gives up
  }
}

/** Writes a key and a certificate for 127.0.0.1; returns the path of the latter. */
async function writeCertificate(folder: string): Promise<string> {
  mkdirSync(folder, { recursive: true });
  const { key, cert } = await selfSigned();
  writeFileSync(join(folder, 'key.pem'), key);
  writeFileSync(join(folder, 'cert.pem'), cert);
  return join(folder, 'cert.pem');
}

/** The example for operators, without TLS, for services on this machine. */
function proxyConfig(port: number, services: readonly number[]): string {
  return readFileSync(EXAMPLE, 'utf8')
    .replace(/^ +bind :443 .*$/m, `    bind 127.0.0.1:${port}`)
    .split('\n')
    .filter((line) => !/^ +server /.test(line))
    .concat(
      services.map((service, k) => `    server node${k + 1} 127.0.0.1:${service}`),
      '',
    )
    .join('\n');
}

/** A proxy before the store that counts: one port for the pipelines, one for the services, one for the figures. */
function meterConfig(ports: { pipelines: number; services: number; page: number }, store: string): string {
  const counted = (['pipelines', 'services'] as const).flatMap((name) => [
    `frontend ${name}`,
    `    bind 127.0.0.1:${ports[name]}`,
    '    default_backend store',
  ]);
  return [
    'defaults',
    '    mode http',
    '    timeout connect 2s',
    '    timeout client 60s',
    '    timeout server 60s',
    ...counted,
    'backend store',
    `    server store ${store}`,
    'frontend page',
    `    bind 127.0.0.1:${ports.page}`,
    '    stats enable',
    '    stats uri /',
    '',
  ].join('\n');
}

/** The figures of the meter, from its CSV page. */
async function readTraffic(port: number): Promise<Traffic> {
  const text = await (await fetch(`http://127.0.0.1:${port}/;csv`)).text();
  const [head = '', ...lines] = text.split('\n');
  const names = head.replace(/^# /, '').split(',');
  const of = (frontend: string) => {
    const row = lines.map((line) => line.split(',')).find(([proxy, kind]) => proxy === frontend && kind === 'FRONTEND');
    const figure = (name: string) => Number(row?.[names.indexOf(name)] ?? 0);
    return { requests: figure('req_tot'), bytes_in: figure('bin'), bytes_out: figure('bout') };
  };
  return { pipelines: of('pipelines'), services: of('services') };
}

/** The stream that leads: the one that holds the lease of the live feed. */
export async function leaderOf({ database_url, streams }: Cluster): Promise<ProgramNode> {
  const database = new pg.Client(database_url);
  await database.connect();
  try {
    const { rows } = await database.query<{ holder: string }>(
      "select holder from pipeline_leases where name like 'live %'",
    );
    const holder = rows[0]?.holder ?? '';
    const leader = streams.find((stream) => holder.includes(` process ${stream.pid()} `));
    if (leader === undefined) throw new Error(`the live feed is led by '${holder}', expected one of the streams`);
    return leader;
  } finally {
    await database.end();
  }
}

/** Id of the newest scan, as a service answers it through the proxy; '' when none answers. */
export async function newestScan({ url }: Cluster, key: string): Promise<string> {
  try {
    const headers = { Authorization: `Bearer ${key}` };
    const response = await fetch(`${url}/v1/health`, { headers, signal: AbortSignal.timeout(2_000) });
    const { components } = Health.parse(await response.json());
    const at = components.ingest.last_scan_at;
    return at === null ? '' : scanId(Date.parse(at));
  } catch {
    return ''; // killed, or being started: asked again
  }
}
