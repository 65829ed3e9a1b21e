import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import type { ExecutionContext } from 'ava';
import { AwsClient } from 'aws4fetch';
import type { StoreAddress } from '../../../schemas/object-store/client.ts';
import { processTree } from '../kill/process-tree.ts';

const SCRIPT = fileURLToPath(new URL('swift.sh', import.meta.url));
/** Ports that the script takes, from the given one on. */
const PORTS = 5;
const KEYS = { access_key_id: 'test:tester', secret_access_key: 'testing', region: 'us-east-1' } as const;

/** Why no S3-compatible server can be started here; null where one can. */
export const noObjectStore: string | null = ['/usr/bin/swift-proxy-server', '/usr/bin/memcached'].every(existsSync)
  ? process.getuid?.() === 0
    ? null
    : 'Swift is started by root only'
  : 'Swift and memcached of Debian are not installed';

/** An S3-compatible server of the test's own. */
export interface ObjectStoreServer {
  /** Makes a bucket; returns its address with keys. */
  readonly bucket: (name: string) => Promise<StoreAddress>;
  /** Process that all its others descend from. */
  readonly pid: () => number;
  /** Kills all its processes; its objects stay. */
  readonly kill: () => Promise<void>;
  /** Starts it again, on the same ports and objects. */
  readonly start: () => Promise<void>;
  readonly stop: () => Promise<void>;
}

/** Starts Swift on free ports; it takes about 9 s. */
export async function runObjectStore(): Promise<ObjectStoreServer> {
  const folder = mkdtempSync(join(tmpdir(), 'hail-store-'));
  const port = await freePorts();
  let child = await startSwift(folder, port);
  return {
    pid: () => child.pid ?? 0,
    kill: async () => {
      const ended = once(child, 'exit');
      // Its servers are no longer in its process group: each has made a session of its own.
      for (const pid of processTree(child.pid ?? 0).toReversed()) process.kill(pid, 'SIGKILL');
      await ended;
    },
    start: async () => {
      child = await startSwift(folder, port);
    },
    bucket: async (name) => {
      const url = `http://127.0.0.1:${port}/${name}`;
      const { access_key_id, secret_access_key, region } = KEYS;
      const client = new AwsClient({
        accessKeyId: access_key_id,
        secretAccessKey: secret_access_key,
        service: 's3',
        region,
      });
      const answer = await client.fetch(url, { method: 'PUT' });
      if (!answer.ok) throw new Error(`PUT ${url}: ${answer.status} ${await answer.text()}`);
      return { url, ...KEYS };
    },
    stop: async () => {
      child.kill('SIGTERM');
      if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** Runs the script until the server is ready. */
async function startSwift(folder: string, port: number) {
  const child = spawn('bash', [SCRIPT, folder, String(port)], { stdio: ['ignore', 'pipe', 'inherit'] });
  const { done } = await createInterface({ input: child.stdout })[Symbol.asyncIterator]().next();
  if (done) throw new Error(`${SCRIPT} ended, expected a server`);
  return child;
}

/** Settings of a command that uses a store. */
export function storeSettings({ url, access_key_id, secret_access_key, region }: StoreAddress) {
  return {
    HAIL_STORE_URL: url,
    HAIL_STORE_ACCESS_KEY_ID: access_key_id,
    HAIL_STORE_SECRET_ACCESS_KEY: secret_access_key,
    HAIL_STORE_REGION: region,
  };
}

/** The same for a test, which stops it at its end. */
export async function startObjectStore(t: ExecutionContext): Promise<ObjectStoreServer> {
  const server = await runObjectStore();
  t.teardown(server.stop);
  return server;
}

/** The first of some free ports that follow each other. */
async function freePorts(): Promise<number> {
  for (;;) {
    const first = 20_000 + Math.floor(Math.random() * 12_000);
    const taken = await Promise.all(Array.from({ length: PORTS }, (_, k) => isFree(first + k)));
    if (taken.every(Boolean)) return first;
  }
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)));
  });
}
