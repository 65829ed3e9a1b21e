import { type ChildProcess, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import test, { type ExecutionContext } from 'ava';
import { openStoreRoot } from '../../../api/cache/store-root.ts';
import { openObjectStore, type StoreAddress } from '../../../schemas/object-store/client.ts';
import { scratch } from '../../support/data/world.ts';
import { BARE_ENVIRONMENT } from '../../support/kill/bare-environment.ts';

const CONTENT = Buffer.alloc(1_000_000, 'rows of a table, ');
const FILE = {
  path: 'tables/a.parquet',
  bytes: CONTENT.length,
  sha256: createHash('sha256').update(CONTENT).digest('hex'),
};
const PROCESS = fileURLToPath(new URL('../../support/object-store/cached-file-process.ts', import.meta.url));

/** A store of one file. `halfway`: called when half of it is sent; the rest follows when it resolves. */
async function storeOf(t: ExecutionContext, halfway: () => Promise<void> = async () => {}) {
  const counts = { asked: 0 };
  const server = createServer(async (_, response) => {
    counts.asked += 1;
    response.writeHead(200, { 'Content-Length': CONTENT.length });
    response.write(CONTENT.subarray(0, CONTENT.length / 2));
    await halfway();
    response.end(CONTENT.subarray(CONTENT.length / 2));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/hail`;
  const address: StoreAddress = { url, region: 'us-east-1', access_key_id: 'name', secret_access_key: 'secret' };
  return { address, counts };
}

/** A process that copies the file; `blocks` of 512 bytes or 1 kB, by the shell, are the most that it can write to one. */
function copyingProcess(address: StoreAddress, folder: string, blocks = 'unlimited'): ChildProcess {
  const asked = JSON.stringify({ address, folder, file: FILE });
  return spawn('sh', ['-c', `ulimit -f ${blocks}; exec "$@"`, 'sh', process.execPath, PROCESS, asked], {
    env: { ...BARE_ENVIRONMENT },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
}

const filesIn = (folder: string) =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((item) => item.isFile())
    .map(({ name }) => name);

test('a process that is killed in the middle of a copy leaves nothing that the next one takes for the file', async (t) => {
  const folder = await scratch(t, 'cache');
  const child = Promise.withResolvers<ChildProcess>();
  let killed = false;
  const { address } = await storeOf(t, async () => {
    if (killed) return;
    const copying = await child.promise;
    while (filesIn(folder).length === 0) await new Promise(setImmediate);
    copying.kill('SIGKILL');
    killed = true;
  });
  const copying = copyingProcess(address, folder);
  child.resolve(copying);
  await once(copying, 'exit');
  t.is(copying.signalCode, 'SIGKILL');
  t.is(filesIn(folder).length, 1);
  const root = await openStoreRoot({ store: openObjectStore(address), folder, bytes_max: 1e9 });
  t.deepEqual(filesIn(folder), []);
  const path = root.fileOf(FILE);
  await root.hold?.([path], 'in turn');
  t.is(Buffer.compare(readFileSync(path), CONTENT), 0);
});

test('a disk that takes no more is the fault of this machine: the store is asked once, and nothing stays', async (t) => {
  const folder = await scratch(t, 'cache');
  const { address, counts } = await storeOf(t);
  const copying = copyingProcess(address, folder, '100');
  t.is(copying.stdout === null ? '' : await text(copying.stdout), 'EFBIG');
  t.deepEqual([counts.asked, filesIn(folder)], [1, []]);
});
